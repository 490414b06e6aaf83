package runlog

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files")

// everyKind is a log with a record of each kind.
func everyKind() (Run, []Record) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	run := Run{
		Schema: Schema, ID: "0123456789abcdef", Started: at, Host: "node1", Version: "0.1.0",
		Command: []string{"accelbench", "run"}, URL: "http://127.0.0.1:8000", API: openai.Chat, Model: "qwen2.5",
		Dataset: "openqa", DatasetPath: "open_qa.jsonl", Seed: 1<<64 - 1, ReusePrompts: true,
		Backend: "vllm", Metadata: map[string]string{"k": "v"}, Side: "A",
		Server: &Server{Command: "vllm serve"}, GOMAXPROCS: 2,
	}
	ms := time.Millisecond
	good := openai.Trace{
		RequestID: "r1", Model: "qwen2.5", Planned: at, Started: at.Add(ms), Clock: openai.ClockKernel, Events: 6,
		FirstEvent: 9 * ms,
		Chunks: []openai.Chunk{
			{At: 10 * ms, Tokens: 1, Reasoning: true},
			{At: 20 * ms, Tokens: 2, Reasoning: true},
			{At: 30 * ms, Tokens: 1},
		},
		Usage: &openai.Usage{PromptTokens: 31, CompletionTokens: 4, CachedTokens: new(16)}, TokenSource: openai.TokensUsage,
		Finish: "stop", Done: true,
		Phases: openai.Phases{Resolve: 1, Connect: 2, TLS: 3, Send: 4, Wait: 5},
		Reused: true, Lag: openai.Lag{Reads: 2, Sum: 12000, Max: 7000, Last: 5000}, Status: 200, End: 31 * ms,
	}
	bad := openai.Trace{
		RequestID: "r2", Model: "qwen2.5", Planned: at, Started: at, Clock: openai.ClockUser, TokenSource: openai.TokensChunks, End: 5 * ms,
		Status: 500, Failure: &openai.Failure{Reason: openai.ReasonHTTP5xx, Status: 500, Detail: "out of memory"},
	}
	return run, []Record{
		{Step: &Step{
			Index: 1, Started: at, Arrival: ArrivalGamma, Concurrency: 8, MaxConcurrency: 9, Rate: 4.5, Burstiness: 0.5, Requests: 2,
			Duration: time.Minute, RampUp: time.Second, Timeout: 2 * time.Minute, MaxFailureRatio: 0.1, Repeat: 1,
		}},
		{Request: &Request{Step: 1, Queued: ms, ExpectedTokens: 31, AimedTokens: 30, Trace: good}},
		{Request: &Request{Step: 1, Seq: 1, Trace: bad}},
		{Request: &Request{Step: 1, Seq: 2, Never: true, Trace: openai.Trace{
			RequestID: "r3", Planned: at, Failure: &openai.Failure{Reason: openai.ReasonCanceled},
		}}},
		{Sample: &Sample{Step: 1, At: at, Source: SourceExporter, Series: []Series{
			{Name: "accelerator_power_watts", Labels: map[string]string{"device": "0"}, Value: 310.5},
		}}},
		{StepEnd: &StepEnd{
			Step: 1, Ended: at, Stop: StopInterrupted, Account: Account{Attempted: 3, Succeeded: 1, Canceled: 1, Failed: map[openai.Reason]int{openai.ReasonHTTP5xx: 1}},
			Dataset: DatasetCount{Prompts: 3, Passes: 1, TooLong: 1, Skipped: 1, Estimated: 2},
		}},
		{RunEnd: &RunEnd{Ended: at, Stop: StopInterrupted}},
	}
}

// TestSchema1 holds the format: logs of this version must be readable for as
// long as there is a schema 1, and a change of a name would show here.
func TestSchema1(t *testing.T) {
	golden := filepath.Join("testdata", "schema1.jsonl")
	run, records := everyKind()
	dir := t.TempDir()
	w, err := Create(dir, run)
	noError(t, err)
	for _, rec := range records {
		noError(t, w.Write(rec))
	}
	noError(t, w.Close())
	written, err := os.ReadFile(filepath.Join(dir, FileName))
	noError(t, err)
	expositiontest.Golden(t, golden, string(written), *update)
	got, damaged := readAll(t, golden)
	if diff := cmp.Diff(append([]Record{{Run: &run}}, records...), got); diff != "" || damaged != 0 {
		t.Errorf("%d damaged lines; (-written +read):\n%s", damaged, diff)
	}
}

func TestWhatIsReadOfALog(t *testing.T) {
	const first = `{"run":{"schema":1,"id":"a"}}` + "\n"
	long := strings.Repeat("x", 300_000)
	request := func(seq int) string { return fmt.Sprintf(`{"request":{"step":0,"seq":%d,"trace":{}}}`, seq) }
	for _, tc := range []struct {
		name, text, want string
	}{
		{"a run alone", first, "0 records, 0 damaged"},
		{"requests", first + request(0) + "\n" + request(1) + "\n", "2 records, 0 damaged"},
		{"half a last line", first + request(0) + "\n" + request(1)[:30], "1 records, 1 damaged"},
		{"a torn line among others", first + request(0)[:20] + "\n" + request(1) + "\n\x00\x00\n" + request(2), "2 records, 2 damaged"},
		{"blanks", first + `  { "request" : {"seq":0, "trace" : {"chunks_ns":[ 1, 2 ]}} } `, "1 records, 0 damaged"},
		{"unknown keys", first + `{"request":{"seq":0,"new":{"a":[1]},"trace":{"new":1,"chunks_ns":[1]}},"new":2}`, "1 records, 0 damaged"},
		{"unknown kinds", first + `{"new":{}}` + "\n{}\nnull\n" + `{"request":null}`, "0 records, 0 damaged"},
		{"no objects", first + "[1]\n3\n" + `"request"`, "0 records, 3 damaged"},
		{"many lines", first + strings.Repeat(request(0)+"\n", 5000) + "{", "5000 records, 1 damaged"},
		{"a line of brackets", first + `{"x":` + strings.Repeat("[", 30<<20) + "\n" + request(0), "1 records, 1 damaged"},
		{"a long line", first + `{"new":"` + long + "\"}\n" + request(0), "1 records, 0 damaged"},
		{"empty", "", "no log of accelbench: the first line does not say what was run"},
		{"text", "hello\n", "no log of accelbench: the first line does not say what was run"},
		{"no run first", request(0) + "\n" + first, "no log of accelbench: the first line does not say what was run"},
		{"a damaged first line", `{"run":{"schema":1,"gomaxprocs":"2"}}` + "\n" + request(0), `line 1: it does not say what was run: json: cannot unmarshal "\"2\"}}" into Go struct field runlog.Recordrunlog.Run.run.gomaxprocs of type int`},
		{"later schema", `{"run":{"schema":2,"id":7}}`, "it was written by a later version (schema 2, this one reads 1): use that version"},
	} {
		if got := outcome(t, tc.text); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// outcome reads a log.
func outcome(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	n := 0
	damaged, err := Read(path, func(rec Record) error {
		if rec.Run == nil && rec != (Record{}) {
			n++
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d records, %d damaged", n, damaged)
}
