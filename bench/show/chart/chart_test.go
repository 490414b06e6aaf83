package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/resulttest"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show/chart"
)

// firstLine is the colour of the first series of a panel.
const firstLine = "stroke:#0072B2"

// lastFails keeps what is written and fails with the end of the picture, as a
// picture takes too long to be drawn twice.
type lastFails struct{ bytes.Buffer }

func (w *lastFails) Write(p []byte) (int, error) {
	n, _ := w.Buffer.Write(p)
	if bytes.Contains(p, []byte("IEND")) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestPNG(t *testing.T) {
	var b lastFails
	if err := chart.Latency(resulttest.Sweep()).WritePNG(&b); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("the error of writing is lost: %v", err)
	}
	if b.Len() > 200<<10 {
		t.Errorf("%d bytes", b.Len())
	}
	img, err := png.DecodeConfig(&b.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	if img.Width != 1800 || img.Height != 900 {
		t.Errorf("%d × %d pixels", img.Width, img.Height)
	}
}

func TestNoStep(t *testing.T) {
	for _, p := range chart.Overview(&result.Report{}).Panels {
		if shown := texts(t, svg(t, p)); !slices.Contains(shown, "no samples") && !slices.Contains(shown, "no request failed") {
			t.Errorf("%q", shown)
		}
	}
}

// TestSameReportSameBytes looks at drawings, as a picture takes seconds to make
// and its panels are drawn by the same code.
func TestSameReportSameBytes(t *testing.T) {
	draw := func() (all []string) {
		for _, c := range []*chart.Chart{
			chart.Overview(resulttest.Sweep()), chart.Latency(resulttest.Sweep()), chart.Cards(resulttest.Sweep()),
		} {
			for _, p := range c.Panels {
				all = append(all, svg(t, p))
			}
		}
		return all
	}
	if diff := cmp.Diff(draw(), draw()); diff != "" {
		t.Errorf("the second drawing differs: %s", diff)
	}
}

func TestNoCards(t *testing.T) {
	if c := chart.Cards(&result.Report{Steps: make([]result.Step, 2)}); c != nil {
		t.Errorf("a chart of no card: %v", c)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGReturnsTheErrorOfWriting(t *testing.T) {
	if err := chart.Overview(resulttest.Sweep()).Panels[0].WriteSVG(brokenWriter{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

func TestOverviewTexts(t *testing.T) {
	want := [][]string{
		{"Average QPS", "successful requests/s", "concurrent requests", "whole step", "steady state", "8", "200"},
		{"Average latency", "seconds to the last token", "8", "16", "32", "64", "100", "128", "150", "200"},
		{"Throughput", "output tokens/s", "whole step", "steady state"},
		{"Failed requests, and their share", "requests", "14", "1.4 %", "164", "16.4 %"},
	}
	for i, p := range chart.Overview(resulttest.Sweep()).Panels {
		missing(t, texts(t, svg(t, p)), want[i])
	}
}

// TestOneWindow names the window also where there is no other.
func TestOneWindow(t *testing.T) {
	r := resulttest.Sweep()
	for i := range r.Steps {
		r.Steps[i].Steady = nil
	}
	got := texts(t, svg(t, chart.Overview(r).Panels[0]))
	missing(t, got, []string{"whole step"})
	if slices.Contains(got, "steady state") {
		t.Errorf("a window without samples in the legend: %q", got)
	}
}

func TestLatencyTexts(t *testing.T) {
	r := resulttest.Sweep()
	titles := func() (all []string) {
		for _, p := range chart.Latency(r).Panels {
			shown := texts(t, svg(t, p))
			all = append(all, shown[0])
			missing(t, shown, []string{"p50", "p90", "p99", "concurrent requests"})
		}
		return all
	}
	want := []string{"TTFT, steady state", "TPOT, steady state", "ITL, steady state", "Latency, steady state"}
	if diff := cmp.Diff(want, titles()); diff != "" {
		t.Error(diff)
	}
	r.Steps[3].Steady = nil // windows are never mixed
	want = []string{"TTFT, whole step", "TPOT, whole step", "ITL, whole step", "Latency, whole step"}
	if diff := cmp.Diff(want, titles()); diff != "" {
		t.Error(diff)
	}
}

// TestUnits holds the panels in seconds that need it, the others in
// milliseconds.
func TestUnits(t *testing.T) {
	panels := chart.Latency(resulttest.Sweep()).Panels
	for i, want := range []string{"seconds", "milliseconds", "milliseconds", "seconds"} {
		missing(t, texts(t, svg(t, panels[i])), []string{want})
	}
	if d := description(t, panels[1]); !strings.Contains(d, "p50 69.59 at 8 to 278.4 at 200") {
		t.Error(d)
	}
}

func TestPercentilesShown(t *testing.T) {
	for _, c := range []struct{ have, want []float64 }{
		{[]float64{50, 90, 95, 99}, []float64{50, 90, 99}},
		{[]float64{50, 95}, []float64{50, 95}},
		{[]float64{50, 75, 99, 99.9, 99.99}, []float64{50, 99, 99.99}},
	} {
		r := resulttest.Sweep()
		for i := range r.Steps {
			var all []result.Percentile
			for _, p := range c.have {
				all = append(all, result.Percentile{P: p, Value: p})
			}
			resulttest.Change(r.Steps[i].Steady, result.TTFT, func(d *result.Distribution) { d.Percentiles = all })
		}
		got := description(t, chart.Latency(r).Panels[0])
		for _, p := range c.have {
			name := "p" + strconv.FormatFloat(p, 'g', -1, 64) + " "
			if strings.Contains(got, name) != slices.Contains(c.want, p) {
				t.Errorf("%v: %s", p, got)
			}
		}
	}
}

// TestAxis tells how levels of load are placed.
func TestAxis(t *testing.T) {
	closed := func(n ...int) (all []result.Step) {
		for _, k := range n {
			all = append(all, result.Step{Step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: k}, Name: "named"})
		}
		return all
	}
	open := func(a runlog.Arrival, rate float64, bound int, name string) result.Step {
		return result.Step{Step: runlog.Step{Arrival: a, Rate: rate, MaxConcurrency: bound}, Name: name}
	}
	for _, c := range []struct {
		name  string
		steps []result.Step
		want  []string // label of the axis, then of the levels
	}{
		{"unsorted", closed(100, 8, 50), []string{"concurrent requests", "8", "50", "100"}},
		{"repeats", closed(8, 8, 50, 8), []string{"concurrent requests", "8", "50"}},
		{"doubling", closed(1, 2, 4, 8, 16, 32, 64, 128, 256), []string{
			"concurrent requests, log scale", "1", "2", "4", "8", "16", "32", "64", "128", "256",
		}},
		{"crowded", closed(2, 1000, 1001, 1002), []string{"concurrent requests", "2", "1000"}},
		{"rates", []result.Step{
			open(runlog.ArrivalPoisson, 2.5, 0, "named"),
			open(runlog.ArrivalPoisson, 4, 0, "named"),
		}, []string{"request rate (req/s)", "2.5", "4"}},
		{"bursts under a bound", []result.Step{
			open(runlog.ArrivalBurst, 0, 100, "named"),
			open(runlog.ArrivalBurst, 0, 200, "named"),
		}, []string{"maximum concurrency", "100", "200"}},
		{"kinds mixed", []result.Step{
			open(runlog.ArrivalPoisson, 4, 0, "4 req/s"),
			open(runlog.ArrivalBurst, 0, 0, "inf"),
			open(runlog.ArrivalReplay, 0, 0, "<replay>"),
		}, []string{"load", "4 req/s", "inf", "<replay>"}},
		{"one rate, two bounds", []result.Step{
			open(runlog.ArrivalPoisson, 4, 10, "4 req/s"),
			open(runlog.ArrivalPoisson, 4, 20, "4 req/s #2"),
		}, []string{"load", "4 req/s", "4 req/s #2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := texts(t, svg(t, chart.Overview(&result.Report{Steps: c.steps}).Panels[3]))
			var want []string
			want = append(want, "Failed requests, and their share")
			want = append(want, c.want...)
			want = append(want, "requests", "0", "no request failed")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestGaps counts the strokes of the first line: one for the legend, one for
// each unbroken piece.
func TestGaps(t *testing.T) {
	drop := func(s *result.Step) {
		resulttest.Change(&s.Whole, result.E2E, func(d *result.Distribution) { *d = result.Distribution{} })
	}
	for _, c := range []struct {
		name  string
		spoil func(*result.Report)
		want  int
	}{
		{"none", func(*result.Report) {}, 2},
		{"no sample", func(r *result.Report) { drop(&r.Steps[3]) }, 3},
		{"not a number", func(r *result.Report) {
			resulttest.Change(&r.Steps[3].Whole, result.E2E, func(d *result.Distribution) { d.Mean = math.NaN() })
		}, 3},
		{"at the end", func(r *result.Report) { drop(&r.Steps[7]) }, 2},
		{"one repeat has samples", func(r *result.Report) {
			r.Steps = append(r.Steps, r.Steps[3])
			drop(&r.Steps[3])
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resulttest.Sweep()
			c.spoil(r)
			if got := strings.Count(svg(t, chart.Overview(r).Panels[1]), firstLine); got != c.want {
				t.Errorf("%d strokes, want %d", got, c.want)
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	r := resulttest.Sweep()
	r.Steps = r.Steps[7:]
	again := r.Steps[0]
	again.Whole.RequestThroughput++
	again.Account = result.Account{Attempted: 1000, Succeeded: 1000}
	r.Steps = append(r.Steps, again)
	panels := chart.Overview(r).Panels
	if d := description(t, panels[0]); !strings.Contains(d, "whole step 1.97 at 200;") {
		t.Errorf("mean: %s", d)
	}
	// Two strokes are rings of the repeats, one the legend's.
	if n := strings.Count(svg(t, panels[0]), firstLine); n != 3 {
		t.Errorf("%d strokes, want 3", n)
	}
	missing(t, texts(t, svg(t, panels[3])), []string{"82", "8.2 %"})
}

func TestCards(t *testing.T) {
	r := resulttest.Sweep()
	r.Steps[0].Cards[1].Watts = result.Gauge{} // a sum without it would be too small
	for i := range r.Steps {
		r.Steps[i].Cards[3].Serves = false
		r.Steps[i].Cards[3].Celsius.Max = 99
	}
	r.Steps[1].Joules = nil
	var got []string
	for _, p := range chart.Cards(r).Panels {
		got = append(got, description(t, p))
	}
	want := []string{
		"Utilization, mean over the cards (%) over concurrent requests: mean 43 at 8 to 91 at 200.",
		"Power, all cards together (watts) over concurrent requests: mean 573 at 16 to 849 at 200.",
		"Temperature, the hottest card (°C) over concurrent requests: maximum 60.4 at 8 to 70 at 200.",
		"Energy for an output token (joules) over concurrent requests: mean 10.58 at 8 to 3.183 at 200.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSVGFollowsThePage holds the drawing to the page's colours and to text
// that is escaped.
func TestSVGFollowsThePage(t *testing.T) {
	r := resulttest.Sweep()
	r.Runs[0].Model = "<script>model</script>"
	r.Steps[0].Arrival, r.Steps[0].Concurrency, r.Steps[0].Name = runlog.ArrivalReplay, 0, `<script>"name"</script>`
	for _, c := range []*chart.Chart{chart.Overview(r), chart.Latency(r), chart.Cards(r)} {
		for _, p := range c.Panels {
			got := svg(t, p)
			for _, bad := range []string{"#333", "#DDD", "#ddd", "<script", "model", "width=", "#000000"} {
				if strings.Contains(got, bad) {
					t.Errorf("holds %q: %s", bad, got)
				}
			}
			if !strings.Contains(got, "currentColor") {
				t.Errorf("no colour of the page: %s", got)
			}
		}
	}
}

func svg(t *testing.T, p *chart.Panel) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// description is what the panel says to those who cannot see it.
func description(t *testing.T, p *chart.Panel) string {
	t.Helper()
	var root struct {
		Label string `xml:"aria-label,attr"`
	}
	if err := xml.Unmarshal([]byte(svg(t, p)), &root); err != nil {
		t.Fatal(err)
	}
	return root.Label
}

// texts are all texts of a drawing, in order; it fails if the drawing is not
// well formed.
func texts(t *testing.T, drawing string) []string {
	t.Helper()
	var all []string
	d := xml.NewDecoder(strings.NewReader(drawing))
	inText := false
	for {
		tok, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inText = tok.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				all = append(all, string(tok))
			}
		}
	}
}

func missing(t *testing.T, got, want []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no text %q among %q", w, got)
		}
	}
}
