// Package topology reads the square matrices that vendor tools print of how
// cards and NICs are connected.
package topology

import (
	"bytes"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Names are the prefixes of the names in a matrix's margins: cards such as GPU0
// have rows that are read, others such as NIC0 are only peers.
type Names struct {
	Cards, Others []string
}

// self is printed where a card's row meets its own column.
const self = "X"

type parser struct {
	names   Names
	columns []string // names of the header, in order
	node    bool     // the header has "Node Affinity"
	cpus    bool     // the header has "CPU Affinity"
	report  model.Report
	legend  map[string]string // NIC0 → mlx5_0
}

// Parse reads a matrix. The result has Links and Affinities with names as
// printed, except that a NIC with a legend has its device's name. Nothing is
// mirrored: a cell is one link. Output without a matrix is failure.Parse.
func Parse(out []byte, names Names) (model.Report, error) {
	p := &parser{names: names, legend: map[string]string{}}
	rows := 0
	for raw := range bytes.Lines(out) {
		whole := raw[len(raw)-1] == '\n'
		fields := strings.Fields(string(raw))
		switch {
		case len(fields) == 0:
		case p.isHeader(fields):
			if rows == 0 {
				p.header(fields)
			}
		case p.columns != nil && p.isCard(fields[0]):
			rows++
			p.row(fields, whole)
		default:
			p.legendLine(fields)
		}
	}
	if p.columns == nil || rows == 0 {
		return model.Report{}, failure.New(failure.Parse, "no link matrix in the output")
	}
	for i, l := range p.report.Links {
		if nic, ok := p.legend[l.Peer]; ok {
			p.report.Links[i].Peer = nic
		}
	}
	return p.report, nil
}

// isHeader reports whether a line has names alone: one name more than once, or several
// names, before the affinity columns.
func (p *parser) isHeader(fields []string) bool {
	if !p.isName(fields[0]) {
		return false
	}
	for _, f := range fields {
		if !p.isName(f) && f != "Node" && f != "CPU" && f != "NUMA" && f != "Affinity" {
			return false
		}
	}
	return true
}

func (p *parser) header(fields []string) {
	p.columns, p.node, p.cpus = nil, false, false
	for i, f := range fields {
		switch {
		case p.isName(f):
			p.columns = append(p.columns, f)
		case f == "Affinity" && fields[i-1] == "CPU":
			p.cpus = true
		case f == "Affinity":
			p.node = true
		}
	}
}

func (p *parser) isCard(s string) bool { return numbered(s, p.names.Cards) }

func (p *parser) isName(s string) bool { return p.isCard(s) || numbered(s, p.names.Others) }

func numbered(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		number, ok := strings.CutPrefix(s, prefix)
		_, isIndex := printed.Index(number)
		return ok && isIndex
	})
}

// row reads a card's cells, one for each header name, and its affinities. Link
// cells come first and are all there or the row is refused; affinities are read
// only when none of them is missing, since which one is cannot be known.
func (p *parser) row(fields []string, whole bool) {
	name, cells, links := fields[0], fields[1:], len(p.columns)
	want := links
	if p.node {
		want++
	}
	if p.cpus {
		cells = joinList(cells, want)
		want++
	}
	if len(cells) < links || len(cells) > want || !whole {
		p.report.Warn("the row of %s is cut", name)
		return
	}
	for i, peer := range p.columns {
		if peer == name && cells[i] != self || cells[i][0] <= '9' {
			p.report.Warn("the links of %s do not line up with the header", name)
			return
		}
	}
	for i, peer := range p.columns {
		if peer != name {
			p.link(name, peer, cells[i])
		}
	}
	a := model.Affinity{Name: name}
	if p.cpus && len(cells) == want {
		a.CPUs = p.cpuList(name, cells[want-1])
	}
	if p.node && len(cells) == want {
		a.NUMANode = p.numaNode(name, cells[links])
	}
	p.report.Affinities = append(p.report.Affinities, a)
}

// joinList puts a CPU list that was printed with blanks after its commas together
// again: it is the last cell.
func joinList(cells []string, at int) []string {
	last := at
	for last+1 < len(cells) && strings.HasSuffix(cells[last], ",") {
		last++
	}
	if last == at {
		return cells
	}
	joined := append(cells[:at:at], strings.Join(cells[at:last+1], ""))
	return append(joined, cells[last+1:]...)
}

func (p *parser) link(name, peer, kind string) {
	switch {
	case strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "":
		p.report.Warn("cannot read the link of %s to %s from %.20q", name, peer, kind)
	case kind == self:
		p.report.Warn("the link of %s to %s is printed as its own", name, peer)
	default:
		p.report.Links = append(p.report.Links, model.Link{Device: name, Peer: peer, Type: kind})
	}
}

func (p *parser) cpuList(name, s string) string {
	if printed.Absent(s) {
		return ""
	}
	if strings.Trim(s, "0123456789,-") != "" {
		p.report.Warn("cannot read the CPU affinity of %s from %.40q", name, s)
		return ""
	}
	return s
}

func (p *parser) numaNode(name, s string) *int {
	if printed.Absent(s) || s == "-1" {
		return nil
	}
	n, ok := printed.Index(s)
	if !ok {
		p.report.Warn("cannot read the node affinity of %s from %.40q", name, s)
		return nil
	}
	return &n
}

// legendLine reads "NIC0: mlx5_0".
func (p *parser) legendLine(fields []string) {
	name, ok := strings.CutSuffix(fields[0], ":")
	if ok && len(fields) == 2 && numbered(name, p.names.Others) {
		p.legend[name] = fields[1]
	}
}
