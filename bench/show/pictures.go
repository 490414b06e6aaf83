package show

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Picture is four panels, each of some columns over the levels of load. Nothing that
// comes from outside, such as the model's name, is drawn.
type Picture struct {
	Title    string
	FileName string
	report   *result.Report
	panels   []panel
}

// Pictures are those of a report: what evalscope-perf draws, the latencies, and the cards
// where some step knows of a card.
func Pictures(r *result.Report) []*Picture {
	all := []*Picture{
		{"Overview", "performance_metrics.png", r, overviewPanels()},
		{"Latency", "latency.png", r, latencyPanels(r)},
	}
	if slices.ContainsFunc(r.Steps, func(s result.Step) bool { return len(s.Cards) > 0 }) {
		all = append(all, &Picture{"Cards", "cards.png", r, cardPanels()})
	}
	return all
}

type panel struct {
	title  string
	lines  []Column       // named by their heads
	limits []result.Limit // what the lines should stay below
}

// overviewPanels are of the whole step and of its steady part.
func overviewPanels() []panel {
	var panels []panel
	for _, c := range Pick(WindowColumns(nil), "request_throughput", "e2el_mean", "output_throughput") {
		panels = append(panels, panel{title: c.Title(), lines: []Column{c, steadyColumn(c)}})
	}
	failures := Pick(requestColumns, "failure_ratio")
	return append(panels, panel{title: failures[0].Title(), lines: failures})
}

// latencyPanels are percentiles of the main measures, of the steady part of each step
// where every step has one, else of the whole of it, and what they should stay below.
func latencyPanels(r *result.Report) []panel {
	var panels []panel
	neverSteady := slices.ContainsFunc(r.Steps, func(s result.Step) bool { return s.Steady == nil })
	for _, m := range result.Main() {
		n := panel{title: m.Name + " (ms)"}
		for _, column := range percentileColumns(m, tablePercentiles(r.Chosen)) {
			if !neverSteady {
				column = steadyColumn(column)
			}
			n.lines = append(n.lines, column)
		}
		if r.Capacity != nil {
			n.limits = slices.DeleteFunc(slices.Clone(r.Capacity.Limits), func(l result.Limit) bool { return l.Name != string(m.Key) })
		}
		if most := r.Objectives.Of(m.Key); most > 0 {
			n.limits = append(n.limits, result.Limit{Name: string(m.Key), Percentile: 100 * minGoodShare, Limit: most.Seconds()})
		}
		panels = append(panels, n)
	}
	return panels
}

// cardPanels are of the cards that serve the endpoint.
func cardPanels() []panel {
	var panels []panel
	for _, c := range cardColumns {
		panels = append(panels, panel{title: c.Title(), lines: []Column{c}})
	}
	return panels
}

// steadyColumn is a column of the steady part.
func steadyColumn(c Column) Column {
	value := c.Value
	c.Head = "steady " + c.Head
	c.Value = func(s *result.Step, _ *result.Figures) float64 {
		if s.Steady == nil {
			return math.NaN()
		}
		return value(s, s.Steady)
	}
	return c
}

// WritePNG draws the panels in two rows, 1800 × 900 pixels. The same report gives the
// same bytes.
func (p *Picture) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(18*vg.Inch, 9*vg.Inch), vgimg.UseDPI(100))
	if err := p.draw(draw.New(canvas)); err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("writing picture: %w", err)
	}
	return nil
}

// SVG is the picture as an element of a page.
func (p *Picture) SVG() (template.HTML, error) {
	canvas := vgsvg.New(12*vg.Inch, 7*vg.Inch)
	if err := p.draw(draw.New(canvas)); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("drawing picture: %w", err)
	}
	_, element, _ := bytes.Cut(b.Bytes(), []byte("?>"))
	return template.HTML(element), nil // its texts are ours, and escaped by the canvas
}

func (p *Picture) draw(c draw.Canvas) error {
	const pad = vg.Length(14)
	tiles := draw.Tiles{Cols: 2, Rows: 2, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: 2 * pad, PadY: 2 * pad}
	for i, n := range p.panels {
		q, err := n.plot(levels(p.report.Steps), p.report.Capacity)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", n.title, err)
		}
		q.Draw(tiles.At(c, i%tiles.Cols, i/tiles.Cols))
	}
	return nil
}

// plot is one panel: lines over the levels, which stand beside each other.
func (n panel) plot(levels []level, c *result.Capacity) (*plot.Plot, error) {
	q := plot.New()
	q.Title.Text, q.X.Label.Text = n.title, "load (users, or requests/s)"
	q.Legend.Top, q.Legend.Left = true, true
	q.Y.Min, q.Y.Max = 0, 0
	q.Add(plotter.NewGrid())
	if err := plotutil.AddLinePoints(q, n.points(levels)...); err != nil {
		return nil, err
	}
	if q.Y.Max *= 1.2; q.Y.Max == 0 { // room for the legend
		q.Y.Max = 1
	}
	for _, l := range n.limits { // one far above the data is only in the legend
		f := plotter.NewFunction(func(float64) float64 { return l.Limit * n.lines[0].Unit.Scale() })
		f.Dashes = []vg.Length{8, 3, 2, 3}
		q.Add(f)
		q.Legend.Add(Objective(l), f)
	}
	if c != nil {
		if err := addAnswer(q, levels, c); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, l := range levels {
		names = append(names, l.load.Name())
	}
	if len(names) > 0 {
		q.NominalX(names...)
	}
	q.X.Min, q.X.Max = -0.5, float64(len(names))-0.5
	return q, nil
}

// points are, for each line that has any, its name and its means over the repeats of
// each level.
func (n panel) points(levels []level) []any {
	var all []any
	for _, c := range n.lines {
		var points plotter.XYs
		for i, l := range levels {
			var values []float64
			for _, s := range l.steps {
				if v := c.Value(s, &s.Whole); isKnown(v) {
					values = append(values, v*c.Unit.Scale())
				}
			}
			if len(values) > 0 {
				points = append(points, plotter.XY{X: float64(i), Y: stat.Mean(values, nil)})
			}
		}
		if len(points) > 0 {
			all = append(all, c.Head, points)
		}
	}
	return all
}

// addAnswer marks the level that a search for the capacity ended on.
func addAnswer(q *plot.Plot, levels []level, c *result.Capacity) error {
	at := slices.IndexFunc(levels, func(l level) bool { return max(l.load.Rate, float64(l.load.Level())) == c.Value })
	if at < 0 {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: float64(at), Y: 0}, {X: float64(at), Y: q.Y.Max}})
	if err != nil {
		return err
	}
	line.Color = color.Gray{Y: 0x80}
	q.Add(line)
	q.Legend.Add("carries "+number(c.Value), line)
	return nil
}
