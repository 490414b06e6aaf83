package collector

import (
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/agenda"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// How long a command is not asked of a card that refused it, or did not answer in time.
const (
	restRefused  = time.Hour
	restTimedOut = 5 * time.Minute
)

// details asks one tool for what the main table lacks, one call at a time, in the time
// that is left to it.
type details struct {
	runner   runner
	classify classifier
	plan     []smi.Detail
	wants    func(smi.Detail) bool // of those that an answer gives rise to
	timeout  time.Duration
	commands *commands
	logger   log.Logger
	changed  chan struct{} // gets a token when there are other cards

	mu      sync.Mutex
	agenda  *agenda.Agenda[detailKey]
	asked   map[detailKey]*detailState
	order   []detailKey // of precedence
	cards   []model.Device
	refused map[string]bool // commands whose refusal was logged
	leftOut uint64          // parts of all answers so far that could not be read
}

// detailKey is one command about one card, die, port or host.
type detailKey struct {
	command, card, port string
}

// detailState is what is known of one question.
type detailState struct {
	detail  smi.Detail
	cards   []model.Device
	variant int // of the argument lists, the one that was not refused
	flags   flags
	more    []smi.Detail
	told    []heard
	failed  string // why the last call told nothing, or a part only
}

// heard is what was told of a card, when it was asked, and how long the question rests
// after that, 0 for its interval.
type heard struct {
	*telling
	at    time.Time
	rests time.Duration
}

// classifier tells what an error text of a tool means.
type classifier func(text []byte) (reason failure.Reason, line string, ok bool)

func newDetails(plan []smi.Detail, r runner, classify classifier, commands *commands, o Options) *details {
	return &details{
		runner: r, classify: classify, plan: plan, wants: o.wants, timeout: o.Timeout, commands: commands, logger: o.Logger,
		changed: make(chan struct{}, 1), agenda: agenda.New[detailKey](o.DetailShare),
		asked: map[detailKey]*detailState{}, refused: map[string]bool{},
	}
}

// setCards says which cards there are to be asked about.
func (d *details) setCards(cards []model.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards = cards
	d.replan()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// replan makes the questions from plan and cards, and forgets what was told of cards that
// are gone or others now. Under mu.
func (d *details) replan() {
	known := d.asked
	d.asked, d.order = make(map[detailKey]*detailState, len(known)), d.order[:0]
	var questions []agenda.Question[detailKey]
	var add func(detail smi.Detail, cards []model.Device, phase, step float64)
	add = func(detail smi.Detail, cards []model.Device, phase, step float64) {
		if detail.When != nil && !slices.ContainsFunc(cards, func(c model.Device) bool { return detail.When(&c) }) {
			return
		}
		key := detailKey{detail.Name, subject(detail, cards), detail.Port}
		st := known[key]
		if st == nil {
			st = &detailState{}
		} else if st.setCards(cards) {
			st.more = nil
			d.agenda.Forget(key)
		}
		st.detail, st.cards = detail, cards
		d.asked[key], d.order = st, append(d.order, key)
		questions = append(questions, agenda.Question[detailKey]{Key: key, Group: group(detail, cards), Every: detail.Every, Phase: phase})
		for i, more := range st.more {
			part := step / float64(len(st.more))
			add(more, cards, phase-part*float64(i), part)
		}
	}
	for _, detail := range d.plan {
		about := subjects(detail.Scope, d.cards)
		for i, cards := range about {
			step := 1 / float64(len(about))
			add(detail, cards, step*float64(i+1), step)
		}
	}
	d.agenda.Set(time.Now(), questions)
}

// subjects are the cards of each call.
func subjects(s smi.Scope, cards []model.Device) [][]model.Device {
	if s == smi.Host {
		if len(cards) == 0 {
			return nil
		}
		return [][]model.Device{cards}
	}
	var all [][]model.Device
	for _, c := range cards {
		i := -1
		if s == smi.Card && c.NPU != "" {
			i = slices.IndexFunc(all, func(of []model.Device) bool { return of[0].NPU == c.NPU })
		}
		if i < 0 {
			all = append(all, []model.Device{c})
		} else {
			all[i] = append(all[i], c)
		}
	}
	return all
}

func subject(d smi.Detail, cards []model.Device) string {
	if d.Scope == smi.Host {
		return ""
	}
	return cards[0].ID
}

// group is whose time a question takes: a card's with all its dies, or the host's.
func group(d smi.Detail, cards []model.Device) string {
	switch {
	case d.Scope == smi.Host:
		return ""
	case cards[0].NPU != "":
		return "npu " + cards[0].NPU
	}
	return "card " + cards[0].ID
}

// setCards drops what was told of other cards than these, and reports whether one of these
// is new.
func (st *detailState) setCards(cards []model.Device) (isNew bool) {
	known := func(c model.Device) bool {
		return slices.ContainsFunc(st.cards, func(old model.Device) bool { return sameCard(old, c) })
	}
	st.told = slices.DeleteFunc(slices.Clone(st.told), func(t heard) bool {
		return !slices.ContainsFunc(cards, func(c model.Device) bool { return c.ID == t.Device && known(c) })
	})
	return slices.ContainsFunc(cards, func(c model.Device) bool { return !known(c) })
}

// sameCard reports whether a number still means the same card.
func sameCard(a, b model.Device) bool {
	return a.ID == b.ID && a.BusID == b.BusID && a.NPU == b.NPU && a.Chip == b.Chip
}
