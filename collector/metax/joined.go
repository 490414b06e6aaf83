package metax

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// cardOrder remembers where, in the order of the cards, something visibly went missing.
type cardOrder struct {
	whole  []bool // by card: nothing is left out between it and the one before
	breaks int    // places where something is left out
	open   bool   // something is left out since the last card
}

// broken notes that something is left out here.
func (o *cardOrder) broken() {
	if !o.open {
		o.breaks++
	}
	o.open = true
}

func (o *cardOrder) add() {
	o.whole = append(o.whole, !o.open)
	o.open = false
}

// dropUnclosed leaves out the last card where no rule is behind it, in a table that
// has had them at such places: its second row may be another card's, or a row of
// the next box.
func (p *tableParser) dropUnclosed(where boxtable.Place) {
	last := len(p.report.Devices) - 1
	if p.rules.Lost(where) {
		p.report.Warn("card %s is left out: the rule after it is lost", p.report.Devices[last].ID)
		p.report.Devices, p.order.whole = p.report.Devices[:last], p.order.whole[:last]
		p.order.broken()
	}
}

// dropJoined leaves out the card before a hole that took whole lines: its rows may be
// those of two cards. There is one where fewer cards are printed than the tool says are
// attached, and numbers are missing without a trace.
func (p *tableParser) dropJoined() {
	cards, o := p.report.Devices, &p.order
	if len(cards) == 0 || p.report.Announced <= len(cards)+o.breaks {
		return
	}
	number := func(i int) int { n, _ := printed.Index(cards[i].ID); return n }
	doubted := make([]bool, len(cards))
	for i := 1; i < len(cards); i++ {
		if o.whole[i] && number(i) != number(i-1)+1 {
			doubted[i-1] = true
		}
	}
	if last := len(cards) - 1; !o.open && number(last) < p.report.Announced-1 {
		doubted[last] = true
	}
	p.report.Devices = cards[:0]
	for i := range cards {
		if doubted[i] {
			p.report.Warn("card %s is left out: lines after it are lost, so that its rows may be two cards'", cards[i].ID)
			continue
		}
		p.report.Devices = append(p.report.Devices, cards[i])
	}
}
