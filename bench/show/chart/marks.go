package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// addMarks adds the data, the objectives and the answer to a plot, and returns the legend.
func (p *Panel) addMarks(q *plot.Plot, size, width vg.Length) []entry {
	if p.bars != nil {
		p.addBars(q, size, width)
		return nil
	}
	var legend, goals []entry
	for _, o := range p.objectives {
		goals = append(goals, p.addObjectiveLine(q, o))
	}
	if p.answer > 0 {
		line := &plotter.Line{
			XYs:       plotter.XYs{{X: p.answer, Y: q.Y.Min}, {X: p.answer, Y: q.Y.Max}},
			LineStyle: draw.LineStyle{Color: ink(), Width: 1.1},
		}
		q.Add(line)
		goals = append(goals, entry{p.answerName, []plot.Thumbnailer{line}})
	}
	for n, s := range p.series {
		if !s.empty() {
			legend = append(legend, p.addSeries(q, n, s))
		}
	}
	if len(legend) > 0 {
		legend = append(legend, goals...)
	}
	return legend
}

// addObjectiveLine adds a line across the panel where the objective is on its scale.
func (p *Panel) addObjectiveLine(q *plot.Plot, o objective) entry {
	e := entry{name: o.name}
	if o.value > 0 {
		line := &plotter.Line{
			XYs:       plotter.XYs{{X: q.X.Min, Y: o.value}, {X: q.X.Max, Y: o.value}},
			LineStyle: draw.LineStyle{Color: ink(), Width: 1.1, Dashes: []vg.Length{8, 3, 1.5, 3}},
		}
		q.Add(line)
		e.marks = []plot.Thumbnailer{line}
	}
	return e
}

// unpadded keeps a plot from making room below its axis for marks near 0.
type unpadded struct{ plot.Plotter }

// addSeries adds the means of the levels, joined where neighbours have one and
// lie on one scale, and the repeats as rings.
func (p *Panel) addSeries(q *plot.Plot, n int, s series) entry {
	stroke, glyph := style(n)
	means := &plotter.Scatter{GlyphStyle: glyph}
	repeats := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: glyph.Color, Radius: 2.4, Shape: draw.RingGlyph{}}}
	line := &plotter.Line{LineStyle: stroke}
	for i, l := range p.axis.levels {
		v, ok := s.at(i)
		if !ok || !p.axis.numeric {
			line = &plotter.Line{LineStyle: stroke}
		}
		if !ok {
			continue
		}
		line.XYs = append(line.XYs, plotter.XY{X: l.x, Y: v})
		if len(line.XYs) == 2 {
			q.Add(line)
		}
		means.XYs = append(means.XYs, plotter.XY{X: l.x, Y: v})
		if len(s.values[i]) > 1 {
			for _, v := range s.values[i] {
				repeats.XYs = append(repeats.XYs, plotter.XY{X: l.x, Y: v})
			}
		}
	}
	q.Add(unpadded{repeats}, unpadded{means})
	return entry{s.name, []plot.Thumbnailer{line, means}}
}

// addBars adds one bar a level with its label above.
func (p *Panel) addBars(q *plot.Plot, size, width vg.Length) {
	fill, _ := style(1)
	label := face(size * 0.9)
	label.XAlign = draw.XCenter
	labels := &plotter.Labels{Offset: vg.Point{Y: 0.3 * size}, Labels: p.fitting(q, label, width, p.bars)}
	for i, l := range p.axis.levels {
		v, _ := p.series[0].at(i)
		q.Add(&plotter.BarChart{
			Values: plotter.Values{v}, XMin: l.x, Width: min(2.2*size, vg.Length(0.65*p.axis.closest())*width),
			Color: fill.Color, LineStyle: draw.LineStyle{Color: fill.Color},
		})
		labels.XYs = append(labels.XYs, plotter.XY{X: l.x, Y: v})
		labels.TextStyle = append(labels.TextStyle, label)
	}
	q.Add(labels)
}
