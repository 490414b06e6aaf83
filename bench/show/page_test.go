package show_test

import (
	"bytes"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

func renderedPage(t *testing.T, r *result.Report) string {
	t.Helper()
	return rendered(t, func(w io.Writer) error { return show.Page(w, r) })
}

// The page has the answer, the warnings and the tables, in this order.
func TestPage(t *testing.T) {
	r := searchedSweep()
	text := renderedPage(t, r)
	at := 0
	for _, want := range []string{
		"<h1>Load test of qwen2.5</h1>", "carries 64 users; 100 miss TPOT p90 (272.3 ms, limit 250)", "What makes figures doubtful",
		"<li>200: 16.4 % of the requests failed", "from bench-01", "&#39;datasets/open qa.jsonl&#39;",
		`class="charts"`, "<caption>Levels", "<caption>Whole steps", "<caption>Steady part", "<h3>8 users</h3>", "ended by: requests",
		"<caption>Latencies, steady part", "<caption>Cards", "<caption>The server", "What the figures are",
	} {
		n := strings.Index(text[at:], want)
		if n < 0 {
			t.Fatalf("no %q after %q", want, text[max(0, at-40):at])
		}
		at += n
	}
}

const markup = `<script>alert("1")</script><img src=x onerror=alert(1)>`

// timedSweep is a sweep of two loads, each twice, with what was seen over time. Names are markup.
func timedSweep() *result.Report {
	r := searchedSweep()
	r.Steps = []result.Step{r.Steps[0], r.Steps[7], r.Steps[0], r.Steps[7]}
	r.Runs[0].Model = markup
	for i := range r.Steps {
		s := &r.Steps[i]
		begin := s.Whole.Window.From
		s.Steady.Window = result.Window{From: begin.Add(20 * time.Second), To: begin.Add(100 * time.Second)}
		for k := range 120 {
			p := result.Point{Sent: float64(k), TTFT: result.Value(0.1 + 0.001*float64(k)), End: 2, Late: 1e-4, Lag: result.Unknown()}
			if k%40 == 39 {
				p.TTFT, p.Failure = result.Unknown(), markup
			}
			s.Timeline.Requests = append(s.Timeline.Requests, p)
		}
		card := &result.Card{Vendor: markup, Device: "0"}
		s.Timeline.Tracks = []result.Track{
			{Gauge: result.Running, At: []float64{0, 60, 119}, Values: []float64{1, 8, 2}},
			{Gauge: result.Waiting, At: []float64{60, 119}, Values: []float64{4, 0}},
			{Gauge: result.Utilization, Card: card, At: []float64{0, 119}, Values: []float64{0.5, 0.9}},
			{Gauge: result.Watts, Card: card, At: []float64{40, 119}, Values: []float64{200, 300}},
		}
	}
	return r
}

// Markup in a text from outside is shown, and is never markup of the page; and nothing
// is loaded from anywhere.
func TestPageIsClosed(t *testing.T) {
	r := timedSweep()
	r.Runs[0].Model, r.Runs[0].Command = markup, []string{markup}
	r.Runs[0].Metadata = map[string]string{markup: markup}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Warnings = []string{markup}
		s.Account.Failed = map[openai.Reason]int{openai.Reason(markup): 3}
		s.FailedAs = map[openai.Reason]string{openai.Reason(markup): markup}
		s.Cards[0].Name = markup
	}
	text := renderedPage(t, r)
	if n := strings.Count(text, "&lt;script&gt;"); n < 25 {
		t.Errorf("%d texts from outside are shown", n)
	}
	for _, own := range []string{`<script type="application/json" id="data">`, "<script>/*\nThe MIT License"} {
		if n := strings.Count(text, own); n != 1 {
			t.Errorf("%s is there %d times", own, n)
		}
		text = strings.ReplaceAll(text, own, "")
	}
	if found := regexp.MustCompile(`<script|<img|<link|<iframe|<[^>]* src=|url\(|<a [^>]*href="http`).FindString(text); found != "" {
		t.Errorf("the page has %s", found)
	}
}

func TestPicture(t *testing.T) {
	draw := func(r *result.Report) []byte {
		var b bytes.Buffer
		noError(t, show.Picture(&b, r))
		return b.Bytes()
	}
	draw(&result.Report{Runs: make([]runlog.Run, 1), Steps: []result.Step{nothing()}})
	first := draw(measuredSweep())
	img, err := png.DecodeConfig(bytes.NewReader(first))
	if err != nil || img.Width != 1800 || img.Height != 900 {
		t.Errorf("%d × %d pixels, %v", img.Width, img.Height, err)
	}
	if diff := cmp.Diff(first, draw(measuredSweep())); diff != "" {
		t.Error("the same report gives another picture")
	}
}
