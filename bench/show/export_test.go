package show

import (
	"bytes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// SVG is what Picture draws, as text that a test can read.
func SVG(r *result.Report) ([]byte, error) {
	canvas := vgsvg.New(18*vg.Inch, 9*vg.Inch)
	if err := drawPicture(draw.New(canvas), r); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
