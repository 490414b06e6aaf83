package show

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

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
	for i, n := range p.Charts {
		q, err := p.plot(n)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", n.Title, err)
		}
		q.Draw(tiles.At(c, i%tiles.Cols, i/tiles.Cols))
	}
	return nil
}

// plot is one panel: lines over the load, what they should stay below, and the load that a search ended on.
func (p *Picture) plot(n chart) (*plot.Plot, error) {
	q := plot.New()
	q.Title.Text, q.X.Label.Text = n.Title, fmt.Sprintf("load (%s)", p.Axis)
	q.Legend.Top, q.Legend.Left = true, true
	q.X.Min, q.Y.Min, q.Y.Max = 0, 0, 0
	q.Add(plotter.NewGrid())
	var named []any // names and points in turns
	for _, l := range n.Lines {
		var points plotter.XYs
		for i, v := range l.Values {
			if !math.IsNaN(v) {
				points = append(points, plotter.XY{X: p.X[i], Y: v})
			}
		}
		if len(points) > 0 {
			named = append(named, l.Name, points)
		}
	}
	if err := plotutil.AddLinePoints(q, named...); err != nil {
		return nil, err
	}
	q.Y.Max = cmp.Or(1.2*q.Y.Max, 1) // room for the legend
	for _, l := range n.Limits {     // one far above the data is only in the legend
		f := plotter.NewFunction(func(float64) float64 { return l.Value })
		f.Dashes = []vg.Length{8, 3, 2, 3}
		q.Add(f)
		q.Legend.Add(l.Name, f)
	}
	if n.Mark == nil {
		return q, nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: n.Mark.Value, Y: 0}, {X: n.Mark.Value, Y: q.Y.Max}})
	if err != nil {
		return nil, err
	}
	line.Color = color.Gray{Y: 0x80}
	q.Add(line)
	q.Legend.Add(n.Mark.Name, line)
	return q, nil
}
