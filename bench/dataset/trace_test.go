package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// replayed is what a trace asks of the server.
type replayed struct {
	At         time.Duration
	In, Out    int
	ID, After  string
	SharedToks []int
}

// replay returns all requests of a trace, the count, and the error that ended it.
func replay(t *testing.T, cfg Config) (all []replayed, count runlog.DatasetCount, err error) {
	t.Helper()
	cfg.Kind = Replay
	s := open(t, cfg)
	defer s.Close()
	for {
		p, err := s.Next(t.Context())
		if err != nil {
			return all, s.Count(), err
		}
		r := replayed{At: p.At, In: words(p.Text), Out: p.MaxTokens, ID: p.ID, After: p.After}
		for _, shared := range p.Shared {
			r.SharedToks = append(r.SharedToks, shared.Tokens)
		}
		all = append(all, r)
	}
}

const burstGPT = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
	"19440110.0,s1,2.5,ChatGPT,40,7,47,Conversation log\n19440111.5,s2,1,GPT-4,9,0,9,API log\n19440113.9,s1,1,GPT-4,9,3,12,Conversation log\n"

// Published traces are read by the names of their columns and keys.
func TestPublishedTraces(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		text    string
		layout  Trace
		want    []replayed
		skipped int
	}{
		"Mooncake": {
			`{"timestamp": 3000, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 48]}` + "\n" + `{"timestamp": 6000, "input_length": 512, "output_length": 7, "hash_ids": [46]}`,
			Trace{Second: 0.001, Block: 512},
			[]replayed{{0, 1100, 52, "", "", []int{512, 1024, 1100}}, {3 * second, 512, 7, "", "", []int{512}}},
			0,
		},
		"Bailian": {
			`{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.25, "input_length": 20, "output_length": 2, "type": "text", "turn": 1, "hash_ids": [1, 2]}
{"chat_id": 160, "parent_chat_id": 159, "timestamp": 62, "input_length": 30, "output_length": 3, "type": "text", "turn": 2, "hash_ids": [1, 3]}
{"chat_id": 161, "parent_chat_id": null, "session_id": null, "timestamp": 62, "input_length": 8, "output_length": 1}`,
			Trace{Second: 1, Block: 16},
			[]replayed{{0, 20, 2, "159", "", []int{16, 20}}, {750 * time.Millisecond, 30, 3, "160", "159", []int{16, 30}}, {750 * time.Millisecond, 8, 1, "161", "", nil}},
			0,
		},
		"Azure 2023": {
			"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,374,44\r\n2023-11-16 18:17:04.0319610,396,109\r\n",
			Trace{Second: 1},
			[]replayed{{0, 374, 44, "", "", nil}, {52001 * time.Microsecond, 396, 109, "", "", nil}},
			0,
		},
		"Azure 2024": {
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,9,1\n2024-05-10 00:00:01+00:00,8,2\n",
			Trace{Second: 1},
			[]replayed{{0, 9, 1, "", "", nil}, {990070 * time.Microsecond, 8, 2, "", "", nil}},
			0,
		},
		"BurstGPT of six columns": {
			"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,47,6,53,Conversation log\n45,ChatGPT,9,0,9,API log\n46,GPT-4,10,1,11,API log\n",
			Trace{Second: 1},
			[]replayed{{0, 47, 6, "", "", nil}, {41 * second, 10, 1, "", "", nil}},
			1,
		},
		"BurstGPT of eight columns": {
			burstGPT, Trace{Second: 1}, []replayed{{0, 40, 7, "s1", "s1", nil}, {3900 * time.Millisecond, 9, 3, "s1", "s1", nil}}, 1,
		},
		"twice as fast": {burstGPT, Trace{Second: 1, Speed: 2}, []replayed{{0, 40, 7, "s1", "s1", nil}, {1950 * time.Millisecond, 9, 3, "s1", "s1", nil}}, 1},
		"from a second on, twice as fast": {
			burstGPT, Trace{Second: 1, Speed: 2, From: second}, []replayed{{1450 * time.Millisecond, 9, 3, "s1", "s1", nil}}, 1,
		},
		"from behind what failed": {burstGPT, Trace{Second: 1, From: 2 * second}, []replayed{{1900 * time.Millisecond, 9, 3, "s1", "s1", nil}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, count, err := replay(t, Config{Path: write(t, "trace", tt.text), Trace: tt.layout})
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("error %v, requests (-want +got):\n%s", err, diff)
			}
			equal(t, "count", runlog.DatasetCount{Prompts: len(tt.want), Skipped: tt.skipped}, count)
		})
	}
}

