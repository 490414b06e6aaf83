// Package fakesmi prints a model the way each vendor's tool would, in every
// layout its versions have had. It stands behind the fake tools of a demo, and
// is the other half of a property: what is printed must parse to the same model.
package fakesmi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// begin starts a part of cells of these widths.
func (x *box) begin(widths ...int) {
	x.widths = widths
	x.rule("+", "+", "+", '-')
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

// whole prints a reading times scale without a fraction, or what stands for none.
func whole(rs model.Readings, scale float64, unit string, m model.Metric, labels ...string) string {
	v, ok := rs.Get(m, labels...)
	if !ok {
		return notPrinted
	}
	return strconv.FormatFloat(v*scale, 'f', 0, 64) + unit
}

// keep returns the readings of some metrics.
func keep(rs model.Readings, metrics ...model.Metric) model.Readings {
	var kept model.Readings
	for _, r := range rs {
		if slices.Contains(metrics, r.Metric) {
			kept = append(kept, r)
		}
	}
	return kept
}

const mib = 1.0 / (1 << 20)

// layoutNamed finds one of a tool's layouts.
func layoutNamed[L any](tool string, layouts []L, name string, nameOf func(L) string) (L, error) {
	var names []string
	for _, l := range layouts {
		if nameOf(l) == name {
			return l, nil
		}
		names = append(names, nameOf(l))
	}
	var none L
	return none, fmt.Errorf("no layout %q of %s; there are %s", name, tool, strings.Join(names, ", "))
}

// matrix prints how cards are connected, with their affinities. Links that the model
// lacks print as none.
type matrix struct {
	cardPrefix string   // GPU, NPU, Phy-ID
	nics       []string // device names, printed as NIC0, NIC1, ... with a legend
	width      int
	node       bool // whether Node Affinity is printed
	legend     string
}

// print adds the matrix to x.
func (m matrix) print(x *box, r model.Report) {
	var peers []string
	for _, d := range r.Devices {
		peers = append(peers, d.ID)
	}
	peers = append(peers, m.nics...)
	types := make(map[[2]string]string, len(r.Links))
	for _, l := range r.Links {
		types[[2]string{l.Device, l.Peer}] = l.Type
	}
	b := &x.b
	fmt.Fprintf(b, "%-*s", m.width, "")
	for i, peer := range peers {
		name := m.cardPrefix + peer
		if nic := i - len(r.Devices); nic >= 0 {
			name = "NIC" + strconv.Itoa(nic)
		}
		fmt.Fprintf(b, "%-*s", m.width, name)
	}
	if m.node {
		fmt.Fprintf(b, "%-15s", "Node Affinity")
	}
	b.WriteString("CPU Affinity\n")
	for i := range r.Devices {
		d := &r.Devices[i]
		fmt.Fprintf(b, "%-*s", m.width, m.cardPrefix+d.ID)
		for _, peer := range peers {
			cell := cmp.Or(types[[2]string{d.ID, peer}], notPrinted)
			if peer == d.ID {
				cell = "X"
			}
			fmt.Fprintf(b, "%-*s", m.width, cell)
		}
		if m.node {
			node := notPrinted
			if d.NUMANode != nil {
				node = strconv.Itoa(*d.NUMANode)
			}
			fmt.Fprintf(b, "%-15s", node)
		}
		b.WriteString(cmp.Or(d.CPUAffinity, notPrinted) + "\n")
	}
	b.WriteString("\nLegend:\n" + m.legend)
	if len(m.nics) > 0 {
		b.WriteString("\nNIC Legend:\n\n")
		for i, nic := range m.nics {
			fmt.Fprintf(b, "  NIC%d: %s\n", i, nic)
		}
	}
}
