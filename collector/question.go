package collector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// How long a command is not asked of a card that refused it, or did not answer in time.
const (
	retryRefused  = time.Hour
	retryTimedOut = 5 * time.Minute
)

// questionKey is one command about one card, die or port, or about the host.
type questionKey struct {
	command, part, card string
}

// String is the question in words.
func (k questionKey) String() string {
	text := k.command
	if k.part != "" {
		text += " " + k.part
	}
	if k.card != "" {
		text += " of card " + k.card
	}
	return text
}

// question is a command about some cards, with what was answered.
type question struct {
	key      questionKey
	command  model.Command
	cards    []model.Device
	variant  int // the argument list that was not refused
	more     []model.Command
	report   model.Report // of the last answer, without its cards
	at       answerTime   // of report
	readings []*cardReadings
	asked    bool
	failed   string // why the last call had no answer, or a part of one
}

// cardReadings are the readings of one card. Its samples are made for the first scrape and kept: there are thousands, and
// they outlive many scrapes.
type cardReadings struct {
	device   string
	readings model.Readings
	at       answerTime
	once     sync.Once
	samples  []sample
}

// answerTime is when an answer was asked for, and how long after that it is asked again if not at the interval.
type answerTime struct {
	asked time.Time
	retry time.Duration
}

// setCards says which cards there are to be asked about.
func (t *tool) setCards(cards []model.Device) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards = cards
	t.plan()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// plan makes the questions from commands and cards, and forgets what was answered about cards that are gone or others
// now. Under mu.
func (t *tool) plan() {
	known := t.questions
	t.questions, t.order = make(map[questionKey]*question, len(known)), t.order[:0]
	var slots []*slot
	for _, c := range t.commands {
		groups := groupCards(c.Scope, t.cards)
		for i, cards := range groups {
			slots = append(slots, t.addQuestions(known, c, cards, float64(i+1)/float64(len(groups)))...)
		}
	}
	t.schedule.set(time.Now(), slots)
}

// addQuestions adds a command about some cards, and those that its last answer gave rise to. known are the questions of
// the plan before. Under mu.
func (t *tool) addQuestions(known map[questionKey]*question, c model.Command, cards []model.Device, phase float64) []*slot {
	key := questionKey{command: c.Name, part: c.Part}
	if c.Scope != model.Host {
		key.card = cards[0].ID
	}
	q := known[key]
	if q == nil {
		q = &question{}
	} else if q.dropOthers(cards) {
		t.schedule.makeDue(key, time.Now())
	}
	q.key, q.command, q.cards = key, c, cards
	if c.When != nil && !slices.ContainsFunc(cards, func(d model.Device) bool { return c.When(&d) }) || len(c.Args(cards[0])) == 0 {
		return nil
	}
	t.questions[key], t.order = q, append(t.order, key)
	slots := []*slot{{key: key, every: t.every(c), phase: phase}}
	for _, more := range q.more {
		slots = append(slots, t.addQuestions(known, more, cards, phase)...)
	}
	return slots
}

// every is how often a command is asked where the tool is quick enough.
func (t *tool) every(c model.Command) time.Duration {
	if inventory := t.options.InventoryInterval; c.Inventory && (c.Every == 0 || c.Every > inventory) {
		return inventory
	}
	return c.Every
}

