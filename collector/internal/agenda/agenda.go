// Package agenda decides what a slow tool is asked next. Each question has an interval;
// all of them together may keep the tool busy for a share of the time only, and a card
// whose questions take long costs its own questions time and nobody else's. It has no
// clock: whoever asks tells the time.
package agenda

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// startup is how long a tool may be busy after the start before the share holds, so that
// everything is asked once soon; reserve is how much a tool that did nothing may catch up.
// slack is by how much intervals stretch beyond what just fits: a queue that is full to the
// last never gets shorter, and what waits longer than its interval is skipped once.
const (
	startup = 20 * time.Second
	reserve = 2 * time.Second
	slack   = 1.1
)

// Question is something to be asked again and again.
type Question[K comparable] struct {
	Key   K
	Group string // whose time it takes, such as a card's
	Every time.Duration
	// Phase, 0 to 1, is where in the interval it is asked after the first time, so that
	// a question that is asked of many cards is spread over its interval.
	Phase float64
}

// Agenda holds the questions of one tool. It is not safe for concurrent use.
type Agenda[K comparable] struct {
	share     float64
	questions map[K]*question
	groups    map[string]*group
	looked    time.Time // when the groups' balances were true
	started   bool      // startup was given
}

type question struct {
	order int // of what is due at the same time, the first is asked first
	group string
	every time.Duration
	phase float64
	due   time.Time
	asked bool
	cost  time.Duration // of the last time
	rest  time.Duration // that the last time asked for, 0 for none

	planned time.Duration // the interval by which it is due
}

// group is the time that some questions share.
type group struct {
	balance time.Duration // what the tool may be busy for it; below 0 it waits
	rate    float64       // of the time, what comes back
	stretch float64       // of its intervals, 1 or more
	starts  bool          // some of startup is left
}

// New returns an agenda that keeps a tool busy for a share, above 0 and up to 1, of the time.
func New[K comparable](share float64) *Agenda[K] {
	return &Agenda[K]{share: share, questions: map[K]*question{}, groups: map[string]*group{}}
}

// Set replaces the questions. Those of the same key keep their times; new ones are due at
// once. Startup is for the first ones: cards that come and go all the time must not keep
// the tool busy.
func (a *Agenda[K]) Set(now time.Time, all []Question[K]) {
	wanted := map[K]bool{}
	groups := map[string]bool{}
	for i, q := range all {
		wanted[q.Key], groups[q.Group] = true, true
		if known := a.questions[q.Key]; known == nil || known.group != q.Group || known.every != q.Every {
			a.questions[q.Key] = &question{group: q.Group, every: q.Every, due: now}
		}
		a.questions[q.Key].order, a.questions[q.Key].phase = i, q.Phase
	}
	maps.DeleteFunc(a.questions, func(k K, _ *question) bool { return !wanted[k] })
	maps.DeleteFunc(a.groups, func(name string, _ *group) bool { return !groups[name] })
	a.refill(now)
	for name := range groups {
		if a.groups[name] == nil {
			a.groups[name] = &group{balance: startup / time.Duration(len(groups)), starts: !a.started}
		}
	}
	a.started = a.started || len(groups) > 0
	a.allot()
}

// Forget makes a question due at once, as if it were new, when questions are set next.
func (a *Agenda[K]) Forget(key K) { delete(a.questions, key) }

// Next returns the question to ask now. Without one it returns when to look again, a
// zero time for never.
func (a *Agenda[K]) Next(now time.Time) (key K, ok bool, again time.Time) {
	a.refill(now)
	var first *question
	for k, q := range a.questions {
		at := a.at(now, q)
		if at.After(now) {
			if again.IsZero() || at.Before(again) {
				again = at
			}
			continue
		}
		if first == nil || q.due.Before(first.due) || q.due.Equal(first.due) && q.order < first.order {
			key, ok, first = k, true, q
		}
	}
	return key, ok, again
}

