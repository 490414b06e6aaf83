package show

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"slices"
	"strconv"

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
	Title  string
	levels []level
	answer float64 // level that a search for the capacity ended on, 0 for none
	panels []panel
}

type panel struct {
	title  string
	lines  []Column // named by their heads
	limits []limit
}

// limit is what the lines should stay below, in the value's own unit.
type limit struct {
	name  string
	value float64
}

// Overview draws what evalscope-perf draws: requests a second, mean latency, output
// tokens a second and failed requests; the first three of the whole step and of its
// steady part.
func Overview(r *result.Report) *Picture {
	both := func(title, key string) panel { return columnPanel(r, title, key, "steady_"+key) }
	return newPicture(r, "Overview",
		both("Requests a second (req/s)", "request_throughput_rps"), both("Mean latency (ms)", "e2el_mean_ms"),
		both("Output (tok/s)", "output_throughput_tok_s"), columnPanel(r, "Failed requests (%)", "failure_ratio"))
}

// Latency draws percentiles of the main measures, of the steady part of each step where
// every step has one, else of the whole of it, and what they should stay below.
func Latency(r *result.Report) *Picture {
	prefix := "steady_"
	if slices.ContainsFunc(r.Steps, func(s result.Step) bool { return s.Steady == nil }) {
		prefix = ""
	}
	var panels []panel
	for _, m := range result.Main() {
		var keys []string
		for _, p := range tablePercentiles(r) {
			keys = append(keys, prefix+string(m.Key)+"_"+percentileName(p)+"_ms")
		}
		p := columnPanel(r, m.Name+" (ms)", keys...)
		p.limits = measureLimits(r, m)
		panels = append(panels, p)
	}
	return newPicture(r, "Latency", panels...)
}

// measureLimits are the objectives of a measure, and those of a search for the capacity.
func measureLimits(r *result.Report, m result.Measure) []limit {
	var all []limit
	if d := r.Objectives.Of(m.Key); d > 0 {
		all = append(all, limit{"objective " + d.String(), d.Seconds()})
	}
	if r.Capacity == nil {
		return all
	}
	for _, l := range r.Capacity.Limits {
		if l.Name == string(m.Key) {
			all = append(all, limit{Objective(l), l.Limit})
		}
	}
	return all
}

// Cards draws the cards that serve the endpoint. It is nil when no step knows of a card.
func Cards(r *result.Report) *Picture {
	if !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return len(s.Cards) > 0 }) {
		return nil
	}
	return newPicture(r, "Cards",
		columnPanel(r, "Utilization, mean over the cards (%)", "card_utilization_ratio"), columnPanel(r, "Power, all cards together (W)", "card_power_watts"),
		columnPanel(r, "Temperature, hottest card (°C)", "card_temperature_celsius"), columnPanel(r, "Energy for an output token (J)", "energy_joules_per_output_token"))
}

func newPicture(r *result.Report, title string, panels ...panel) *Picture {
	p := &Picture{Title: title, levels: levels(r.Steps), panels: panels}
	if r.Capacity != nil {
		p.answer = r.Capacity.Value
	}
	return p
}

func columnPanel(r *result.Report, title string, keys ...string) panel {
	return panel{title: title, lines: Pick(reportColumns(r), keys...)}
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

// svg is the picture as an element of a page.
func (p *Picture) svg() (template.HTML, error) {
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
		q, err := p.plot(n)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", n.title, err)
		}
		q.Draw(tiles.At(c, i%tiles.Cols, i/tiles.Cols))
	}
	return nil
}

// plot is one panel: lines over the levels, which stand beside each other.
func (p *Picture) plot(n panel) (*plot.Plot, error) {
	q := plot.New()
	q.Title.Text, q.X.Label.Text = n.title, "load (users, or requests/s)"
	q.Legend.Top, q.Legend.Left = true, true
	q.Y.Min, q.Y.Max = 0, 0
	q.Add(plotter.NewGrid())
	for i, c := range n.lines {
		if err := p.addLine(q, i, c); err != nil {
			return nil, err
		}
	}
	if q.Y.Max *= 1.2; q.Y.Max == 0 { // room for the legend
		q.Y.Max = 1
	}
	for _, l := range n.limits {
		addLimit(q, l.name, l.value*n.lines[0].Unit.Scale())
	}
	if err := p.addAnswer(q); err != nil {
		return nil, err
	}
	var names []string
	for _, l := range p.levels {
		names = append(names, l.load.Name())
	}
	if len(names) > 0 {
		q.NominalX(names...)
	}
	q.X.Min, q.X.Max = -0.5, float64(len(names))-0.5
	return q, nil
}

// addLine adds the means over the repeats of each level, with bars from the least to
// the most of them.
func (p *Picture) addLine(q *plot.Plot, n int, c Column) error {
	var data struct {
		plotter.XYs
		plotter.YErrors
	}
	for i, l := range p.levels {
		if values := l.values(c); len(values) > 0 {
			mean := stat.Mean(values, nil)
			data.XYs = append(data.XYs, plotter.XY{X: float64(i), Y: mean})
			data.YErrors = append(data.YErrors, struct{ Low, High float64 }{mean - slices.Min(values), slices.Max(values) - mean})
		}
	}
	if len(data.XYs) == 0 {
		return nil
	}
	line, points, err := plotter.NewLinePoints(data)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(data)
	if err != nil {
		return err
	}
	line.Color, line.Dashes = plotutil.Color(n), plotutil.Dashes(n)
	points.Color, points.Shape, bars.Color = plotutil.Color(n), plotutil.Shape(n), plotutil.Color(n)
	q.Add(line, points, bars)
	q.Legend.Add(c.Head, line, points)
	return nil
}

// values are those of the repeats, as they are shown.
func (l level) values(c Column) []float64 {
	var values []float64
	for _, s := range l.steps {
		if v := c.Value(s, &s.Whole); isKnown(v) {
			values = append(values, v*c.Unit.Scale())
		}
	}
	return values
}

// addLimit adds a line across the panel; one far above the data is only in the legend.
func addLimit(q *plot.Plot, name string, value float64) {
	f := plotter.NewFunction(func(float64) float64 { return value })
	f.Dashes = []vg.Length{8, 3, 2, 3}
	q.Add(f)
	q.Legend.Add(name, f)
}

// addAnswer marks the level that a search for the capacity ended on.
func (p *Picture) addAnswer(q *plot.Plot) error {
	at := slices.IndexFunc(p.levels, func(l level) bool { return max(l.load.Rate, float64(l.load.Level())) == p.answer })
	if p.answer == 0 || at < 0 {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: float64(at), Y: 0}, {X: float64(at), Y: q.Y.Max}})
	if err != nil {
		return err
	}
	line.Color = color.Gray{Y: 0x80}
	q.Add(line)
	q.Legend.Add("carries "+strconv.FormatFloat(p.answer, 'g', 6, 64), line)
	return nil
}