// groupCards returns the cards of each call.
func groupCards(s model.Scope, cards []model.Device) (groups [][]model.Device) {
	places := map[string]int{}
	for _, c := range cards {
		name := "card " + c.ID
		switch {
		case s == model.Host:
			name = ""
		case s == model.Card && c.NPU != "":
			name = "NPU " + c.NPU
		}
		i, known := places[name]
		if !known {
			i = len(groups)
			places[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// dropOthers drops what was answered about other cards than these, and reports whether one of these is new.
func (q *question) dropOthers(cards []model.Device) (isNew bool) {
	known := func(c model.Device) bool {
		return slices.ContainsFunc(q.cards, func(old model.Device) bool { return sameCard(old, c) })
	}
	q.readings = slices.DeleteFunc(slices.Clone(q.readings), func(r *cardReadings) bool {
		return !slices.ContainsFunc(cards, func(c model.Device) bool { return c.ID == r.device && known(c) })
	})
	if isNew = slices.ContainsFunc(cards, func(c model.Device) bool { return !known(c) }); isNew {
		q.more, q.report, q.variant = nil, model.Report{}, 0
	}
	return isNew
}

// sameCard reports whether a number still means the same card.
func sameCard(a, b model.Device) bool {
	return a.ID == b.ID && a.BusID == b.BusID && a.NPU == b.NPU && a.Chip == b.Chip
}

// store keeps an answer about cards, says when to ask again, and reports whether there is a failure to be logged.
func (t *tool) store(key questionKey, cards []model.Device, start time.Time, a answer) (isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, q := time.Now(), t.questions[key]
	if q == nil || !slices.EqualFunc(q.cards, cards, sameCard) {
		t.schedule.backOff(start, now)
		return false // the answer is about a card that has gone meanwhile
	}
	refused := isRefusal(a.err)
	if refused && q.variant+1 < len(q.command.Args(q.cards[0])) {
		q.variant++
		t.schedule.backOff(start, now)
		return false
	}
	if refused {
		q.variant = 0
	}
	q.asked = true
	retry := retryAfter(a.err, q.command.Every)
	t.schedule.done(key, start, now, retry)
	t.unread += uint64(a.report.Warnings.Count)
	if a.err != nil && !refused && (q.command.Inventory || failure.ReasonOf(a.err) == failure.Parse) {
		t.unread++
	}
	if a.isRead {
		q.keep(a, answerTime{start, retry})
		if q.command.More != nil {
			q.more = slices.DeleteFunc(a.more, func(c model.Command) bool { return !t.options.wants(c) })
			t.plan()
		}
	}
	return t.recordOutcome(q, a.err)
}

func isRefusal(err error) bool { return failure.ReasonOf(err) == failure.Unsupported }

// retryAfter is how long a question is not asked again after a failure, 0 for its interval. One that is asked rarely does
// not wait for that: the tool may have been busy. A call for all cards that timed out at one of them is a timeout too: the
// next one would wait as long.
func retryAfter(err error, every time.Duration) time.Duration {
	switch {
	case err == nil:
		return 0
	case isRefusal(err):
		return retryRefused
	case failure.ReasonOf(err) == failure.Timeout || every > retryTimedOut:
		return retryTimedOut
	}
	return 0
}

// keep replaces what was answered before. What a whole answer does not have any more has gone; what only a part lacks
// grows old by itself.
func (q *question) keep(a answer, at answerTime) {
	old := q.readings
	q.report, q.at, q.readings = a.report, at, nil
	q.report.Devices = nil
	for _, d := range a.report.Devices {
		q.readings = append(q.readings, &cardReadings{device: d.ID, readings: d.Readings, at: at})
	}
	if a.err == nil {
		return
	}
	for _, r := range old {
		if !slices.ContainsFunc(a.report.Devices, func(d model.Device) bool { return d.ID == r.device }) {
			q.readings = append(q.readings, r)
		}
	}
}

// recordOutcome keeps why a call failed, nil for not. A failure is new once, not at every call that repeats it, and a refusal once
// for all cards. Under mu.
func (t *tool) recordOutcome(q *question, err error) (isNew bool) {
	before, command := q.failed, q.command.Name+" "+q.command.Part
	q.failed = ""
	switch {
	case err == nil:
		return false
	case isRefusal(err):
		isNew = !t.refused[command]
		t.refused[command] = true
		return isNew
	}
	q.failed = err.Error()
	return q.failed != before
}

// isFresh reports whether an answer to a question still holds: three intervals and a timeout after it was asked for,
// intervals as they are stretched now. The time until a retry is the first of the three, so that a sick card costs the
// readings of no other card that was answered about. Under mu.
func (t *tool) isFresh(q *question, v answerTime, round time.Duration) bool {
	every := max(t.every(q.command), round)
	return time.Since(v.asked) <= max(every, v.retry)+2*every+t.options.Timeout
}

// readings are those that hold now, in the order of precedence.
func (t *tool) readings() (all []*cardReadings) {
	t.mu.Lock()
	defer t.mu.Unlock()
	round := t.schedule.roundLength()
	for _, key := range t.order {
		for _, r := range t.questions[key].readings {
			if t.isFresh(t.questions[key], r.at, round) {
				all = append(all, r)
			}
		}
	}
	return all
}

// inventory are the reports of inventories that hold now.
func (t *tool) inventory() (all []model.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	round := t.schedule.roundLength()
	for _, key := range t.order {
		if q := t.questions[key]; q.command.Inventory && t.isFresh(q, q.at, round) {
			all = append(all, q.report)
		}
	}
	return all
}

// hasInventory reports whether every inventory was asked for, with or without success.
func (t *tool) hasInventory() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.questions {
		if q.command.Inventory && !q.asked {
			return false
		}
	}
	return true
}

// addTo adds the questions that fail now, what cannot be read of the others' answers, and how many parts of all answers
// so far could not be read.
func (t *tool) addTo(s *Status) {
	s.Stuck += t.runner.Stuck()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Warnings += t.unread
	var now model.Warnings
	round := t.schedule.roundLength()
	for _, key := range t.order {
		q := t.questions[key]
		if q.failed != "" {
			now.Add("asking for %s: %s", key, q.failed)
		}
		if !t.isFresh(q, q.at, round) {
			continue
		}
		for _, text := range q.report.Warnings.Texts {
			now.Add("%s: %s", key, text)
		}
	}
	s.LeftOut.Join(now)
}

// lastRuns are the last runs by command.
func (t *tool) lastRuns() map[string]run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.runs)
}
