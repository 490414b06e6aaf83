package page_test

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/resulttest"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show/page"
)

const hostile = `<script>alert("1")</script><img src=x onerror=alert(1)>{{.}}&'`

func TestSweep(t *testing.T) {
	p := parse(t, write(t, resulttest.Sweep()))
	if p.title != "Load test of qwen2.5" {
		t.Errorf("title %q", p.title)
	}
	for _, want := range []string{
		"http://127.0.0.1:8000", "2025-02-15 09:00:00 +00:00", "bench-01 (16 cores)", "openqa, datasets/open qa.jsonl",
		"accelbench run --url http://127.0.0.1:8000 --model qwen2.5 --dataset openqa --dataset-path 'datasets/open qa.jsonl'" +
			" --concurrency 8,16,32,64,100,128,150,200 --requests 1000 --timeout 120s",
		"1000 attempted = 836 succeeded + 164 failed + 0 canceled",
		"200 configured, 199.4 achieved in the steady state, 196.6 over the whole step (means, by Little's law)",
		"p50 0.15 ms, p99 0.93 ms", "1000 prompts, 2 bad records", "closed loop of 200 users, 1000 requests, ramp-up 20s, timeout 2m0s, at most 1024 output tokens",
		"p50 0.044 ms, p99 0.28 ms; kernel time stamps on 100.0 % of the answers",
	} {
		if !slices.Contains(p.texts, want) {
			t.Errorf("does not say %q", want)
		}
	}
	load := p.tables["Sweep, of the whole step except where the head says steady"]
	diff(t, [][]string{
		{
			"step", "in flight mean", "requests /s", "steady /s", "output tok/s", "steady tok/s", "latency mean s",
			"attempted", "failed", "failed %", "canceled", "client lag p99 ms", "J per token",
		},
		{"8", "7.86", "0.37", "0.39", "109.6", "116.2", "20.9", "1000", "0", "0", "0", "0.28", "10.6"},
		{"200", "196.6", "1.47", "1.56", "364.4", "386.3", "73.5", "1000", "164", "16.4", "0", "0.28", "3.18"},
	}, [][]string{load[0], load[1], load[8]})
}

// TestStep shows what is beside each other in a step's tables.
func TestStep(t *testing.T) {
	r := resulttest.Sweep()
	s := &r.Steps[7]
	good := 1.2
	s.Whole.Goodput = &good
	resulttest.Change(&s.Whole, result.ITL, func(d *result.Distribution) { d.Exact = false })
	s.Cards = s.Cards[:1]
	s.Cards[0].Watts = result.Gauge{}
	s.Cards[0].NUMANode = nil
	r.Steps = r.Steps[7:]
	p := parse(t, write(t, r))

	rates := p.tables["Throughput"]
	diff(t, [][]string{
		{"", "whole step", "steady state"},
		{"requests sent in it", "1000", "800"},
		{"good requests/s", "1.20", "-"},
	}, [][]string{rates[0], rates[2], rates[7]})

	whole := p.tables["Distributions, whole step; 16.4 % of its requests failed; "+
		"percentiles of names with * are read from a histogram"]
	var names []string
	for _, r := range whole {
		names = append(names, r[0])
	}
	diff(t, []string{
		"", "TTFT (ms)", "TPOT (ms)", "ITL (ms) *", "E2E (ms)", "client lateness (ms)", "connection set-up (ms)",
		"prompt length (tokens)", "output length (tokens)", "TTFT by the server (ms) *",
	}, names)
	diff(t, []string{"E2E (ms)", "836", "73500", "18666", "33651", "71239", "98144", "107475", "127436", "158545"}, whole[4])
	diff(t, []string{"TTFT by the server (ms) *", "836", "5841", "-", "-", "4879", "10526", "13089", "19701", "-"}, whole[9])

	diff(t, []string{"metax 0", "MXC500", "yes", "-", "90.0/98.0", "-", "55.0/70.0", "59.9/64.0"}, p.tables["Cards"][1])
}

func TestOpenLoop(t *testing.T) {
	r := resulttest.Sweep()
	r.Objectives = result.Objectives{TTFT: 2 * time.Second, TPOT: 100 * time.Millisecond}
	r.Steps = r.Steps[:1]
	s := &r.Steps[0]
	s.Step = runlog.Step{
		Arrival: runlog.ArrivalGamma, Rate: 4, Burstiness: 0.5, MaxConcurrency: 100, Duration: 10 * time.Minute,
	}
	s.Machines, s.Steady, s.NotSteady, s.Stop = 3, nil, "the bound was always reached", runlog.StopInterrupted
	r.NotRun = []string{"8 req/s", "16 req/s"}
	p := parse(t, write(t, r))
	for _, want := range []string{
		"TTFT of at most 2s, TPOT of at most 100ms", "Not run: 8 req/s, 16 req/s",
		"4.00 req/s, gamma of burstiness 0.50, at most 100 in flight, for 10m0s, from 3 machines",
		"none: the bound was always reached", "TTFT from due (ms)",
	} {
		if !slices.Contains(p.texts, want) {
			t.Errorf("does not say %q", want)
		}
	}
}

