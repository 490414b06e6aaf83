package show_test

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

func page(t *testing.T, r *result.Report) string {
	t.Helper()
	return rendered(t, func(w io.Writer) error { return show.Page(w, r) })
}

// The page has the answer, the warnings and the tables, in this order.
func TestPage(t *testing.T) {
	r := searchedSweep()
	text := page(t, r)
	at := 0
	for _, want := range []string{
		"<h1>Load test of qwen2.5</h1>", "carries 64 users; 100 miss TPOT p90 (272.3 ms of 250)", "What makes figures doubtful",
		"<li>200: 16.4 % of the requests failed", "from bench-01", "&#39;datasets/open qa.jsonl&#39;",
		"<caption>Levels", "<caption>Whole steps", "<caption>Steady part", "<svg", "<h3>8 users</h3>", "ended by: requests",
		"<caption>Latencies, steady part", "<caption>Cards", "<caption>The server", "What the figures are",
	} {
		n := strings.Index(text[at:], want)
		if n < 0 {
			t.Fatalf("no %q after %q", want, text[max(0, at-40):at])
		}
		at += n
	}
}

// Markup in a text from outside is shown, and is never markup of the page; and nothing
// is loaded from anywhere.
func TestPageIsClosed(t *testing.T) {
	const markup = `<script>alert("1")</script><img src=x onerror=alert(1)>`
	r := measuredSweep()
	r.Runs[0].Model, r.Runs[0].Command = markup, []string{markup}
	r.Runs[0].Metadata = map[string]string{markup: markup}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Warnings = []string{markup}
		s.Account.Failed = map[openai.Reason]int{openai.Reason(markup): 3}
		s.FailedAs = map[openai.Reason]string{openai.Reason(markup): markup}
		s.Cards[0].Name = markup
	}
	text := page(t, r)
	if n := strings.Count(text, "&lt;script&gt;"); n < 30 {
		t.Errorf("%d texts from outside are shown", n)
	}
	text = strings.ReplaceAll(text, "http://www.w3.org/", "")
	if found := regexp.MustCompile(`<script|<img|<link|<iframe|<[^>]* src=|url\(|<a [^>]*href="http`).FindString(text); found != "" {
		t.Errorf("the page has %s", found)
	}
}

// texts are those drawn in a picture of the page.
func texts(t *testing.T, r *result.Report) []string {
	t.Helper()
	var all []string
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page(t, r), -1) {
		var drawn struct {
			Texts []string `xml:"g>text"`
		}
		if err := xml.Unmarshal([]byte(svg), &drawn); err != nil {
			t.Fatal(err)
		}
		all = append(all, drawn.Texts...)
	}
	return all
}

func TestPictures(t *testing.T) {
	atLeast, unknown := searchedSweep(), searchedSweep()
	atLeast.Runs[0].Capacity.Precision = 0.05 // other levels were to come
	unknown.Steps[0].Stop = runlog.StopInterrupted
	rates := measuredSweep() // the last at an infinite one
	for i := range 7 {
		rates.Steps[i].Step = runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: float64(i + 1)}
		rates.Steps[i].Label = rates.Steps[i].Step.Label(false)
	}
	rates.Steps[7].Concurrency = 1000_000
	for name, tt := range map[string]struct {
		report      *result.Report
		want, never []string
	}{
		"a search":   {searchedSweep(), []string{"requests (req/s)", "failures", "TTFT p50", "E2E p99", "TPOT p90 <250 ms", "carries 64"}, nil},
		"at least":   {atLeast, []string{"carries at least 64"}, []string{"carries 64"}},
		"no answer":  {unknown, []string{"TPOT p90 <250 ms"}, []string{"carries 0"}},
		"a sweep":    {measuredSweep(), []string{"TTFT p50", "E2E p99", "load (users)"}, []string{"carries 64", "TPOT p90 <250 ms"}},
		"rates":      {rates, []string{"load (requests/s)"}, []string{"500000"}},
		"no samples": {&result.Report{Runs: make([]runlog.Run, 1), Steps: []result.Step{nothing()}}, []string{"TTFT (ms)"}, []string{"TTFT p50"}},
	} {
		got := texts(t, tt.report)
		for _, want := range tt.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		for _, other := range tt.never {
			if slices.Contains(got, other) {
				t.Errorf("%s: %q is drawn", name, other)
			}
		}
	}
}

func TestPNG(t *testing.T) {
	draw := func() []byte {
		var b bytes.Buffer
		if err := show.Pictures(measuredSweep())[1].WritePNG(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	first := draw()
	img, err := png.DecodeConfig(bytes.NewReader(first))
	if err != nil || img.Width != 1800 || img.Height != 900 {
		t.Errorf("%d × %d pixels, %v", img.Width, img.Height, err)
	}
	if diff := cmp.Diff(first, draw()); diff != "" {
		t.Error("the same report gives another picture")
	}
}
