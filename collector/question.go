package collector

import (
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// How long until a question is asked again: after a refusal, and after a timeout or a failure of a rare question.
const (
	retryRefused  = time.Hour
	retryTimedOut = 5 * time.Minute
)

// questionKey is one command about one card, die or port, or about the host.
type questionKey struct {
	command, part, card string
}

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

// question is a command about some cards: when it is asked, and what was answered.
type question struct {
	key     questionKey
	command model.Command
	cards   []model.Device
	variant int // the argument list that was not refused
	more    []model.Command

	phase          float64 // 0 to 1: where in the interval it is asked after the first time
	due            time.Time
	isDone         bool          // it was asked, with or without success
	retry          time.Duration // after the last call, 0 for the interval
	callAndBackoff time.Duration // how long the tool was taken by the last call, with the backoff after it

	report   model.Report // of the last answer, without its cards
	answered answerTime   // of report
	readings []*cardReadings
}

// cardReadings are the readings of one card. They are not changed: a scrape may hold them.
type cardReadings struct {
	device   string
	readings model.Readings
	answered answerTime
}

// answerTime is when a question was asked, and the retry that its answer led to: 0 for the question's interval.
type answerTime struct {
	start time.Time
	retry time.Duration
	hung  time.Duration // the schedule's hung at that time
}

// nextDue is when a question is due after now. What was missed is left out.
func (q *question) nextDue(now time.Time) time.Time {
	switch {
	case q.retry > 0:
		return now.Add(q.retry)
	case !q.isDone:
		return now.Add(time.Duration(q.phase * float64(q.command.Every)))
	}
	if due := q.due.Add(q.command.Every); due.After(now) {
		return due
	}
	return now.Add(q.command.Every)
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

// keep replaces what was answered before. What a whole answer does not have any more has gone; what only a part lacks
// grows old by itself.
func (q *question) keep(a answer, at answerTime) {
	old := q.readings
	q.report, q.answered, q.readings = a.report, at, nil
	q.report.Devices = nil
	for _, d := range a.report.Devices {
		q.readings = append(q.readings, &cardReadings{device: d.ID, readings: d.Readings, answered: at})
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

func isRefusal(err error) bool { return failure.ReasonOf(err) == failure.Unsupported }

// retryAfter returns after how long a question is asked again, 0 for its interval. A rare one that failed does not wait
// for its interval: the tool may have been busy. A call for all cards that timed out at one of them is a timeout too: the
// next one would wait as long. An EveryPoll command is asked again sooner.
func retryAfter(c model.Command, err error, took, interval time.Duration) time.Duration {
	isLate := failure.ReasonOf(err) == failure.Timeout
	switch {
	case err == nil:
		return 0
	case isRefusal(err):
		return retryRefused
	case isLate && c.EveryPoll:
		return min(retryTimedOut, max(2*interval, backoffFactor*took))
	case isLate || c.Every > retryTimedOut:
		return retryTimedOut
	}
	return 0
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
