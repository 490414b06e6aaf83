package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// block is how many tokens a block of the stand-in's cache has.
const block = 16

// requestsOf are those in the log of a run.
func requestsOf(t *testing.T, folder string) []*runlog.Request {
	t.Helper()
	var all []*runlog.Request
	_, err := runlog.Read(filepath.Join(folder, runlog.FileName), func(r runlog.Record) error {
		if r.Request != nil {
			all = append(all, r.Request)
		}
		return nil
	})
	noError(t, err)
	return all
}

// cacheHits are the tokens of prompts that a cache could have served, and those that the
// server reported, added up from a log.
func cacheHits(t *testing.T, folder string) (possible, told int) {
	t.Helper()
	for _, r := range requestsOf(t, folder) {
		u := r.Trace.Usage
		if u == nil || u.CachedTokens == nil {
			t.Fatalf("request %d has no usage of the cache: %+v", r.Seq, r.Trace)
		}
		possible += min(r.SharedTokens, u.PromptTokens-1) / block * block
		told += *u.CachedTokens
	}
	return possible, told
}

// sendTo runs a command line against a new server with a cache of so many blocks, and
// returns the run's folder and what was printed.
func sendTo(t *testing.T, blocks int, line string) (folder, printed string) {
	t.Helper()
	url := serve(t, httptest.NewServer, fakevllm.Config{Speed: 400, PrefillTokensPerSecond: 1e6, CacheBlocks: blocks, BlockSize: block})
	dir := t.TempDir()
	var stdout, stderr strings.Builder
	args := append([]string{"accelbench", "run", "--base-url", url, "--quiet", "--output", dir}, strings.Fields(line)...)
	if code := run(t.Context(), args, &stdout, &stderr); code != exitMeasured {
		t.Fatalf("%s: exit %d\n%s", line, code, stderr.String())
	}
	folders, err := filepath.Glob(filepath.Join(dir, "*", runlog.FileName))
	if err != nil || len(folders) != 1 {
		t.Fatalf("logs %v, error %v", folders, err)
	}
	return filepath.Dir(folders[0]), stdout.String()
}

// TestCacheHits: what was possible is what a server with room for all blocks reports, to
// the token. One with room for half of them reports less of the same.
func TestCacheHits(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	var rows strings.Builder
	for i := range 120 { // six chats in turns, each with its last prompt and 40 tokens more
		chat, turn := i%6, i/6
		blocks := []string{"1", "2"} // that all share
		for n := 2; n < (turn*40+100)/block; n++ {
			blocks = append(blocks, fmt.Sprint(1000*chat+n))
		}
		fmt.Fprintf(&rows, `{"timestamp":%d,"input_length":%d,"output_length":2,"hash_ids":[%s]}`+"\n", i, turn*40+100, strings.Join(blocks, ","))
	}
	for range 2 { // of whole blocks, which are all there the second time: the last token is computed
		fmt.Fprintln(&rows, `{"timestamp":120,"input_length":96,"output_length":2,"hash_ids":[1,2,9001,9002,9003,9004]}`)
	}
	noError(t, os.WriteFile(trace, []byte(rows.String()), 0o600))
	chats := filepath.Join(t.TempDir(), "chats.jsonl")
	var lines strings.Builder
	for i := range 24 { // of three turns behind a system prompt that all share
		fmt.Fprintf(&lines, `{"messages":[{"role":"system","content":%q}`, strings.Repeat("brief ", 400))
		for range 3 {
			fmt.Fprintf(&lines, `,{"role":"user","content":%q},{"role":"assistant","content":""}`, fmt.Sprintf("chat %d %s", i, strings.Repeat("word ", 98)))
		}
		fmt.Fprintln(&lines, "]}")
	}
	noError(t, os.WriteFile(chats, []byte(lines.String()), 0o600))
	for name, tt := range map[string]struct {
		line     string
		possible int
		half     int // of the blocks that are in use at once, or less
	}{
		// The system prompt is 25 blocks; prompts and answers of 528, 657 and 786 tokens are 33, 41 and 49.
		"conversations": {
			"--backend openai-chat --dataset-name multi_turn --multi-turn-prefix-len 400 --multi-turn-input-len 100 --random-output-len 29 --num-prompts 24 --max-concurrency 6",
			16 * (25*23 + 24*(33+41+49)), 50,
		},
		// In the second pass the system prompt begins with a word, and is another start.
		"conversations of a file": {"--backend openai-chat --dataset-name multi_turn --output-len 29 --ignore-eos --num-prompts 36 --max-concurrency 6 --dataset-path " + chats, -1, 50},
		"prefix_repetition":       {"--dataset-name prefix_repetition --prefix-repetition-num-prefixes 5 --prefix-repetition-prefix-len 200 --prefix-repetition-suffix-len 50 --num-prompts 100 --max-concurrency 4", 16 * 12 * 95, 30},
		"random":                  {"--dataset-name random --random-prefix-len 100 --random-input-len 60 --num-prompts 50 --max-concurrency 4", 16 * 6 * 49, 3},
		"random, primed":          {"--random-cache-hit 60% --random-input-len 1000 --num-prompts 30 --max-concurrency 4", 16 * 38 * 30, 20},
		"a trace":                 {"--prompt-token-ids --dataset-name timed_trace --timed-trace-speed 100 --max-concurrency 1 --dataset-path " + trace, -1, 140},
	} {
		t.Run(name, func(t *testing.T) {
			line := "--random-output-len 4 --output-len 4 " + tt.line
			if strings.Contains(tt.line, "openai-chat") {
				line = tt.line
			}
			folder, printed := sendTo(t, 1<<20, line)
			possible, told := cacheHits(t, folder)
			if said := regexp.MustCompile(`cache: possible ([0-9]+ %), usage ([0-9]+ %), server ([0-9]+ %)`).FindStringSubmatch(printed); said == nil || said[1] != said[2] {
				t.Errorf("%q is printed in\n%s", said, printed)
			}
			if possible != told || tt.possible >= 0 && possible != tt.possible || possible == 0 {
				t.Errorf("possible were %d tokens, want %d, and told %d", possible, tt.possible, told)
			}
			folder, printed = sendTo(t, tt.half, line)
			if again, less := cacheHits(t, folder); again != possible || less >= told {
				t.Errorf("with half the cache, possible were %d tokens of %d, and told %d of %d", again, possible, less, told)
			}
			if !strings.Contains(printed, "too small for the prefixes") {
				t.Errorf("with half the cache, nothing is said of that:\n%s", printed)
			}
		})
	}
}
