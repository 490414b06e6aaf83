package collector

import (
	"maps"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// setCards sets the cards that are asked about. It plans the questions anew, and drops what was answered about cards that
// are gone or were replaced.
func (t *tool) setCards(cards []model.Device) {
	t.mu.Lock()
	t.cards = cards
	t.plan()
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// plan makes the questions from commands and cards, and drops the others. The caller holds mu.
func (t *tool) plan() {
	known := make(map[questionKey]*question, len(t.schedule.questions))
	for _, q := range t.schedule.questions {
		known[q.key] = q
	}
	t.schedule.questions = nil
	for _, c := range t.commands {
		groups := groupCards(c.Scope, t.cards)
		for i, cards := range groups {
			t.addQuestions(known, c, cards, float64(i+1)/float64(len(groups)))
		}
	}
	isAsked := map[string]bool{tableName: true}
	for _, q := range t.schedule.questions {
		isAsked[q.key.command] = true
		delete(known, q.key)
	}
	maps.DeleteFunc(t.runs, func(command string, _ run) bool { return !isAsked[command] })
	for key := range known {
		t.health.forget(key)
	}
}

// addQuestions adds a command about some cards, and those that its last answer gave rise to. known are the questions of
// the plan before. Under mu.
func (t *tool) addQuestions(known map[questionKey]*question, c model.Command, cards []model.Device, phase float64) {
	isWanted := c.When == nil || slices.ContainsFunc(cards, func(d model.Device) bool { return c.When(&d) })
	if !isWanted || len(c.Args(cards[0])) == 0 {
		return
	}
	key := questionKey{command: c.Name, part: c.Part}
	if c.Scope != model.Host {
		key.card = cards[0].ID
	}
	q := known[key]
	if q == nil {
		q = &question{key: key, due: time.Now()}
	} else if q.dropOthers(cards) {
		q.due = time.Now()
	}
	q.command, q.cards, q.phase = c, cards, phase
	t.schedule.questions = append(t.schedule.questions, q)
	for _, more := range q.more {
		t.addQuestions(known, more, cards, phase)
	}
}

// store keeps an answer and says when the question is asked again. It reports false where the answer counts for nothing:
// the card has gone meanwhile, or other arguments are tried.
func (t *tool) store(asked question, start time.Time, a answer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	i := slices.IndexFunc(t.schedule.questions, func(q *question) bool {
		return q.key == asked.key && slices.EqualFunc(q.cards, asked.cards, sameCard)
	})
	if i < 0 {
		t.schedule.backOff(start, now)
		return false
	}
	q := t.schedule.questions[i]
	if isRefusal(a.err) {
		if q.variant = asked.variant + 1; q.variant < len(q.command.Args(q.cards[0])) {
			t.schedule.backOff(start, now)
			return false
		}
		q.variant = 0
	}
	retry := retryAfter(q.command, a.err, now.Sub(start), t.options.Interval)
	t.schedule.done(q, start, now, retry)
	if !a.isRead || q.command.EveryPoll { // the table has the readings of EveryPoll commands
		return true
	}
	q.keep(a, answerTime{start, retry, t.schedule.hung})
	if q.command.More != nil {
		q.more = slices.DeleteFunc(a.more, func(c model.Command) bool { return !t.options.wants(c) })
		t.plan()
	}
	return true
}

// readings are those that hold now, in the order of precedence.
func (t *tool) readings() (all []*cardReadings) {
	t.mu.Lock()
	defer t.mu.Unlock()
	round := t.schedule.roundLength()
	for _, q := range t.schedule.questions {
		for _, r := range q.readings {
			if t.schedule.isFresh(q, r.answered, round, t.options.Timeout) {
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
	for _, q := range t.schedule.questions {
		if q.command.Inventory && t.schedule.isFresh(q, q.answered, round, t.options.Timeout) {
			all = append(all, q.report)
		}
	}
	return all
}

// hasInventory reports whether every inventory was asked for, with or without success.
func (t *tool) hasInventory() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(t.schedule.questions, func(q *question) bool { return q.command.Inventory && !q.isDone })
}

func (t *tool) lastRuns() map[string]run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.runs)
}
