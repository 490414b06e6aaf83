package placement

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
)

// The verdicts that name no node.
const (
	onNode       = "on the node of its cards"
	anywhere     = "may run anywhere"
	otherNode    = "bound to another node"
	otherMemory  = "memory on another node"
	someNodes    = "bound to some nodes, its own among them"
	unknownStart = "not known: "
)

// Verdict says where a process is in regard to its cards.
type Verdict struct {
	Text string
	// Placed is whether it is where it should be, nil where that cannot be told.
	Placed *bool
	// Remarks are what is to be known beside, a sentence each.
	Remarks []string
}

func placed(text string) Verdict    { return Verdict{Text: text, Placed: new(true)} }
func misplaced(text string) Verdict { return Verdict{Text: text, Placed: new(false)} }
func unknown(format string, args ...any) Verdict {
	return Verdict{Text: unknownStart + fmt.Sprintf(format, args...)}
}

// Judge says where a process is in regard to the cards that it holds.
func (m *Machine) Judge(p Process) Verdict {
	if m.oneNode() { // wherever it is, it is there
		return placed(onNode)
	}
	cards, problem := m.cardNodes(p)
	if problem != nil {
		return *problem
	}
	runs, problem := m.runsOn(p, cards)
	if problem != nil {
		return *problem
	}
	v := m.ofCPUs(runs, cards)
	if *v.Placed && !m.mayTakeMemory(p, cards) {
		v = misplaced(otherMemory)
	}
	v.Remarks = m.memoryElsewhere(p, cards)
	return v
}

// cardNodes are the nodes of the cards that a process holds, or why they are not known.
func (m *Machine) cardNodes(p Process) (set, *Verdict) {
	var nodes set
	for _, h := range p.Cards {
		number := m.card(h.CardID).Node
		if len(m.Nodes) == 0 {
			v := unknown("the page has no NUMA nodes (is the exporter's collector numa off?)")
			return nil, &v
		}
		if number == nil {
			v := unknown("the node of card %s is not known", words.Clean(h.String()))
			return nil, &v
		}
		node := m.node(*number)
		if node == nil {
			v := unknown("card %s is on node %d, which the page does not have", words.Clean(h.String()), *number)
			return nil, &v
		}
		if node.Count == 0 {
			v := unknown("node %d of its cards has no CPUs", *number)
			return nil, &v
		}
		nodes = append(nodes, *number)
	}
	return newSet(nodes...), nil
}

// reach is what is known of the nodes that a process may run on.
type reach struct {
	// nodes are these, nil where some of them cannot be named.
	nodes set
	// own is the share of its CPUs that are on the nodes of its cards, 0 to 1, and all
	// whether it may run on every CPU of the machine.
	own float64
	all bool
}

// runsOn is where a process may run: by its list of CPUs where the page has all that
// it takes, else by the shares.
func (m *Machine) runsOn(p Process, cards set) (reach, *Verdict) {
	if nodes, ok := m.nodesOf(p.CPUs); ok {
		own := 0.0
		if nodes.within(cards) {
			own = 1
		} else if nodes.meets(cards) {
			own = 0.5
		}
		return reach{nodes: nodes, own: own}, nil
	}
	shares := map[int]float64{}
	for _, h := range p.Cards {
		if h.CPUs == nil {
			if !m.measured {
				v := unknown("the exporter does not tell where processes may run: a newer one does")
				return reach{}, &v
			}
			v := unknown("the exporter could not read where it may run")
			return reach{}, &v
		}
		shares[*m.card(h.CardID).Node] = *h.CPUs
	}
	r := m.byShares(shares, cards)
	if r.own > 1 {
		v := unknown("the shares of its CPUs add up to more than all")
		return reach{}, &v
	}
	return r, nil
}

// nodesOf are the nodes that a list of CPUs is on. Without a list for each node that
// has CPUs they are not known.
func (m *Machine) nodesOf(list string) (set, bool) {
	cpus, err := parseSet(list)
	if err != nil || len(cpus) == 0 {
		return nil, false
	}
	if slices.ContainsFunc(m.Nodes, func(n Node) bool { return n.CPUs == nil && n.Count != 0 }) {
		return nil, false
	}
	var on [maxNodes + 1]bool
	for _, cpu := range cpus {
		on[m.nodeOf[cpu]] = true
	}
	on[0] = false // what is offline is on none
	nodes := m.nodesThat(func(n Node) bool { return on[n.Number+1] })
	return nodes, len(nodes) > 0
}

