package runlog

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

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

// TestLogOfVersion010: a log that accelbench 0.1.0 wrote of a load with failures, reasoning
// and telemetry is read to its last line.
func TestLogOfVersion010(t *testing.T) {
	records, damaged := readAll(t, filepath.Join("testdata", "v0.1.0.jsonl"))
	if last := records[len(records)-1]; last.RunEnd == nil || damaged != 0 {
		t.Errorf("%d records, %d damaged; the last: %+v", len(records), damaged, last)
	}
}