// TestWarnings wants each once, on top, with the steps it is about.
// TestCapacity: a search has its answer and its levels in front of the sweep.
func TestCapacity(t *testing.T) {
	got := write(t, resulttest.Searched())
	for _, want := range []string{
		"<h2 id=\"capacity\">Capacity</h2>\n<p>carries 64 users; 100 miss TPOT p90 (272 ms of 250)", "<caption>Objectives</caption>",
		"not judged", "objective 250ms for p90",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(write(t, resulttest.Sweep()), "Capacity") {
		t.Error("a capacity that nobody searched for")
	}
}

func TestWarnings(t *testing.T) {
	r := resulttest.Sweep()
	r.Complete, r.Damaged = false, 2
	for i := range r.Steps {
		r.Steps[i].Warnings = nil
	}
	r.Steps[1].Warnings = []string{"Slow."}
	r.Steps[4].Warnings = []string{"Slow.", "Late."}
	all := write(t, r)
	p := parse(t, all)
	if len(p.items) < 4 {
		t.Fatalf("items %q", p.items)
	}
	diff(t, []string{
		"A log has no end: its run was killed or still goes on, and the requests then in flight are not in the report.",
		"2 lines of the logs could not be read, and what was in them is not in the report.",
		"16 users, 100 users: Slow.",
		"100 users: Late.",
	}, p.items[:4])
	if strings.Index(all, "Slow.") > strings.Index(all, "<table") {
		t.Error("warnings come after figures")
	}
}

func TestManyRuns(t *testing.T) {
	r := resulttest.Sweep()
	other := r.Runs[0]
	other.Host, other.ID = "bench-02", "77"
	r.Runs = append(r.Runs, other)
	p := parse(t, write(t, r))
	for _, want := range []string{"bench-01 (16 cores), bench-02 (16 cores)", "5f1c09d2a7b34e60, 77", "qwen2.5"} {
		if !slices.Contains(p.texts, want) {
			t.Errorf("does not say %q", want)
		}
	}
}

// TestPercentiles shows the highest percentile there is where it is not the 99th.
func TestPercentiles(t *testing.T) {
	r := resulttest.Sweep()
	for i := range r.Steps {
		w := &r.Steps[i].Whole
		for _, key := range []result.Key{result.TTFT, result.E2E} {
			resulttest.Change(w, key, func(d *result.Distribution) {
				d.Percentiles = []result.Percentile{{P: 50, Value: 1}, {P: 99.9, Value: 2}}
			})
		}
	}
	latency := parse(t, write(t, r)).tables["Latencies of the whole step in ms"]
	if !slices.Contains(latency[0], "E2E p99.9") || latency[1][8] != "2000" {
		t.Errorf("%q", latency[:2])
	}
}

func TestNoStep(t *testing.T) {
	for _, r := range []*result.Report{{}, {Runs: make([]runlog.Run, 1)}} {
		p := parse(t, write(t, r))
		if !slices.Contains(p.texts, "No step was begun.") {
			t.Errorf("%q", p.texts)
		}
	}
}

// TestHostileText puts markup into every text of a report: it is shown, and is
// never markup of the page. parse refuses what could run or load.
func TestHostileText(t *testing.T) {
	r := resulttest.Sweep()
	r.Steps = r.Steps[6:]
	r.Runs[0].Metadata = map[string]string{hostile: hostile}
	r.Steps[1].Account.Failed = map[openai.Reason]int{openai.Reason(hostile): 3}
	r.Steps[1].Steady = nil
	r.Steps[1].NotSteady, r.Steps[1].Account.Mismatch = "x", "x"
	spoil(reflect.ValueOf(r).Elem())
	p := parse(t, write(t, r))
	if p.title != "Load test of qwen2.5"+hostile {
		t.Errorf("title %q", p.title)
	}
	shown := strings.Join(p.texts, "\n")
	if n := strings.Count(shown, hostile); n < 30 {
		t.Errorf("%d texts from outside are shown", n)
	}
}

// spoil adds markup to every string below v.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(v.String() + hostile)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteError(t *testing.T) {
	if err := page.Write(brokenWriter{}, resulttest.Sweep()); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

func write(t *testing.T, r *result.Report) string {
	t.Helper()
	var b strings.Builder
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
