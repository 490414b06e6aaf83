package result_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// readBack is the report of a run that was logged.
func readBack(opts result.Options) *result.Report {
	folder, err := logged()
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	r, err := result.Read(opts, folder)
	if err != nil {
		log.Panic(err)
	}
	return r
}

// logged keeps a run of one user on disk: ten answers of four tokens, a second each.
func logged() (folder string, err error) {
	folder, err = os.MkdirTemp("", "accelbench")
	if err != nil {
		return "", err
	}
	w, err := runlog.Create(folder, runlog.Run{Schema: runlog.Schema, ID: "5f1c09d2a7b34e60", Model: "qwen2.5"})
	if err != nil {
		return "", err
	}
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	records := []runlog.Record{{Step: &runlog.Step{Started: start, Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 10}}}
	for i := range 10 {
		sent := start.Add(time.Duration(i) * time.Second)
		records = append(records, runlog.Record{Request: &runlog.Request{Seq: i, Trace: openai.Trace{
			Planned: sent, Started: sent, End: time.Second, FirstAnswer: 400 * time.Millisecond, Usage: &openai.Usage{PromptTokens: 20, CompletionTokens: 4},
			Chunks: []openai.Chunk{{At: 400 * time.Millisecond}, {At: 600 * time.Millisecond}, {At: 800 * time.Millisecond}, {At: time.Second}},
		}}})
	}
	records = append(records, runlog.Record{StepEnd: &runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 10, Succeeded: 10}}, runlog.Record{RunEnd: &runlog.RunEnd{}})
	for _, r := range records {
		if err := w.Write(r); err != nil {
			return "", err
		}
	}
	return folder, w.Close()
}

func ExampleRead() {
	r := readBack(result.Options{Goodput: result.Objectives{TTFT: 500 * time.Millisecond}})
	for i := range r.Steps {
		s := &r.Steps[i]
		p99, _ := s.Whole.Of(result.TTFT).At(99)
		good, _ := s.Whole.GoodRatio()
		fmt.Printf("%s: %.1f requests/s, TTFT p99 %.1f s, %.0f %% good\n", s.Heading(), s.Whole.RequestThroughput, p99, 100*good)
	}
	// Output: 1 user: 1.0 requests/s, TTFT p99 0.4 s, 100 % good
}

// A table of what a report measures is made without naming any of it.
func ExampleMeasures() {
	r := readBack(result.Options{})
	s := &r.Steps[0]
	for _, m := range result.Measures() {
		if m.ShownFor(s) {
			fmt.Printf("%-16s mean %.3g\n", m.Name, s.Whole.Of(m.Key).Mean)
		}
	}
	// Output:
	// TTFT             mean 0.4
	// TPOT             mean 0.2
	// ITL              mean 0.2
	// E2E              mean 1
	// client lateness  mean 0
	// prompt           mean 20
	// output           mean 4
}

// A column knows how to find its value in a step and how it is called in each form.
func ExampleColumn() {
	r := readBack(result.Options{})
	s := &r.Steps[0]
	for _, c := range result.MainColumns([]float64{50}) {
		v, _ := c.Value(s, &s.Whole)
		fmt.Println(c.Key, v*c.Unit.Scale())
	}
	// Output:
	// ttft_p50_ms 400
	// tpot_p50_ms 200
	// itl_p50_ms 200
	// e2el_p50_ms 1000
}
