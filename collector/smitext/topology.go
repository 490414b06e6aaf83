package smitext

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// matrixNames are the names in the margins of a matrix of links.
type matrixNames struct {
	cards *regexp.Regexp // such as GPU0: rows that are read
	peers *regexp.Regexp // such as NIC0: columns only
}

func (n matrixNames) match(s string) bool { return n.cards.MatchString(s) || n.peers.MatchString(s) }

var (
	linkType = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	cpuList  = regexp.MustCompile(`^[0-9,-]+$`)
	// escapes underline or colour names, also in a pipe; what cannot be printed may have been replaced.
	escapes = regexp.MustCompile(`[\x1b\x{FFFD}]\[[0-9;]*m`)
)

// Columns behind the links, as their words stand in the header.
const (
	nodeAffinity = "Node Affinity"
	cpuAffinity  = "CPU Affinity"
	numaAffinity = "NUMA Affinity" // NVIDIA's
	memoryNode   = "GPU NUMA ID"   // of the card's own memory
)

var affinityColumns = []string{nodeAffinity, cpuAffinity, numaAffinity, memoryNode}

// self is printed where a card's row meets its own column.
const self = "X"

// TopologyParser returns the parser of the matrix that a tool prints of how cards and NICs are connected, by patterns of
// their names, such as `GPU\d+` and `NIC\d+`.
// The report has Links and Affinities with names as printed, except that a NIC with a legend
// has its device's name. Nothing is mirrored: a cell is one link. Output without a matrix is
// failure.Parse.
func TopologyParser(cards, peers string) func(out []byte) (model.Report, error) {
	whole := func(name string) *regexp.Regexp { return regexp.MustCompile("^(?:" + name + ")$") }
	names := matrixNames{cards: whole(cards), peers: whole(peers)}
	return func(out []byte) (model.Report, error) { return parseTopology(out, names) }
}

func parseTopology(out []byte, names matrixNames) (model.Report, error) {
	m := matrix{names: names}
	legend := map[string]string{} // NIC0 → mlx5_0
	for line := range bytes.Lines(escapes.ReplaceAll(out, nil)) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) == 0:
		case m.isHeader(fields):
			if m.rows == 0 {
				m.setHeader(fields)
			}
		case m.header != nil && names.cards.MatchString(fields[0]):
			if m.rows++; !bytes.HasSuffix(line, []byte("\n")) {
				fields = fields[:1] // what the last field lacks is not known
			}
			m.readRow(fields[0], fields[1:])
		case len(fields) == 2 && strings.HasSuffix(fields[0], ":"):
			legend[strings.TrimSuffix(fields[0], ":")] = fields[1]
		}
	}
	if m.rows == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no link matrix in the output")
	}
	for i, l := range m.report.Links {
		if nic, ok := legend[l.Peer]; ok && names.peers.MatchString(l.Peer) {
			m.report.Links[i].Peer = nic
		}
	}
	return m.report, nil
}

type matrix struct {
	names   matrixNames
	header  []string
	links   int      // how many names begin the header
	columns []string // those behind them
	rows    int
	report  model.Report
}

// isHeader reports whether a line has names alone before the words of the affinities.
func (m *matrix) isHeader(fields []string) bool {
	return m.names.match(fields[0]) && !slices.ContainsFunc(fields, func(f string) bool {
		isWord := slices.ContainsFunc(affinityColumns, func(c string) bool { return slices.Contains(strings.Fields(c), f) })
		return !m.names.match(f) && !isWord
	})
}

// setHeader finds the columns behind the links, in their order.
func (m *matrix) setHeader(fields []string) {
	m.header, m.links, m.columns = fields, 0, nil
	for m.links < len(fields) && m.names.match(fields[m.links]) {
		m.links++
	}
	for rest := strings.Join(fields[m.links:], " "); rest != ""; {
		i := slices.IndexFunc(affinityColumns, func(c string) bool { return strings.HasPrefix(rest, c) })
		if i < 0 {
			break
		}
		m.columns = append(m.columns, affinityColumns[i])
		rest = strings.TrimSpace(rest[len(affinityColumns[i]):])
	}
}

// readRow reads a card's cells, one for each name in the header, then its affinities. Links
// are all there and in line with the header, or none is read; affinities are read only when
// none of them is missing, since which one is cannot be known.
func (m *matrix) readRow(name string, cells []string) {
	links, all := m.links, m.links+len(m.columns)
	if len(cells) < links || len(cells) > all {
		m.report.Warn("the row of %s is cut", name)
		return
	}
	for i, peer := range m.header[:links] {
		if !linkType.MatchString(cells[i]) || (peer == name) != (cells[i] == self) {
			m.report.Warn("the links of %s do not line up with the header: %.20q under %s", name, cells[i], peer)
			return
		}
	}
	for i, peer := range m.header[:links] {
		if peer != name {
			m.report.Links = append(m.report.Links, model.Link{Device: name, Peer: peer, Type: cells[i]})
		}
	}
	a := model.Affinity{Name: name}
	for i, column := range m.columns {
		if len(cells) == all && column != memoryNode && !Absent(cells[links+i]) {
			m.readAffinity(&a, column, cells[links+i])
		}
	}
	m.report.Affinities = append(m.report.Affinities, a)
}

// readAffinity reads a list of CPUs, or the number of a node; -1 and a list of several are none.
func (m *matrix) readAffinity(a *model.Affinity, column, cell string) {
	node, isNode := Index(cell)
	isList := cpuList.MatchString(cell)
	switch {
	case column == cpuAffinity && isList:
		a.CPUs = cell
	case column != cpuAffinity && isNode:
		a.NUMANode = &node
	case column == cpuAffinity, !isList:
		m.report.Warn("cannot read the %s of %s from %.40q", column, a.Name, cell)
	}
}
