package chart

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of one panel, in points, and of its text.
const (
	svgWidth  = vg.Length(380)
	svgHeight = vg.Length(235)
	svgFont   = vg.Length(9)
)

// WriteSVG draws the panel as an svg element that can stand in an HTML page or
// be a file of its own. It has no size but its proportions, text and axes take
// the colour of the text around it, and the ground is clear.
func (p *Panel) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(svgWidth, svgHeight)
	p.draw(draw.New(canvas), svgFont)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("drawing chart: %w", err)
	}
	_, drawing, ok := bytes.Cut(b.Bytes(), []byte("xmlns:xlink"))
	if ok {
		_, drawing, ok = bytes.Cut(drawing, []byte(">"))
	}
	if !ok {
		return errors.New("drawing chart: no svg element")
	}
	for _, r := range [][2]string{
		{"stroke:#333333", "stroke:currentColor"},
		{"fill:#333333", "fill:currentColor"},
		{"stroke:#DDDDDD", "stroke:currentColor;stroke-opacity:0.18"},
		// Arial has the same widths, for readers without Liberation.
		{"font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif"},
	} {
		drawing = bytes.ReplaceAll(drawing, []byte(r[0]), []byte(r[1]))
	}
	text := html.EscapeString(p.description())
	if _, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">%s`,
		float64(svgWidth), float64(svgHeight), text, drawing); err != nil {
		return fmt.Errorf("writing chart: %w", err)
	}
	return nil
}
