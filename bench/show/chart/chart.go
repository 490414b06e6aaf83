// Package chart draws reports: figures over the level of load.
//
// Nothing that comes from outside, such as the model's name, is drawn.
package chart

import (
	"fmt"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size of a picture of four panels: 1800 × 900 pixels.
const (
	pngWidth  = 18 * vg.Inch
	pngHeight = 9 * vg.Inch
	pngDPI    = 100
	pngFont   = vg.Length(13)
)

// Chart is a picture of four panels.
type Chart struct {
	Panels []*Panel // of the first row, then of the second
}

// WritePNG draws the panels in two rows, 1800 × 900 pixels. The same report
// gives the same bytes.
func (c *Chart) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(pngWidth, pngHeight), vgimg.UseDPI(pngDPI))
	const pad = vg.Length(14)
	tiles := draw.Tiles{
		Cols: 2, Rows: 2,
		PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: 2 * pad, PadY: 2 * pad,
	}
	whole := draw.New(canvas)
	for i, p := range c.Panels {
		p.draw(tiles.At(whole, i%tiles.Cols, i/tiles.Cols), pngFont)
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("writing chart: %w", err)
	}
	return nil
}