// A request whose answer has no recorded length would run to the model's: it is left out,
// unless the user gives one.
func TestTracesWithoutOutputLengths(t *testing.T) {
	for name, text := range map[string]string{
		"CSV":  "TIMESTAMP,ContextTokens,GeneratedTokens\n1,20,3\n2,30,\n3,40,5\n4,50,\n",
		"JSON": `{"timestamp":1,"input_length":20,"output_length":3}{"timestamp":2,"input_length":30}{"timestamp":3,"input_length":40,"output_length":5}{"timestamp":4,"input_length":50,"output_length":null}`,
	} {
		cfg := Config{Path: write(t, "trace", text), Trace: Trace{Second: 1}}
		got, count, _ := replay(t, cfg)
		want := []replayed{{0, 20, 3, "", "", nil}, {2 * time.Second, 40, 5, "", "", nil}}
		if diff := cmp.Diff(want, got); diff != "" || count.Skipped != 2 {
			t.Errorf("%s: %d skipped, want 2 (-want +got):\n%s", name, count.Skipped, diff)
		}
		cfg.OutputLen = 7
		if got, count, _ := replay(t, cfg); len(got) != 4 || count.Skipped != 0 || got[1].Out != 7 {
			t.Errorf("%s: with a length of the user's %d skipped, requests %v", name, count.Skipped, got)
		}
	}
	cfg := Config{Path: write(t, "trace", `{"timestamp":1,"input_length":20}`), Trace: Trace{Second: 1}}
	if _, _, err := replay(t, cfg); !strings.Contains(err.Error(), "give --output-len where answers have no recorded length") {
		t.Errorf("no length at all: %v", err)
	}
}

// A trace that goes on behind the last request asked for was cut, which the last one says.
func TestCutTraces(t *testing.T) {
	const columns = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	for name, tt := range map[string]struct {
		text string
		want []bool
	}{
		"goes on":                   {"1,20,3\n2,30,4\n3,40,5\n", []bool{false, true}},
		"ends with it":              {"1,20,3\n2,30,4\n", []bool{false, false}},
		"only a failed one follows": {"1,20,3\n2,30,4\n3,40,0\n", []bool{false, false}},
		"is shorter":                {"1,20,3\n", []bool{false}},
	} {
		s := open(t, Config{Kind: Replay, Path: write(t, "trace", columns+tt.text), Trace: Trace{Second: 1}, Requests: 2})
		var got []bool
		for range tt.want {
			if take(t, s, 1); true {
				got = append(got, s.Count().Cut)
			}
		}
		equal(t, fmt.Sprintf("a trace that %s", name), tt.want, got)
	}
}

// Ids of traces may name a block by its contents: it counts as shared only behind the
// same blocks, as in a server's prefix cache.
func TestBlocksByContents(t *testing.T) {
	rows := ""
	for i, ids := range []string{"1,2,3", "2,1,3", "1,2,4", "2,3", "1,3,3"} {
		rows += fmt.Sprintf(`{"timestamp":%d,"input_length":48,"output_length":1,"hash_ids":[%s]}`, i, ids)
	}
	seen := map[uint64]bool{}
	var shared []int // blocks at the prompt's start
	for _, p := range take(t, open(t, Config{Kind: Replay, Path: write(t, "trace", rows), Trace: Trace{Second: 1, Block: 16}}), 5) {
		n := 0
		for _, start := range p.Shared {
			if seen[start.ID] {
				n = start.Tokens / 16
			}
			seen[start.ID] = true
		}
		shared = append(shared, n)
	}
	equal(t, "blocks that were sent before", []int{0, 0, 2, 1, 1}, shared)
}