// at is when a question may be asked: it is due, and its group has time.
func (a *Agenda[K]) at(now time.Time, q *question) time.Time {
	at := q.due
	if g := a.groups[q.group]; g.balance < 0 {
		const most = 1e9 // seconds
		wait := min(-g.balance.Seconds()/g.rate, most)
		if back := now.Add(time.Duration(wait*float64(time.Second)) + time.Millisecond); back.After(at) { // never the same moment again
			at = back
		}
	}
	return at
}

// Spent says that asking a question took a while, until now. It stays due.
func (a *Agenda[K]) Spent(now time.Time, key K, cost time.Duration) {
	a.refill(now)
	if q := a.questions[key]; q != nil { // else its card has gone meanwhile
		a.groups[q.group].balance -= cost
	}
}

// Done says the same, and that the question was answered: it is due after its interval, or
// after rest where that is not 0. Both stretch.
func (a *Agenda[K]) Done(now time.Time, key K, cost, rest time.Duration) {
	a.Spent(now, key, cost)
	q := a.questions[key]
	if q == nil {
		return
	}
	q.cost, q.rest = cost, rest
	a.allot()
	q.planned = a.stretched(q)
	if q.due = a.next(now, q); rest > 0 {
		q.due = now.Add(a.stretch(q, rest))
	}
	q.asked = true
}

// next is when a question is due again. One that comes late does not shift those after
// it, and what was missed is left out.
func (a *Agenda[K]) next(now time.Time, q *question) time.Time {
	interval := a.stretched(q)
	if !q.asked {
		return now.Add(time.Duration(float64(interval) * max(q.phase, 1.0/16)))
	}
	due := q.due.Add(interval)
	if due.Before(now) {
		due = due.Add(now.Sub(due).Truncate(interval) + interval)
	}
	return due
}

// Interval returns how often a question is asked now: its own interval, or a longer one
// where the tool is too slow for that, or was when it was asked last. It returns 0 for a
// question that is not there.
func (a *Agenda[K]) Interval(key K) time.Duration {
	if q := a.questions[key]; q != nil {
		return max(q.planned, a.stretched(q))
	}
	return 0
}

// Rest returns how long a question rests since it was asked last, 0 for its interval.
func (a *Agenda[K]) Rest(key K) time.Duration {
	if q := a.questions[key]; q != nil {
		return a.stretch(q, q.rest)
	}
	return 0
}

func (a *Agenda[K]) stretched(q *question) time.Duration { return a.stretch(q, q.every) }

func (a *Agenda[K]) stretch(q *question, d time.Duration) time.Duration {
	return time.Duration(float64(d) * a.groups[q.group].stretch)
}

// refill gives the groups the time that has come since it was looked last.
func (a *Agenda[K]) refill(now time.Time) {
	passed := now.Sub(a.looked)
	if a.looked.IsZero() {
		passed = 0
	}
	a.looked = now
	most := reserve / time.Duration(max(1, len(a.groups)))
	for _, g := range a.groups {
		g.starts = g.starts && g.balance > most
		if g.balance = g.balance + time.Duration(g.rate*float64(passed)); !g.starts {
			g.balance = min(g.balance, most)
		}
	}
}

// allot divides the share among the groups: those that need less than an equal part get
// what they need, and the others the rest in equal parts.
func (a *Agenda[K]) allot() {
	need := make(map[string]float64, len(a.groups))
	inOrder := func(x, y *question) int { return cmp.Compare(x.order, y.order) } // a sum depends on it, in its last digits
	for _, q := range slices.SortedFunc(maps.Values(a.questions), inOrder) {
		every := q.every
		if q.rest > 0 {
			every = q.rest
		}
		need[q.group] += q.cost.Seconds() / every.Seconds()
	}
	names := slices.SortedFunc(maps.Keys(a.groups), func(x, y string) int {
		return cmp.Or(cmp.Compare(need[x], need[y]), cmp.Compare(x, y))
	})
	left := a.share
	for i, name := range names {
		g, part := a.groups[name], left/float64(len(names)-i)
		if g.stretch = 1; need[name] > part {
			g.stretch = slack * need[name] / part
		}
		left -= min(need[name], part)
		g.rate = part // what it does not need, nobody else gets: it keeps pace after a slow call
	}
}
