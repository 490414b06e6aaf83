// Package fakesmi prints a model the way each vendor's tool would, in every
// layout its versions have had. It stands behind the fake tools of a demo, and
// is the other half of a property: what is printed must parse to the same model.
package fakesmi

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// notPrinted stands where the tool has no value.
const notPrinted = "NA"

// box draws a table of fixed cell widths. Content that is wider than its cell
// pushes the bar to the right, as the real tools let it.
type box struct {
	b      strings.Builder
	widths []int
}

func (x *box) line(format string, args ...any) {
	fmt.Fprintf(&x.b, format+"\n", args...)
}

// rule draws a separator; edge is the outer character, joint the inner one.
func (x *box) rule(edge, joint, last string, fill byte) {
	parts := make([]string, len(x.widths))
	for i, w := range x.widths {
		parts[i] = strings.Repeat(string(fill), w)
	}
	x.line("%s%s%s", edge, strings.Join(parts, joint), last)
}

func (x *box) row(cells ...string) {
	x.b.WriteByte('|')
	for i, c := range cells {
		fmt.Fprintf(&x.b, "%-*s|", x.widths[i], c)
	}
	x.b.WriteByte('\n')
}

func (x *box) flush(w io.Writer) error {
	_, err := io.WriteString(w, x.b.String())
	return err
}

// ends puts one text at the left and one at the right end of a cell.
func ends(width int, left, right string) string {
	gap := max(width-2-len(left)-len(right), 1)
	return " " + left + strings.Repeat(" ", gap) + right + " "
}

// number prints a value without a fraction, or what stands for none.
func number(v *float64, scale float64, unit string) string {
	if v == nil {
		return notPrinted
	}
	return strconv.FormatFloat(*v*scale, 'f', 0, 64) + unit
}

func tenths(v *float64, none string) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}

func text(s string) string {
	if s == "" {
		return notPrinted
	}
	return s
}

const mib = 1.0 / (1 << 20)

// memoryOf finds one type of memory of a card.
func memoryOf(d *model.Device, kind string) model.Memory {
	for _, m := range d.Memory {
		if m.Type == kind {
			return m
		}
	}
	return model.Memory{}
}

// Matrix prints a link matrix with its margins and affinities. Names come from
// label; links between cards that the model lacks print as none.
type Matrix struct {
	Header      string   // what the tool prints above the matrix, with its line ends
	CardPrefix  string   // GPU, NPU, Phy-ID
	NICs        []string // device names, printed as NIC0, NIC1, ... with a legend
	Width       int
	Node, CPUs  bool
	None, Self  string
	LegendLines string
}

// Print writes the matrix.
func (m Matrix) Print(w io.Writer, r model.Report) error {
	names := make([]string, 0, len(r.Devices)+len(m.NICs))
	for _, d := range r.Devices {
		names = append(names, d.ID)
	}
	var b strings.Builder
	b.WriteString(m.Header)
	fmt.Fprintf(&b, "%-*s", m.Width, "")
	for _, n := range names {
		fmt.Fprintf(&b, "%-*s", m.Width, m.CardPrefix+n)
	}
	for i := range m.NICs {
		fmt.Fprintf(&b, "%-*s", m.Width, "NIC"+strconv.Itoa(i))
	}
	if m.Node {
		fmt.Fprintf(&b, "%-15s", "Node Affinity")
	}
	if m.CPUs {
		b.WriteString("CPU Affinity")
	}
	b.WriteByte('\n')
	links := linkTypes(r.Links)
	for i := range r.Devices {
		m.row(&b, &r.Devices[i], names, links)
	}
	b.WriteString("\nLegend:\n" + m.LegendLines)
	if len(m.NICs) > 0 {
		b.WriteString("\nNIC Legend:\n\n")
		for i, nic := range m.NICs {
			fmt.Fprintf(&b, "  NIC%d: %s\n", i, nic)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func linkTypes(links []model.Link) map[[2]string]string {
	types := make(map[[2]string]string, len(links))
	for _, l := range links {
		types[[2]string{l.Device, l.Peer}] = l.Type
	}
	return types
}

func (m Matrix) row(b *strings.Builder, d *model.Device, names []string, links map[[2]string]string) {
	fmt.Fprintf(b, "%-*s", m.Width, m.CardPrefix+d.ID)
	for _, peer := range append(names[:len(names):len(names)], m.NICs...) {
		cell, ok := links[[2]string{d.ID, peer}]
		switch {
		case peer == d.ID:
			cell = m.Self
		case !ok:
			cell = m.None
		}
		fmt.Fprintf(b, "%-*s", m.Width, cell)
	}
	if m.Node {
		node := notPrinted
		if d.NUMANode != nil {
			node = strconv.Itoa(*d.NUMANode)
		}
		fmt.Fprintf(b, "%-15s", node)
	}
	if m.CPUs {
		b.WriteString(text(d.CPUAffinity))
	}
	b.WriteByte('\n')
}
