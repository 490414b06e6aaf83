package chart

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink and faint are the colours that are not data. [Panel.WriteSVG] puts the
// page's own in their place.
func ink() color.Color   { return color.Gray{Y: 0x33} }
func faint() color.Color { return color.Gray{Y: 0xdd} }

// style is how the n-th series looks. Colours are of Okabe and Ito's set for
// all kinds of colour vision; shape and dashes tell the same once more.
func style(n int) (draw.LineStyle, draw.GlyphStyle) {
	styles := []struct {
		color  color.NRGBA
		dashes []vg.Length
		shape  draw.GlyphDrawer
	}{
		{color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, nil, draw.CircleGlyph{}},
		{color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, []vg.Length{6, 3}, draw.BoxGlyph{}},
		{color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, []vg.Length{2, 2}, draw.PyramidGlyph{}},
	}
	s := styles[n%len(styles)]
	return draw.LineStyle{Color: s.color, Width: 1.6, Dashes: s.dashes},
		draw.GlyphStyle{Color: s.color, Radius: 3, Shape: s.shape}
}

// face is the text style of everything; size is in points.
func face(size vg.Length) text.Style {
	return text.Style{
		Color:   ink(),
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: plot.DefaultTextHandler,
	}
}

// draw fills the canvas with the panel: title, legend, axes, data. size is
// that of the text.
func (p *Panel) draw(c draw.Canvas, size vg.Length) {
	title := face(size * 1.1)
	title.Font.Weight = 3 // bold
	title.YAlign = draw.YTop
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.title)
	c.Max.Y -= 1.7 * size
	width := c.Max.X - c.Min.X - 6*size // of the data, about
	q := p.plot(size, width)
	legend := p.addMarks(q, size, width)
	if len(legend) > 0 && (len(p.series) > 1 || len(p.objectives) > 0 || p.answer > 0) {
		drawLegend(c, size, legend)
		c.Max.Y -= 1.2 * size
	}
	c.Max.Y -= 0.6 * size
	q.Draw(c)
	if note := p.note(); note != "" {
		label := face(size)
		label.XAlign, label.YAlign = draw.XCenter, draw.YCenter
		data := q.DataCanvas(c)
		c.FillText(label, data.Center(), note)
	}
}

// entry is a name in the legend and the marks it explains.
type entry struct {
	name  string
	marks []plot.Thumbnailer
}

// drawLegend writes the entries in one row, above the data and never over it:
// a legend of the library has its entries below each other.
func drawLegend(c draw.Canvas, size vg.Length, entries []entry) {
	x := vg.Length(0)
	for _, e := range entries {
		l := plot.NewLegend()
		l.Top, l.Left, l.XOffs = true, true, x
		l.TextStyle = face(size)
		if l.ThumbnailWidth = 2.2 * size; e.marks == nil {
			l.ThumbnailWidth = 0
		}
		l.Add(e.name, e.marks...)
		l.Draw(c)
		x += l.Rectangle(c).Size().X + 1.4*size
	}
}

// plot is the panel's axes and grid.
func (p *Panel) plot(size, width vg.Length) *plot.Plot {
	q := plot.New()
	q.BackgroundColor = nil
	q.X.Min, q.X.Max = p.axis.limits()
	q.X.Scale = p.axis.scale
	q.Y.Min = 0
	ticks := valueTicks(p.top())
	q.Y.Max = max(ticks[len(ticks)-1].Value, 1e-9)
	q.Y.Tick.Marker = plot.ConstantTicks(ticks)
	q.X.Label.Text, q.Y.Label.Text = p.axis.label, p.unit
	for _, a := range []*plot.Axis{&q.X, &q.Y} {
		a.Padding = 0
		a.Color, a.Tick.Color = ink(), ink()
		a.Label.TextStyle.Color, a.Label.TextStyle.Font = ink(), face(size).Font
		a.Tick.Label.Color, a.Tick.Label.Font = ink(), face(size*0.95).Font
		a.Label.Padding = 0.3 * size
	}
	var levels []plot.Tick
	for i, name := range p.fitting(q, q.X.Tick.Label, width, p.axis.names()) {
		levels = append(levels, plot.Tick{Value: p.axis.levels[i].x, Label: name})
	}
	q.X.Tick.Marker = plot.ConstantTicks(levels)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = faint()
	grid.Horizontal.Width = 0.8
	q.Add(grid)
	return q
}

// fitting leaves out labels of levels for which there is no room beside the one
// before. width is that of the data.
func (p *Panel) fitting(q *plot.Plot, s text.Style, width vg.Length, labels []string) []string {
	thin := make([]string, len(labels))
	free := vg.Length(math.Inf(-1))
	for i, label := range labels {
		at := vg.Length(q.X.Norm(p.axis.levels[i].x)) * width
		if half := s.Rectangle(label).Size().X / 2; label != "" && at-half >= free {
			thin[i] = label
			free = at + half + 0.3*s.Font.Size
		}
	}
	return thin
}

// valueTicks are round numbers from 0 to the first that is not below the
// largest value.
func valueTicks(largest float64) []plot.Tick {
	if largest < 1e-9 {
		return []plot.Tick{{Value: 0, Label: "0"}}
	}
	const about = 7
	step := math.Pow(10, math.Floor(math.Log10(largest/about)))
	for _, f := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if largest/step > about {
			step *= f
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := 0; ; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', digits, 64)})
		if v >= largest*(1-1e-9) && i > 0 {
			return ticks
		}
	}
}
