package runlog

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// example is a request like the users': 283 chunks, one a token.
func example() Request {
	const chunks = 283
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2026, 3, 4, 5, 6, 7, 890123456, time.UTC)
	t := openai.Trace{
		RequestID: "4f1c0a2b9d8e7f60514233241506f7e8", Model: "qwen2.5", Planned: at, Started: at.Add(52 * time.Microsecond),
		Clock: openai.ClockKernel, Events: chunks + 2, Usage: &openai.Usage{PromptTokens: 31, CompletionTokens: chunks},
		TokenSource: openai.TokensUsage, Finish: "stop", Done: true, Reused: true, Status: 200,
		Phases: openai.Phases{Send: 40 * time.Microsecond, Wait: 180 * time.Millisecond},
	}
	now := 181 * time.Millisecond
	t.FirstEvent = now
	for range chunks {
		t.Chunks = append(t.Chunks, openai.Chunk{At: now})
		now += 70*time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond)))
	}
	t.End, t.Lag = now, openai.Lag{Reads: chunks, Sum: chunks * 35 * time.Microsecond, Max: 65 * time.Microsecond, Last: 41 * time.Microsecond}
	return Request{Step: 2, Seq: 417, Trace: t}
}

// TestLogOfVersion010: a log that accelbench 0.1.0 wrote of a load with failures,
// reasoning and telemetry is written again as it stands, so that 0.1.0 can read the
// logs of today; but for what nobody asks for now.
func TestLogOfVersion010(t *testing.T) {
	log := filepath.Join("testdata", "v0.1.0.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		rec, err := decode(bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		again, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		gone := regexp.MustCompile(`"machine":"a",|"first_answer_ns":\d+,|,"lags_ns":\[[\d,]*\]|"lag":{[^}]*},`)
		if diff := cmp.Diff(gone.ReplaceAllString(string(line), ""), gone.ReplaceAllString(string(again), "")+"\n"); diff != "" {
			t.Errorf("written again (-0.1.0 +now):\n%s", diff)
		}
	}
}
