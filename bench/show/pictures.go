package show

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Picture is four panels, each of some columns over the load. No text from outside, such as the model's name, is drawn.
type Picture struct {
	Title    string
	FileName string
	window   func(*result.Step) *result.Figures
	panels   []panel
	steps    []result.Step    // ascending in their load
	capacity *capacity.Result // nil where none was searched for
}

type panel struct {
	title  string
	lines  []Column           // named by their heads
	limits []openai.Objective // what the lines should stay below
}

// Pictures are what evalscope-perf draws, of whole steps, and the latencies, of the steady part where there is one.
func Pictures(r *result.Report) []*Picture {
	steps := byLoad(r.Steps)
	if steps[0].Rate > 0 { // an infinite rate has no place on an axis of rates
		steps = slices.DeleteFunc(steps, func(s result.Step) bool { return s.Rate == 0 })
	}
	overview := &Picture{Title: "Overview", FileName: "performance_metrics.png", window: wholePart, steps: steps}
	for _, c := range Pick(Columns(), "request_throughput", "e2el_mean", "output_throughput", "failure_ratio") {
		overview.panels = append(overview.panels, panel{title: c.Title(), lines: []Column{c}})
	}

	latencies := &Picture{
		Title: "Latency", FileName: "latency.png", window: (*result.Step).SteadyOrWhole, steps: steps,
		capacity: capacity.FromReport(r),
	}
	percentiles := tablePercentiles(r.Percentiles)
	for _, m := range result.Main() {
		n := panel{title: m.Name + " (ms)"}
		for _, p := range percentiles {
			n.lines = append(n.lines, Pick(measureColumns(m, percentiles), string(m.Key)+"_"+percentileName(p))...)
		}
		if search := r.Runs[0].Capacity; search != nil {
			n.limits = slices.DeleteFunc(slices.Clone(search.Objectives), func(o openai.Objective) bool { return o.Measure != m.Key })
		}
		latencies.panels = append(latencies.panels, n)
	}
	return []*Picture{overview, latencies}
}

// WritePNG draws the panels in two rows, 1800 × 900 pixels. The same report gives the same bytes.
func (p *Picture) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(18*vg.Inch, 9*vg.Inch), vgimg.UseDPI(100))
	if err := p.draw(draw.New(canvas)); err != nil {
		return err
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

func (p *Picture) draw(c draw.Canvas) error {
	const pad = vg.Length(14)
	tiles := draw.Tiles{Cols: 2, Rows: 2, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: 2 * pad, PadY: 2 * pad}
	for i, n := range p.panels {
		q, err := p.plot(n)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", n.title, err)
		}
		q.Draw(tiles.At(c, i%tiles.Cols, i/tiles.Cols))
	}
	return nil
}

// plot is one panel: lines over the load, what they should stay below, and the load that a search ended on.
func (p *Picture) plot(n panel) (*plot.Plot, error) {
	q := plot.New()
	q.Title.Text, q.X.Label.Text = n.title, fmt.Sprintf("load (%s)", p.steps[0].Label.Unit)
	q.Legend.Top, q.Legend.Left = true, true
	q.X.Min, q.Y.Min, q.Y.Max = 0, 0, 0
	q.Add(plotter.NewGrid())
	var named []any // names and points in turns
	for _, c := range n.lines {
		var points plotter.XYs
		for i := range p.steps {
			s := &p.steps[i]
			if v := c.Value(s, p.window(s)); !math.IsNaN(v) {
				points = append(points, plotter.XY{X: s.Level(), Y: c.Unit.scaled(v)})
			}
		}
		if len(points) > 0 {
			named = append(named, c.Head, points)
		}
	}
	if err := plotutil.AddLinePoints(q, named...); err != nil {
		return nil, err
	}
	q.Y.Max = cmp.Or(1.2*q.Y.Max, 1) // room for the legend
	for _, l := range n.limits {     // one far above the data is only in the legend
		f := plotter.NewFunction(func(float64) float64 { return Milliseconds.scaled(l.Limit) })
		f.Dashes = []vg.Length{8, 3, 2, 3}
		q.Add(f)
		q.Legend.Add(objectiveText(l), f)
	}
	if p.capacity == nil || p.capacity.Value == 0 {
		return q, nil
	}

	carried := float64(p.capacity.Value)
	line, err := plotter.NewLine(plotter.XYs{{X: carried, Y: 0}, {X: carried, Y: q.Y.Max}})
	if err != nil {
		return nil, err
	}
	line.Color = color.Gray{Y: 0x80}
	q.Add(line)
	q.Legend.Add(p.carried(), line)
	return q, nil
}

// carried says what a search ended on.
func (p *Picture) carried() string {
	if p.capacity.AtLeast {
		return "carries at least " + number(p.capacity.Value)
	}
	return "carries " + number(p.capacity.Value)
}
