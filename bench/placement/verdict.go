package placement

import (
	"fmt"
	"slices"
)

// The verdicts that name no node.
const (
	onNode       = "on the node of its cards"
	anywhere     = "may run anywhere"
	otherNode    = "bound to another node"
	otherMemory  = "memory on another node"
	unknownStart = "not known: "
)

func unknown(format string, args ...any) Verdict {
	return Verdict{Text: unknownStart + fmt.Sprintf(format, args...)}
}

// judge says where a process is in regard to the cards that it holds.
func (m *Machine) judge(p Process) Verdict {
	if m.oneNode() { // wherever it is, it is there
		return Verdict{Text: onNode, Placed: new(true)}
	}
	cards, problem := m.cardNodes(p)
	if problem != nil {
		return *problem
	}
	runs := m.nodesOf(p.cpus)
	if runs == nil {
		return unknown("the page does not say where it may run (can the exporter read its status?)")
	}
	v := m.judgeNodes(runs, cards)
	if *v.Placed && len(p.mems) > 0 && overlap(cards, m.nodesWithMemory()) && !overlap(p.mems, cards) {
		return Verdict{Text: otherMemory, Placed: new(false)}
	}
	return v
}

// cardNodes are the nodes of the cards that a process holds, or why they are not known.
func (m *Machine) cardNodes(p Process) ([]int, *Verdict) {
	var problem Verdict
	var nodes []int
	for _, c := range p.cards {
		switch {
		case len(m.Nodes) == 0:
			problem = unknown("the page has no NUMA nodes (is the exporter's collector numa off?)")
		case c.Node == nil:
			problem = unknown("the node of card %s is not known", c)
		case !slices.Contains(m.nodesWithCPUs(), *c.Node):
			problem = unknown("node %d of its cards has no CPUs", *c.Node)
		default:
			nodes = append(nodes, *c.Node)
			continue
		}
		return nil, &problem
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// nodesOf are the nodes that CPUs are on, nil where the page does not list the CPUs of
// each node.
func (m *Machine) nodesOf(cpus []int) []int {
	var nodes []int
	for _, n := range m.Nodes {
		if n.CPUs == nil {
			return nil
		}
		if overlap(cpus, n.CPUs) {
			nodes = append(nodes, n.Number)
		}
	}
	return nodes
}

// judgeNodes is the verdict on a process that may run on some nodes, by its cards' nodes.
func (m *Machine) judgeNodes(runs, cards []int) Verdict {
	switch {
	case contains(cards, runs) && len(cards) > 1:
		return Verdict{Text: "cards span " + nodeNames(cards), Placed: new(true)}
	case contains(cards, runs):
		return Verdict{Text: onNode, Placed: new(true)}
	case !overlap(runs, cards):
		return Verdict{Text: otherNode, Placed: new(false)}
	case contains(runs, m.nodesWithCPUs()):
		return Verdict{Text: anywhere, Placed: new(false)}
	}
	return Verdict{Text: fmt.Sprintf("bound to %s, cards on %s", nodeNames(runs), nodeNames(cards)), Placed: new(false)}
}
