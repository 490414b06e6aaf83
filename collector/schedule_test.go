package collector

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// longPlan is one command about the host, and ten about each card.
func longPlan(cards int) []*question {
	all := []*question{{key: questionKey{command: "watch"}, due: time.Unix(0, 0), command: model.Command{Every: time.Minute}, phase: 1}}
	for _, c := range []struct {
		every    time.Duration
		commands []string
	}{
		{time.Minute, []string{"common", "stat", "link", "hccs"}},
		{5 * time.Minute, []string{"usages", "ecc", "sensors", "volt"}},
		{time.Hour, []string{"board", "enable"}},
	} {
		for _, command := range c.commands {
			for card := range cards {
				key := questionKey{command: command, card: fmt.Sprint(card)}
				all = append(all, &question{key: key, due: time.Unix(0, 0), command: model.Command{Every: c.every}, phase: float64(card+1) / float64(cards)})
			}
		}
	}
	return all
}

// simulate asks for so long what is due, and returns when each question was asked and for how long the tool was busy.
func simulate(s *schedule, length time.Duration, call func(questionKey) (cost, retry time.Duration)) (asked map[questionKey][]time.Duration, busy time.Duration) {
	asked = map[questionKey][]time.Duration{}
	start := time.Unix(0, 0)
	for now := start; now.Sub(start) < length; {
		q, at := s.next()
		if at.After(now) {
			now = at
			continue
		}
		asked[q.key] = append(asked[q.key], now.Sub(start))
		cost, retry := call(q.key)
		s.done(q, now, now.Add(cost), retry)
		now, busy = now.Add(cost), busy+cost
	}
	return asked, busy
}

// A user would notice a detail that appears minutes after the start, one that is skipped, and one that is gone although
// it is asked; an operator would notice a tool that is never at rest.
func TestScheduleIsKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		cost  time.Duration
		cards int
		first time.Duration // by when all were asked once
		late  time.Duration // at most, where the tool is quick
	}{
		{"quick", 100 * time.Millisecond, 8, 20 * time.Second, 5 * time.Second},
		{"slow", 500 * time.Millisecond, 8, time.Minute, 0},
		{"slower", 2 * time.Second, 8, 3 * time.Minute, 0},
		{"slow and many", 2 * time.Second, 16, 6 * time.Minute, 0},
		{"as slow as it may be", 9 * time.Second, 16, 30 * time.Minute, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &schedule{questions: longPlan(c.cards)}
			plan := s.questions
			rand.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
			const length = 20 * time.Hour
			asked, busy := simulate(s, length, func(questionKey) (time.Duration, time.Duration) { return c.cost, 0 })
			if most := length/5 + c.first; busy > most {
				t.Errorf("busy for %s of %s", busy, length)
			}
			for _, x := range plan {
				times, interval := asked[x.key], max(x.command.Every, s.roundLength())
				if len(times) == 0 || times[0] > c.first {
					t.Fatalf("%s is first asked at %v", x.key, times)
				}
				for i := 1; i < len(times); i++ {
					switch gap := times[i] - times[i-1]; {
					case c.late > 0 && gap > x.command.Every+c.late:
						t.Errorf("%s is not asked for %s", x.key, gap)
					case gap > 3*interval:
						t.Errorf("%s is not asked for %s, so that its readings are gone after three times %s", x.key, gap, interval)
					}
				}
			}
		})
	}
}

// A sick card, each of whose questions takes until the timeout, makes the others' come later, and none is left out.
func TestScheduleBesideASickCard(t *testing.T) {
	s := &schedule{questions: longPlan(8)}
	asked, _ := simulate(s, 5*time.Hour, func(key questionKey) (time.Duration, time.Duration) {
		if key.card == "3" {
			return 10 * time.Second, retryTimedOut
		}
		return 100 * time.Millisecond, 0
	})
	for key, times := range asked {
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap > time.Hour+15*time.Minute || key.command == "stat" && gap > 15*time.Minute {
				t.Errorf("%s is not asked for %s", key, gap)
			}
		}
	}
}

// Calls about one thing are spread over its interval, not made together.
func TestScheduleSpreadsCards(t *testing.T) {
	s := &schedule{questions: longPlan(8)}
	asked, _ := simulate(s, time.Hour, func(questionKey) (time.Duration, time.Duration) { return 100 * time.Millisecond, 0 })
	for card := range 7 {
		first, second := asked[questionKey{command: "ecc", card: fmt.Sprint(card)}], asked[questionKey{command: "ecc", card: fmt.Sprint(card + 1)}]
		if apart := second[5] - first[5]; apart < 27*time.Second || apart > 48*time.Second {
			t.Errorf("cards %d and %d are asked %s apart, want about 37.5 s", card, card+1, apart)
		}
	}
}

// A reading would be exported for longer than three of its intervals because of questions that are asked each hour.
func TestRoundOfRareQuestions(t *testing.T) {
	var s schedule
	newQuestion := func(every, retry time.Duration) *question {
		return &question{command: model.Command{Every: every}, callAndBackoff: 5 * time.Second, retry: retry}
	}
	for range 40 {
		s.questions = append(s.questions, newQuestion(time.Hour, 0), newQuestion(time.Minute, time.Hour))
	}
	s.questions = append(s.questions, newQuestion(time.Minute, 0))
	if got := s.roundLength(); got > time.Minute {
		t.Errorf("a round takes %s, though most questions are asked each hour", got)
	}
}
