package live

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestState(t *testing.T) {
	for name, tc := range map[string]struct {
		state state
		want  string
	}{
		"before":      {state{requests: 100}, "making prompts"},
		"just begun":  {state{requests: 100, attempted: 1}, "0/100, 0.00 req/s, 0 in flight, 0 failed"},
		"half way":    {state{requests: 100, elapsed: 20 * time.Second, inFlight: 8, succeeded: 48, failed: 2, timed: true, p50: 230 * time.Millisecond, p99: 12 * time.Second}, "50/100, 2.40 req/s, 8 in flight, 2 failed, TTFT p50 230ms p99 12s, 20s left"},
		"by duration": {state{duration: time.Minute, elapsed: 15 * time.Second, inFlight: 3, queued: 7, succeeded: 30}, "30, 2.00 req/s, 3 in flight, 7 queued, 0 failed, 45s left"},
		"whichever limit comes first": {
			state{requests: 1000, duration: time.Minute, elapsed: 30 * time.Second, succeeded: 900},
			"900/1000, 30.00 req/s, 0 in flight, 0 failed, 3s left",
		},
		"no limit":  {state{elapsed: 10 * time.Second, succeeded: 5}, "5, 0.50 req/s, 0 in flight, 0 failed"},
		"withdrawn": {state{requests: 90, ended: true, elapsed: time.Second, succeeded: 1, canceled: 8}, "9/90, 1.00 req/s, 0 in flight, 0 failed, 8 canceled"},
	} {
		if tc.state.succeeded > 0 {
			tc.state.attempted = tc.state.succeeded
		}
		if diff := cmp.Diff(tc.want, tc.state.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// done is a request of two chunks that is over, or failed.
func done(f *openai.Failure) *runlog.Request {
	t := openai.Trace{RequestID: "id", Usage: &openai.Usage{PromptTokens: 7, CompletionTokens: 2}, Failure: f}
	t.Chunks = []openai.Chunk{{At: 100 * time.Millisecond}, {At: 150 * time.Millisecond}}
	t.Lags = []time.Duration{time.Microsecond}
	return &runlog.Request{Trace: t}
}

// A file or a pipe gets a line at the end of each step at the latest; a terminal
// gets one line that is drawn over.
func TestLine(t *testing.T) {
	for name, tc := range map[string]struct {
		width   int
		returns bool
	}{"file": {0, false}, "terminal": {120, true}} {
		var out bytes.Buffer
		l := NewLine(&out, tc.width)
		meter := new(load.Meter)
		l.StepStarted(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Requests: 2}, meter)
		l.RequestDone(done(nil))
		meter.Succeeded.Add(2)
		l.StepEnded(runlog.StepEnd{})
		if got := out.String(); !strings.Contains(got, "8 users: 2/2, ") || !strings.Contains(got, "TTFT p50 100ms") || !strings.HasSuffix(got, "\n") || strings.Contains(got, "\r") != tc.returns {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The last line has the rate that the report has of the whole step: from the first
// request sent, however long prompts were made before, to the last one over.
func TestLineHasTheReportsRate(t *testing.T) {
	var out bytes.Buffer
	l := NewLine(&out, 0)
	meter := new(load.Meter)
	l.StepStarted(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Requests: 8}, meter)
	sent := time.Now().Add(-time.Hour)
	meter.FirstSent.Store(sent.UnixNano())
	r := done(nil)
	r.Trace.Started, r.Trace.End = sent.Add(time.Second), time.Second
	l.RequestDone(r)
	meter.Succeeded.Add(8)
	l.StepEnded(runlog.StepEnd{})
	if !strings.Contains(out.String(), " 4.00 req/s") {
		t.Errorf("%q, want 8 requests in 2 s", out.String())
	}
}

func TestMetrics(t *testing.T) {
	m := NewMetrics()
	m.RunStarted(runlog.Run{URL: "http://127.0.0.1:8000/gateway", Model: "qwen2.5"})
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d series before the first step", n)
	}
	meter := new(load.Meter)
	m.StepStarted(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8}, meter)
	meter.InFlight.Store(6)
	m.RequestDone(done(nil))
	m.RequestDone(done(&openai.Failure{Reason: openai.ReasonTruncated}))
	m.RequestDone(&runlog.Request{Never: true, Trace: openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonCanceled}}})
	m.StepEnded(runlog.StepEnd{})
	want := `
# HELP accelerator_bench_concurrency Requests that are to be in flight, or at most; absent without a bound.
# TYPE accelerator_bench_concurrency gauge
accelerator_bench_concurrency{model="qwen2.5",step="8",target="127.0.0.1:8000"} 8
# HELP accelerator_bench_in_flight Requests in flight, of the present step.
# TYPE accelerator_bench_in_flight gauge
accelerator_bench_in_flight{model="qwen2.5",step="8",target="127.0.0.1:8000"} 6
# HELP accelerator_bench_output_tokens_total Output tokens as counted by the server.
# TYPE accelerator_bench_output_tokens_total counter
accelerator_bench_output_tokens_total{model="qwen2.5",step="8",target="127.0.0.1:8000"} 4
# HELP accelerator_bench_requests_total Requests that are over.
# TYPE accelerator_bench_requests_total counter
accelerator_bench_requests_total{model="qwen2.5",step="8",target="127.0.0.1:8000"} 3
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "accelerator_bench_concurrency", "accelerator_bench_in_flight",
		"accelerator_bench_output_tokens_total", "accelerator_bench_requests_total"); err != nil {
		t.Error(err)
	}
	failures := map[string]float64{}
	for _, r := range openai.Reasons() {
		failures[string(r)] = testutil.ToFloat64(m.failures.WithLabelValues("127.0.0.1:8000", "qwen2.5", "8", string(r)))
	}
	if failures["truncated"] != 1 || failures["canceled"] != 1 || len(failures) != 14 {
		t.Errorf("failures: %v", failures)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}

// Grafana shows a run with the probe's own queries: the histograms have the same
// names but for the prefix.
func TestNamesAreTheProbes(t *testing.T) {
	names := func(c prometheus.Collector, prefix string) map[string]bool {
		descs := make(chan *prometheus.Desc, 64)
		c.Describe(descs)
		close(descs)
		found := map[string]bool{}
		for d := range descs {
			name, _, _ := strings.Cut(strings.TrimPrefix(d.String(), `Desc{fqName: "`), `"`)
			if rest, ok := strings.CutPrefix(name, prefix); ok && strings.HasSuffix(rest, "_seconds") {
				found[rest] = true
			}
		}
		return found
	}
	of := names(NewMetrics(), "accelerator_bench_")
	for name := range names(probe.New(nil), "accelerator_probe_") {
		if !of[name] && name != "last_success_timestamp_seconds" && name != "phase_seconds" {
			t.Errorf("accelerator_bench_%s is missing", name)
		}
	}
}

// A line that is longer than the terminal is wide would be drawn over badly.
func TestLineFitsTheTerminal(t *testing.T) {
	for _, width := range []int{40, 60, 80, 200} {
		var out bytes.Buffer
		l := NewLine(&out, width)
		l.RunStarted(runlog.Run{Steps: []string{"128", "200"}})
		meter := new(load.Meter)
		l.StepStarted(runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 128, Requests: 100000}, meter)
		l.RequestDone(done(nil))
		meter.InFlight.Store(128)
		meter.Failed.Store(12345)
		meter.Canceled.Store(12345)
		l.StepEnded(runlog.StepEnd{})
		for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(out.String(), "step 1 of 2") && width > 100 {
			t.Errorf("which step is not told: %q", out.String())
		}
	}
}

// Eighty columns hold what people look at: rate, in flight, failures, TTFT and the
// time left. A wider terminal has more words, and a bar in what is left.
func TestDrawing(t *testing.T) {
	s := state{name: "150 users", level: 150, requests: 1000, attempted: 790, elapsed: 10 * time.Second, succeeded: 640, inFlight: 150, timed: true, p50: 630 * time.Millisecond, p99: 720 * time.Millisecond}
	for columns, want := range map[int]string{
		200: " 64% [#########################---------------] step 7 of 8, 150 users: 640/1000, 64.00 req/s, 150 in flight, 0 failed, TTFT p50 630ms p99 720ms, 6s left",
		130: " 64% [#########------] step 7 of 8, 150 users: 640/1000, 64.00 req/s, 150 in flight, 0 failed, TTFT p50 630ms p99 720ms, 6s left",
		100: "150 users: 640/1000, 64.00 req/s, 150 in flight, 0 failed, TTFT p50 630ms p99 720ms, 6s left",
		79:  "150 users: 640/1000, 64/s, 150 active, 0 failed, TTFT p50 630ms, 6s left",
		60:  "640/1000, 64/s, 0 failed, 6s left",
		24:  "640/1000, 64/s, 0 failed",
		0:   "",
	} {
		var out strings.Builder
		d := drawing{out: &out, columns: columns}
		d.draw("step 7 of 8, ", s)
		if diff := cmp.Diff("\r"+want, out.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
}

// A line whose label came and went, or whose bar changed its width, would flicker.
func TestDrawingKeepsItsForm(t *testing.T) {
	for _, columns := range []int{60, 79, 90, 119, 150} {
		var out strings.Builder
		d := drawing{out: &out, columns: columns}
		s := state{name: "20 users", level: 20, requests: 200, attempted: 1}
		labels, bars := map[bool]bool{}, map[int]bool{}
		for n := range int64(201) {
			out.Reset()
			s.succeeded, s.attempted, s.inFlight, s.elapsed = n, n+1, 20, time.Duration(n)*25*time.Millisecond
			s.timed, s.p50, s.p99, s.ended = n > 3, 43*time.Millisecond, 77*time.Millisecond, n == 200
			d.draw("step 1 of 2, ", s)
			line := out.String()
			labels[strings.Contains(line, "step 1 of 2, 20 users: ")] = true
			bars[strings.Count(line, "#")+strings.Count(line, "-")] = true
		}
		if len(labels) != 1 || len(bars) != 1 {
			t.Errorf("%d columns: labels %v, columns of the bar %v", columns, labels, bars)
		}
	}
}
