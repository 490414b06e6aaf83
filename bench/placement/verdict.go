package placement

import "fmt"

// The verdicts that name no node.
const (
	onNode      = "on the node of its cards"
	anywhere    = "may run anywhere"
	otherNode   = "bound to another node"
	otherMemory = "memory on another node"
	notKnown    = "not known: "
)

// judge says where a process is in regard to the cards that it holds.
func (m *Machine) judge(p *Process) Verdict {
	if m.oneNode() { // wherever it is, it is there
		return Verdict{Text: onNode, Placed: new(true)}
	}
	cards, err := m.nodesOfCards(p.cards)
	var runs []int // nodes that it may run on
	for _, n := range m.Nodes {
		if overlap(p.cpus, n.CPUs) {
			runs = append(runs, n.Number)
		}
	}
	switch {
	case p.cpus == nil:
		return Verdict{Text: notKnown + "the page does not say where it may run (can the exporter read its status?)"}
	case err != nil:
		return Verdict{Text: notKnown + err.Error()}
	case !overlap(runs, cards):
		return Verdict{Text: otherNode, Placed: new(false)}
	case contains(cards, runs) && len(p.mems) > 0 && !overlap(p.mems, cards):
		return Verdict{Text: otherMemory, Placed: new(false)}
	case contains(cards, runs) && len(cards) > 1:
		return Verdict{Text: "cards span " + nodeNames(cards), Placed: new(true)}
	case contains(cards, runs):
		return Verdict{Text: onNode, Placed: new(true)}
	case contains(runs, m.places()):
		return Verdict{Text: anywhere, Placed: new(false)}
	}
	return Verdict{Text: fmt.Sprintf("bound to %s, cards on %s", nodeNames(runs), nodeNames(cards)), Placed: new(false)}
}