// byShares is what the shares of a process's CPUs on the nodes of its cards say alone.
func (m *Machine) byShares(shares map[int]float64, cards set) reach {
	var r reach
	var inside, outside set
	here, total, counted := 0, 0, true
	for _, n := range m.Nodes {
		counted = counted && n.Count >= 0
		total += max(0, n.Count)
		switch {
		case cards.has(n.Number):
			r.own += shares[n.Number]
			here += max(0, n.Count)
			if shares[n.Number] > 0 {
				inside = append(inside, n.Number)
			}
		case n.Count != 0:
			outside = append(outside, n.Number)
		}
	}
	switch {
	case near(r.own, 1):
		r.own, r.nodes = 1, inside
	case len(outside) == 1: // what is not inside is there
		r.nodes = newSet(append(inside, outside...)...)
	}
	r.all = counted && here > 0 && r.own > 0 && near(r.own, float64(here)/float64(total))
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// ofCPUs is the verdict on where a process may run.
func (m *Machine) ofCPUs(r reach, cards set) Verdict {
	switch {
	case r.own == 1 && len(cards) > 1:
		return placed("cards span " + cards.words())
	case r.own == 1:
		return placed(onNode)
	case r.own == 0:
		return misplaced(otherNode)
	case r.all, r.nodes != nil && m.withCPUs().within(r.nodes):
		return misplaced(anywhere)
	case r.nodes == nil:
		return misplaced(someNodes)
	}
	return misplaced("bound to " + r.nodes.words() + ", cards on " + cards.words())
}

// mayTakeMemory reports whether a process may take memory on the node of one of its
// cards; of what is not known nothing is held against it.
func (m *Machine) mayTakeMemory(p Process, cards set) bool {
	if mems, err := parseSet(p.Mems); err == nil && len(mems) > 0 {
		return mems.meets(cards) || !m.haveMemory(cards)
	}
	return slices.ContainsFunc(p.Cards, func(h Held) bool { return h.Memory == nil || *h.Memory }) || !m.haveMemory(cards)
}

// haveMemory reports whether one of the nodes has memory. Only some machines have nodes
// without.
func (m *Machine) haveMemory(nodes set) bool { return nodes.meets(m.withMemory()) }

// memoryElsewhere says how much of a process's memory lies on other nodes than its
// cards', where that is most of it.
func (m *Machine) memoryElsewhere(p Process, cards set) []string {
	here, all := 0.0, 0.0
	for node, bytes := range p.Bytes {
		all += bytes
		if cards.has(node) {
			here += bytes
		}
	}
	if all == 0 || here >= all/2 {
		return nil
	}
	return []string{fmt.Sprintf("%s of its memory lies on other nodes than %s", words.Percent(1-here/all), cards.words())}
}

// card is a card of the machine, without a node where it is not among them.
func (m *Machine) card(id CardID) Card {
	if c, known := m.cards[id]; known {
		return c
	}
	return Card{CardID: id}
}

func (m *Machine) node(number int) *Node {
	at, found := slices.BinarySearchFunc(m.Nodes, number, func(n Node, number int) int { return n.Number - number })
	if !found {
		return nil
	}
	return &m.Nodes[at]
}

// oneNode reports whether there is one place only to run and to take memory from. Some
// machines have further nodes with nothing on them but cards.
func (m *Machine) oneNode() bool {
	return len(m.Nodes) == 1 || len(m.withCPUs()) == 1 && len(m.withMemory()) < 2
}

// withCPUs are the nodes that have CPUs, or may have.
func (m *Machine) withCPUs() set {
	return m.nodesThat(func(n Node) bool { return n.Count != 0 })
}

// withMemory are the nodes that are known to have memory.
func (m *Machine) withMemory() set {
	return m.nodesThat(func(n Node) bool { return n.Total != nil && *n.Total > 0 })
}

func (m *Machine) nodesThat(are func(Node) bool) set {
	var nodes set
	for _, n := range m.Nodes {
		if are(n) {
			nodes = append(nodes, n.Number)
		}
	}
	return nodes
}
