package runlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// TestLogOfVersion010: a log that accelbench 0.1.0 wrote of a load with failures,
// reasoning and telemetry gives the figures that it gave then, and is written again
// as it stands, so that 0.1.0 can read the logs of today.
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
		again, err := encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		was := strings.Replace(string(line), `"machine":"a",`, "", 1) // gone since
		if diff := cmp.Diff(was, string(again)); diff != "" {
			t.Errorf("written again (-0.1.0 +now):\n%s", diff)
		}
	}
	records, damaged := readAll(t, log)
	if damaged != 0 {
		t.Errorf("%d damaged lines", damaged)
	}
	golden := filepath.Join("testdata", "v0.1.0.figures")
	got := figuresOf(records)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("figures (-0.1.0 +now):\n%s", diff)
	}
}

// figuresOf is a line for each request, sample and end of a step.
func figuresOf(records []Record) string {
	var b strings.Builder
	for _, rec := range records {
		switch q, s, e := rec.Request, rec.Sample, rec.StepEnd; {
		case q != nil:
			t := &q.Trace
			ttft, _ := openai.TTFT(t)
			answer, _ := openai.FirstAnswer(t)
			tpot, _ := openai.TPOT(t)
			e2e, _ := openai.E2E(t)
			var gaps time.Duration
			for _, gap := range openai.ITLs(t) {
				gaps += gap
			}
			tokens, source := openai.OutputTokens(t)
			fmt.Fprintf(&b, "step %d request %d: ttft %s first answer %s tpot %s e2e %s end %s, %d chunks over %s, %d tokens a gap, %d lags, %d tokens by %s, %v\n",
				q.Step, q.Seq, ttft, answer, tpot, e2e, t.End, len(t.Chunks), gaps, len(openai.TokenITLs(t)), len(t.Lags), tokens, source, t.Failure)
		case s != nil:
			sum := 0.0
			for _, series := range s.Series {
				sum += series.Value
			}
			fmt.Fprintf(&b, "step %d sample of the %s: %d series, sum %g\n", s.Step, s.Source, len(s.Series), sum)
		case e != nil:
			fmt.Fprintf(&b, "step %d: %s, %d attempted, %d succeeded, %v\n", e.Step, e.Stop, e.Attempted, e.Succeeded, e.Failed)
		}
	}
	return b.String()
}
