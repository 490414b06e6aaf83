package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve draws one series: the mean of each level, joined where neighbours have
// one and lie on one scale, and the repeats as faint points.
type curve struct {
	axis   *loadAxis
	series series
}

func (k *curve) Plot(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	stroke, glyph := style(k.series.nth)
	var run, means []vg.Point
	flush := func() {
		if len(run) > 1 {
			c.StrokeLines(stroke, run)
		}
		run = nil
	}
	for i, l := range k.axis.levels {
		v, ok := k.series.at(i)
		if !ok {
			flush()
			continue
		}
		if !k.axis.numeric {
			flush()
		}
		p := vg.Point{X: x(l.x), Y: y(v)}
		run, means = append(run, p), append(means, p)
		if len(k.series.values[i]) > 1 {
			k.drawRepeats(c, glyph, p.X, k.series.values[i], y)
		}
	}
	flush()
	for _, p := range means {
		c.DrawGlyph(glyph, p)
	}
}

func (k *curve) drawRepeats(c draw.Canvas, mean draw.GlyphStyle, x vg.Length, values []float64, y func(float64) vg.Length) {
	ring := draw.GlyphStyle{Color: mean.Color, Radius: 2.4, Shape: draw.RingGlyph{}}
	for _, v := range values {
		c.DrawGlyph(ring, vg.Point{X: x, Y: y(v)})
	}
}

// bars draws one bar a level with its number and its share above.
type bars struct {
	panel *Panel
	size  vg.Length
}

func (b *bars) Plot(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	levels := b.panel.axis.levels
	half := 1.1 * b.size
	for i := range levels[1:] {
		half = min(half, 0.35*(x(levels[i+1].x)-x(levels[i].x)))
	}
	fill, _ := style(1)
	label := face(b.size * 0.9)
	label.XAlign = draw.XCenter
	free := vg.Length(math.Inf(-1))
	for i, v := range b.panel.bars {
		at, top := x(levels[i].x), y(v.height)
		c.FillPolygon(fill.Color, []vg.Point{
			{X: at - half, Y: y(0)},
			{X: at - half, Y: top},
			{X: at + half, Y: top},
			{X: at + half, Y: y(0)},
		})
		lines := v.label()
		room := vg.Length(0)
		for _, l := range lines {
			room = max(room, label.Width(l)/2)
		}
		if v.height == 0 || at-room < free {
			continue
		}
		free = at + room + 0.3*b.size
		for j, l := range lines {
			c.FillText(label, vg.Point{X: at, Y: top + b.size*(0.3+1.1*vg.Length(len(lines)-1-j))}, l)
		}
	}
}

func (v bar) label() []string {
	return []string{
		strconv.FormatFloat(v.height, 'g', 6, 64),
		strconv.FormatFloat(100*v.share, 'g', 3, 64) + " %",
	}
}

// goalLine draws an objective across the panel.
type goalLine struct{ value float64 }

func (g goalLine) Plot(c draw.Canvas, q *plot.Plot) {
	_, y := q.Transforms(&c)
	c.StrokeLine2(goalStyle(), c.Min.X, y(g.value), c.Max.X, y(g.value))
}

// note writes one line into the middle of an empty panel.
type note struct {
	text string
	size vg.Length
}

func (n note) Plot(c draw.Canvas, _ *plot.Plot) {
	s := face(n.size)
	s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
	c.FillText(s, c.Center(), n.text)
}
