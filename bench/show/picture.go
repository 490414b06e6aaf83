package show

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// PictureName is evalscope-perf's name of the file that [Picture] writes.
const PictureName = "performance_metrics.png"

// Picture draws what evalscope-perf does, four panels over the load in 1800 × 900 pixels, as PNG. The same report gives
// the same bytes. No text from outside, such as the model's name, is drawn.
func Picture(w io.Writer, r *result.Report) error {
	canvas := vgimg.NewWith(vgimg.UseWH(18*vg.Inch, 9*vg.Inch), vgimg.UseDPI(100))
	const pad = vg.Length(14)
	tiles := draw.Tiles{Cols: 2, Rows: 2, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: 2 * pad, PadY: 2 * pad}
	all := overLoad(r)
	for i, n := range all.Charts[:tiles.Cols*tiles.Rows] {
		p := plot.New()
		p.Title.Text, p.X.Label.Text = n.Title, fmt.Sprintf("load (%s)", all.Axis)
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 0
		p.Add(plotter.NewGrid())
		var points plotter.XYs
		for k, v := range n.Lines[0].Values {
			if !math.IsNaN(v) {
				points = append(points, plotter.XY{X: all.X[k], Y: v})
			}
		}
		if len(points) > 0 {
			if err := plotutil.AddLinePoints(p, points); err != nil {
				return fmt.Errorf("drawing %s: %w", n.Title, err)
			}
		}
		p.Y.Max = cmp.Or(1.1*p.Y.Max, 1)
		p.Draw(tiles.At(draw.New(canvas), i%tiles.Cols, i/tiles.Cols))
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}