// TestUnreadableTraces: each is one line, and what came before it was given out.
func TestUnreadableTraces(t *testing.T) {
	const columns = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	for name, tt := range map[string]struct {
		text, want string
		before     int
	}{
		"times that run back":          {columns + "2024-05-10 00:00:01+00:00,9,1\n2024-05-10 00:00:00+00:00,9,1\n", "record 2: its timestamp 1.7152992e+09 is before that of the record before", 1},
		"no columns":                   {"2023-11-16 18:17:03.9799600,374,44\n", `no column of its first line, "2023-11-16 18:17:03.9799600,374,44", has a name of ["timestamp" "TIMESTAMP" "Timestamp"]`, 0},
		"a column missing":             {"TIMESTAMP,ContextTokens\n1,2\n", `no column of its first line, "TIMESTAMP,ContextTokens", has a name of ["output_length" "GeneratedTokens" "Response tokens"]`, 0},
		"nanoseconds":                  {columns + "1700000000000000000,2,3\n1700000001000000000,2,3\n", "record 2: its timestamp 1.700000001e+18 is not within a year of the first", 1},
		"no number of seconds":         {columns + "1,2,3\nNaN,2,3\n", "record 2: its timestamp NaN is not within a year of the first", 1},
		"a first one that is infinite": {columns + "inf,2,3\n", "record 1: its timestamp +Inf is not within a year of the first", 0},
		"no records":                   {columns, "of its 0 records none is of a request that succeeded", 0},
		"nothing":                      {"", "of its 0 records none is of a request that succeeded", 0},
		"failures only":                {columns + "1,2,0\n", "of its 1 records none is of a request that succeeded", 0},
		"a cell too few":               {columns + "1,2,3\n2,3\n", "record 2: record on line 3: wrong number of fields", 1},
		"no date":                      {columns + "today,2,3\n", `record 1: "today" is no timestamp`, 0},
		"no number":                    {columns + "1,many,3\n", `record 1: an input length of "many" tokens`, 0},
		"an id of a word":              {`{"timestamp":1,"input_length":9,"output_length":1,"hash_ids":["x"]}`, "record 1: json: cannot unmarshal string", 0},
		"too long":                     {columns + "1,2,1e9\n", `record 1: an output length of "1e9" tokens`, 0},
		"an array without end":         {`[{"timestamp":1,"input_length":9,"output_length":1},{"timestamp":2,"input_length":9,"output_length":1}`, "after record 2: unexpected EOF", 2},
		"an array cut behind a comma":  {`[{"timestamp":1,"input_length":9,"output_length":1},`, "record 2 is no JSON object", 1},
		"an object without end":        {`{"timestamp":1,"input_length":9,"output_length":1}{"timestamp"`, "record 2 is no JSON object", 1},
	} {
		path := write(t, "trace", tt.text)
		got, _, err := replay(t, Config{Path: path, Trace: Trace{Second: 1}})
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || errors.Is(err, io.EOF) || len(got) != tt.before {
			t.Errorf("%s: %v behind %d requests, want %s behind %d", name, err, len(got), tt.want, tt.before)
		}
	}
	window := Config{Path: write(t, "trace", burstGPT), Trace: Trace{Second: 1, From: time.Hour}}
	if _, _, err := replay(t, window); !strings.Contains(err.Error(), "of its 3 records none is of a request that succeeded, from 1h0m0s on") {
		t.Errorf("a window behind the end: %v", err)
	}
}

// BenchmarkLongTrace reads a trace of a million records, and says how much memory that holds.
func BenchmarkLongTrace(b *testing.B) {
	const records = 1_000_000
	path := filepath.Join(b.TempDir(), "trace.csv")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	_, _ = out.WriteString("Timestamp,Session ID,Request tokens,Response tokens\n")
	for i := range records {
		fmt.Fprintf(out, "%d,s%d,8,1\n", i, i/3)
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	for b.Loop() {
		s, err := Open(Config{Kind: Replay, Path: path, Trace: Trace{Second: 1, Block: 16}})
		before, most, n := heap(), 0.0, 0
		for err == nil {
			if _, err = s.Next(b.Context()); n%(records/10) == 0 {
				most = max(most, heap()-before)
			}
			n++
		}
		if s.Close(); !errors.Is(err, io.EOF) || n != records+1 || most > 8 {
			b.Fatalf("%d requests of %d, %.1f MB held, error %v", n-1, records, most, err)
		}
		b.ReportMetric(most, "MB")
	}
}

// FuzzReaders: whatever is in a file, it is prompts or one line of an error.
func FuzzReaders(f *testing.F) {
	f.Add(burstGPT)
	f.Add(`{"timestamp":1,"input_length":9,"output_length":1,"hash_ids":[1,-2]}`)
	f.Add(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}`)
	f.Add(`[{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}]`)
	f.Add(session("null", "a", `,"delay":1e300`) + session("null", "b", `,"max_tokens":-1`))
	f.Fuzz(func(t *testing.T, text string) {
		path := write(t, "data", text)
		_, _ = Detect(path)
		for _, kind := range []Kind{Replay, MultiTurn} {
			s, err := readAndOpen(Config{Kind: kind, Path: path, Trace: Trace{Second: 1, Block: 16}})
			if err != nil {
				continue
			}
			defer s.Close()
			for range 3 {
				p, err := s.Next(t.Context())
				if err != nil {
					break
				}
				if p.At < 0 || kind == MultiTurn && len(p.Turns) == 0 {
					t.Errorf("prompt %+v", p)
				}
			}
		}
	})
}
