package placement

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
)

// clean is a text from outside, fit for a terminal's line.
func clean(text string) string { return words.Clean(text) }

// Text writes the result for a terminal.
func (r *Result) Text(w io.Writer) error {
	var b strings.Builder
	r.Machine.hardware(&b)
	r.Machine.cardsByNode(&b)
	r.processes(&b)
	r.Advice.text(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// hardware writes the nodes as numactl --hardware does.
func (m *Machine) hardware(b *strings.Builder) {
	if len(m.Nodes) == 0 {
		fmt.Fprintln(b, "available: no NUMA nodes on the exporter's page")
		return
	}
	numbers := m.nodesThat(func(Node) bool { return true })
	fmt.Fprintf(b, "available: %d nodes (%s)\n", len(m.Nodes), numbers)
	for _, n := range m.Nodes {
		switch {
		case n.CPUs == nil && n.Count > 0:
			fmt.Fprintf(b, "node %d cpus: %d, which ones is not known\n", n.Number, n.Count)
		case n.CPUs == nil && n.Count < 0:
			fmt.Fprintf(b, "node %d cpus: not known\n", n.Number)
		default:
			fmt.Fprintln(b, strings.TrimSpace(fmt.Sprintf("node %d cpus: %s", n.Number, n.CPUs.blank())))
		}
		fmt.Fprintf(b, "node %d size: %s\n", n.Number, inMB(n.Total))
		fmt.Fprintf(b, "node %d free: %s\n", n.Number, inMB(n.Free))
	}
	fmt.Fprint(b, "node distances:\nnode")
	for _, n := range m.Nodes {
		fmt.Fprintf(b, " %3d", n.Number)
	}
	fmt.Fprintln(b)
	for _, n := range m.Nodes {
		fmt.Fprintf(b, "%3d:", n.Number)
		for _, peer := range m.Nodes {
			text := "-"
			if d, known := n.Distances[peer.Number]; known {
				text = strconv.FormatFloat(d, 'f', -1, 64)
			}
			fmt.Fprintf(b, " %3s", text)
		}
		fmt.Fprintln(b)
	}
}

func inMB(bytes *float64) string {
	if bytes == nil {
		return "-"
	}
	return megabytes(*bytes) + " MB"
}

// megabytes are those of numactl: of 2^20 bytes, rounded down.
func megabytes(bytes float64) string {
	return strconv.FormatFloat(math.Floor(bytes/(1<<20)), 'f', 0, 64)
}

// cardsByNode writes the cards of each node and how they are connected.
func (m *Machine) cardsByNode(b *strings.Builder) {
	fmt.Fprintln(b, "\ncards:")
	if len(m.Cards) == 0 {
		fmt.Fprintln(b, "  none on the exporter's page")
		return
	}
	places := set{}
	for _, c := range m.Cards {
		places = append(places, place(c))
	}
	for _, at := range newSet(places...) {
		title := fmt.Sprintf("node %d", at)
		if at == nowhere {
			title = "node not known"
		}
		var here []CardID
		for _, c := range m.Cards {
			if place(c) == at {
				here = append(here, c.CardID)
			}
		}
		fmt.Fprintf(b, "  %s: %s\n", title, cardList(here))
		for _, line := range m.linksFrom(here) {
			fmt.Fprintf(b, "    %s\n", line)
		}
	}
}

// nowhere stands for the node of a card that is not known.
const nowhere = math.MaxInt

func place(c Card) int {
	if c.Node == nil {
		return nowhere
	}
	return *c.Node
}

// cardList is cards by vendor, such as metax 0 1 2 3, ascend 0.
func cardList(cards []CardID) string {
	var b strings.Builder
	for i, c := range cards {
		switch {
		case i > 0 && cards[i-1].Vendor == c.Vendor:
			b.WriteString(" " + clean(c.Device))
		case i > 0:
			b.WriteString(", " + clean(c.String()))
		default:
			b.WriteString(clean(c.String()))
		}
	}
	return b.String()
}

// linksFrom says by which links some cards reach each other, the cards of other nodes
// and adapters, a line for each of these and each kind of link. A pair of cards counts
// once.
func (m *Machine) linksFrom(cards []CardID) []string {
	type group struct{ rank, to, kind string }
	type pair struct {
		group
		a, b CardID
	}
	count, counted := map[group]int{}, map[pair]bool{}
	for _, l := range m.Links {
		if !slices.Contains(cards, l.Card) {
			continue
		}
		g := group{"3", "to " + clean(l.Peer), clean(l.Kind)}
		if peer, isCard := m.cards[CardID{l.Card.Vendor, l.Peer}]; isCard {
			switch at := place(peer); {
			case slices.Contains(cards, peer.CardID):
				g.rank, g.to = "1", "among each other"
			case at == nowhere:
				g.rank, g.to = "2", "to cards of a node not known"
			default:
				g.rank, g.to = "2", fmt.Sprintf("to cards of node %d", at)
			}
		}
		ends := pair{g, l.Card, CardID{l.Card.Vendor, l.Peer}}
		if compareCards(ends.a, ends.b) > 0 {
			ends.a, ends.b = ends.b, ends.a
		}
		if !counted[ends] {
			counted[ends] = true
			count[g]++
		}
	}
	groups := make([]group, 0, len(count))
	for g := range count {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return strings.Compare(a.rank+a.to+"\x00"+a.kind, b.rank+b.to+"\x00"+b.kind)
	})
	var lines []string
	for _, g := range groups {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", g.to, g.kind, words.Counted(count[g], "link")))
	}
	return lines
}

// processes writes a line for each process that holds a card.
func (r *Result) processes(b *strings.Builder) {
	fmt.Fprintln(b, "\nprocesses:")
	if len(r.Machine.Processes) == 0 {
		fmt.Fprintln(b, "  none holds a card, or the exporter does not list them (--no-collector.processes)")
	}
	for i, p := range r.Machine.Processes {
		var cards []CardID
		for _, h := range p.Cards {
			cards = append(cards, h.CardID)
		}
		name := ""
		if p.Name != "" {
			name = " " + clean(p.Name)
		}
		fmt.Fprintf(b, "  %d%s, %s: %s\n", p.PID, name, cardList(cards), r.Verdicts[i].Text)
		for _, remark := range r.Verdicts[i].Remarks {
			fmt.Fprintf(b, "    %s\n", remark)
		}
	}
}

func (a Advice) text(b *strings.Builder) {
	fmt.Fprintln(b, "\nbinding:")
	for _, remark := range a.Remarks {
		fmt.Fprintf(b, "  %s\n", remark)
	}
	if a.Binding == nil {
		return
	}
	fmt.Fprintf(b, "  numactl:    %s\n", a.Binding.Numactl)
	fmt.Fprintf(b, "  systemd:    %s\n", strings.ReplaceAll(strings.TrimSpace(a.Binding.Systemd), "\n", "\n              "))
	if a.Binding.Docker == "" {
		fmt.Fprintln(b, "  docker:     the CPUs of the node are not on the page: docker run --cpuset-cpus=… takes them")
	} else {
		fmt.Fprintf(b, "  docker:     %s\n", a.Binding.Docker)
	}
	fmt.Fprintf(b, "  kubernetes: %s\n", a.Binding.Kubernetes)
}
