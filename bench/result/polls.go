package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
)

// How many polls of a card inside a step it takes.
const (
	pollsForMean   = 2
	pollsForEnergy = 3 // which span at least half of the step
)

// polls are when accelerator_exporter asked a vendor's tool for its cards. What it
// shows between two polls is of the first of them, however often it is scraped.
type polls struct {
	inside        int   // of the window
	first, newest int64 // of those inside
	last          int64 // inside or not
	gap           int64 // the shortest between two, 0 when not known
}

// poll notes a poll that a scrape told of. Of one that never succeeded the instant
// is 0.
func (w *cardWatch) poll(vendor string, at int64) {
	p := w.polls[vendor]
	if p == nil {
		p = new(polls)
		w.polls[vendor] = p
	}
	if at <= p.last {
		return
	}
	if gap := at - p.last; p.last > 0 && (p.gap == 0 || gap < p.gap) {
		p.gap = gap
	}
	p.last = at
	if !w.window.holds(at) {
		return
	}
	if p.inside == 0 {
		p.first = at
	}
	p.inside++
	p.newest = at
}

// warnings say what the polls of the cards were too few for, and which cards the
// energy could not be told of.
func (w *cardWatch) warnings(endpoint string) (list words.List) {
	ids := slices.SortedFunc(maps.Keys(w.cards), compareCards)
	for _, vendor := range slices.Sorted(maps.Keys(w.polls)) {
		p := w.polls[vendor]
		shown, want := slices.ContainsFunc(ids, func(id cardID) bool { return id.vendor == vendor }), p.tooFewFor(w.window)
		list.If(shown && want != "", "The %s cards were %s: %s; run longer steps or the exporter with a shorter --collector.interval.", vendor, p.inWords(), want)
	}
	if len(ids) == 0 {
		return list
	}
	of := w.serving(endpoint)
	for _, id := range slices.SortedFunc(maps.Keys(of.cards), compareCards) {
		list.If(w.cards[id] == nil, "The exporter tells that card %.40q of %.40q serves the endpoint and shows no such card: no energy is told; check the devices of its probe.",
			id.device, id.vendor)
	}
	list.If(!of.known, "The exporter tells which cards serve %s, and none of them is %s: no energy is told; name the probe of this endpoint so in the exporter's configuration, with its devices where they are on another machine.",
		names(slices.Sorted(maps.Keys(w.targets))), endpoint)
	return list
}

// tooFewFor is empty when the polls were enough for all figures.
func (p *polls) tooFewFor(window span) string {
	switch {
	case p.inside == 0:
		return "what the exporter showed of them is older"
	case p.inside < pollsForMean:
		return "that is too few for any figure of them"
	case p.inside < pollsForEnergy:
		return "that is too few for their energy"
	case p.newest-p.first < (window.to-window.from)/2:
		return "that is of less than half of the step, and too little for their energy"
	}
	return ""
}

func (p *polls) inWords() string {
	text := fmt.Sprintf("polled %d times", p.inside)
	switch p.inside {
	case 0:
		text = "not polled"
	case 1:
		text = "polled once"
	}
	text += " during the step"
	if p.gap > 0 {
		text += fmt.Sprintf(" (every %s s)", strconv.FormatFloat(math.Round(time.Duration(p.gap).Seconds()*10)/10, 'f', -1, 64))
	}
	return text
}

// names lists at most three.
func names(all []string) string {
	const most = 3
	var shown words.List
	for _, name := range all[:min(most, len(all))] {
		shown = append(shown, fmt.Sprintf("%.60q", name))
	}
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", shown, len(all)-most)
	}
	return shown.String()
}
