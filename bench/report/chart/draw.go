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
	if shown := p.shown(); len(p.series) > 1 && len(shown) > 0 {
		p.drawLegend(c, size, shown)
		c.Max.Y -= 1.2 * size
	}
	c.Max.Y -= 0.6 * size
	q := p.plot(size, c.Max.X-c.Min.X)
	q.Draw(c)
}

// drawLegend writes the series' names in one row, above the data and never over
// it.
func (p *Panel) drawLegend(c draw.Canvas, size vg.Length, shown []series) {
	label := face(size)
	label.YAlign = draw.YCenter
	at := vg.Point{X: c.Min.X, Y: c.Max.Y - 0.5*size}
	for _, s := range shown {
		stroke, glyph := style(s.nth)
		sample := 2.2 * size
		c.StrokeLine2(stroke, at.X, at.Y, at.X+sample, at.Y)
		c.DrawGlyph(glyph, vg.Point{X: at.X + sample/2, Y: at.Y})
		at.X += sample + 0.4*size
		c.FillText(label, vg.Point{X: at.X, Y: at.Y + 0.12*size}, s.name)
		at.X += label.Width(s.name) + 1.4*size
	}
	if name := p.goalName(); name != "" {
		if p.drawn() {
			sample := 2.2 * size
			c.StrokeLine2(goalStyle(), at.X, at.Y, at.X+sample, at.Y)
			at.X += sample + 0.4*size
		}
		c.FillText(label, vg.Point{X: at.X, Y: at.Y + 0.12*size}, name)
	}
}

// goalStyle is that of an objective, which is no series.
func goalStyle() draw.LineStyle {
	return draw.LineStyle{Color: ink(), Width: 1.1, Dashes: []vg.Length{8, 3, 1.5, 3}}
}

func (p *Panel) plot(size, width vg.Length) *plot.Plot {
	q := plot.New()
	q.BackgroundColor = nil
	q.X.Min, q.X.Max = p.axis.limits()
	q.Y.Min = 0
	ticks := valueTicks(p.room())
	q.Y.Max = max(ticks[len(ticks)-1].Value, 1e-9)
	q.Y.Tick.Marker = plot.ConstantTicks(ticks)
	if p.axis.log {
		q.X.Scale = plot.LogScale{}
	}
	q.X.Tick.Marker = plot.ConstantTicks(p.levelTicks(q, size, width-6*size))
	q.X.Label.Text, q.Y.Label.Text = p.axis.label, p.unit
	for _, a := range []*plot.Axis{&q.X, &q.Y} {
		a.Padding = 0
		a.Color, a.Tick.Color = ink(), ink()
		dress(&a.Label.TextStyle, size)
		dress(&a.Tick.Label, size*0.95)
		a.Label.Padding = 0.3 * size
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = faint()
	grid.Horizontal.Width = 0.8
	q.Add(grid)
	p.addData(q, size)
	return q
}

func dress(s *text.Style, size vg.Length) {
	f := face(size)
	s.Color, s.Font = f.Color, f.Font
}

func (p *Panel) addData(q *plot.Plot, size vg.Length) {
	shown := p.shown()
	if len(shown) == 0 && p.largest() == 0 {
		q.Add(note{p.nothing(), size})
	}
	if len(p.bars) > 0 {
		q.Add(&bars{panel: p, size: size})
	}
	if p.drawn() {
		q.Add(goalLine{p.goal.value})
	}
	for _, s := range shown {
		q.Add(&curve{axis: &p.axis, series: s})
	}
}

// nothing is what an empty panel says.
func (p *Panel) nothing() string {
	if len(p.bars) > 0 {
		return "no request failed"
	}
	return "no samples"
}

// levelTicks marks every level, and labels as many as there is room for.
func (p *Panel) levelTicks(q *plot.Plot, size, width vg.Length) []plot.Tick {
	label := face(size * 0.95)
	var ticks []plot.Tick
	free := vg.Length(math.Inf(-1))
	for _, l := range p.axis.levels {
		t := plot.Tick{Value: l.x}
		half := label.Width(l.label) / 2
		middle := vg.Length(q.X.Scale.Normalize(q.X.Min, q.X.Max, l.x)) * width
		if middle-half >= free {
			t.Label = l.label
			free = middle + half + 0.3*size
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// room is how high the panel must be: bars have two lines of text above them.
func (p *Panel) room() float64 {
	if len(p.bars) > 0 {
		return 1.15 * p.largest()
	}
	if p.drawn() {
		return max(p.largest(), p.goal.value)
	}
	return p.largest()
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
