package show

import (
	"bytes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG is what WritePNG draws, as text that a test can read.
func (p *Picture) SVG() ([]byte, error) {
	canvas := vgsvg.New(18*vg.Inch, 9*vg.Inch)
	if err := p.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
