package agenda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/agenda"
)

type key struct {
	command string
	card    int
}

// host is some cards with the questions of a long plan.
func host(cards int) []agenda.Question[key] {
	all := []agenda.Question[key]{{Key: key{"watch", -1}, Every: time.Minute}}
	for _, q := range []struct {
		every    time.Duration
		commands []string
	}{
		{time.Minute, []string{"common", "stat", "link", "hccs"}},
		{5 * time.Minute, []string{"usages", "ecc", "sensors", "volt"}},
		{time.Hour, []string{"board", "enable"}},
	} {
		for _, command := range q.commands {
			for card := range cards {
				all = append(all, agenda.Question[key]{Key: key{command, card}, Group: fmt.Sprint(card), Every: q.every, Phase: float64(card+1) / float64(cards)})
			}
		}
	}
	return all
}

// run asks for so long, each question taking what cost says, and tells when each was asked.
func run(a *agenda.Agenda[key], length time.Duration, cost func(key) (cost, rest time.Duration)) (asked map[key][]time.Duration, busy map[int]time.Duration) {
	asked, busy = map[key][]time.Duration{}, map[int]time.Duration{}
	start := time.Unix(0, 0)
	for now := start; now.Sub(start) < length; {
		k, ok, again := a.Next(now)
		if !ok {
			now = again
			continue
		}
		asked[k] = append(asked[k], now.Sub(start))
		took, rest := cost(k)
		now = now.Add(took)
		busy[k.card] += took
		a.Done(now, k, took, rest)
	}
	return asked, busy
}

func constant(d time.Duration) func(key) (cost, rest time.Duration) {
	return func(key) (time.Duration, time.Duration) { return d, 0 }
}

// A user would notice a detail that appears minutes after the start, and one that is
// older than it has to be.
func TestQuickToolIsAskedInTime(t *testing.T) {
	a := agenda.New[key](0.2)
	a.Set(time.Unix(0, 0), host(8))
	asked, _ := run(a, time.Hour, constant(100*time.Millisecond))
	for _, q := range host(8) {
		times := asked[q.Key]
		if len(times) == 0 || times[0] > 20*time.Second {
			t.Errorf("%v: first asked at %v", q.Key, times)
			continue
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap > q.Every+5*time.Second {
				t.Errorf("%v: not asked for %s", q.Key, gap)
			}
		}
	}
}

// An operator would notice a tool that is never at rest, and a detail that is skipped,
// in whatever order the questions are.
func TestSlowToolKeepsToItsShare(t *testing.T) {
	type load struct {
		cost  time.Duration
		cards int
		share float64
		seed  uint64
	}
	var loads []load
	for seed := range uint64(3) {
		loads = append(loads,
			load{500 * time.Millisecond, 8, 0.2, seed}, load{2 * time.Second, 8, 0.2, seed}, load{2 * time.Second, 16, 0.2, seed},
			load{5 * time.Second, 16, 0.1, seed}, load{2 * time.Second, 16, 1, seed})
	}
	for _, c := range loads {
		a := agenda.New[key](c.share)
		all := host(c.cards)
		rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		a.Set(time.Unix(0, 0), all)
		asked, busy := run(a, 10*time.Hour, constant(c.cost))
		var total time.Duration
		for _, d := range busy {
			total += d
		}
		if share := total.Hours() / 10; share > c.share+0.01 {
			t.Errorf("%+v: busy for a share of %.3f", c, share)
		}
		for _, q := range all {
			times, interval := asked[q.Key], a.Interval(q.Key)
			if len(times) == 0 {
				t.Errorf("%+v: %v was never asked", c, q.Key)
			}
			for i := max(1, len(times)/2); i < len(times); i++ {
				if gap := times[i] - times[i-1]; gap > 2*interval+time.Minute {
					t.Errorf("%+v: %v is asked every %s, and was not for %s", c, q.Key, interval, gap)
				}
			}
		}
	}
}

// A sick card, each of whose questions takes until the timeout, costs its own details
// only.
func TestSickCardCostsItsOwn(t *testing.T) {
	const sick = 3
	cost := func(k key) (time.Duration, time.Duration) {
		if k.card == sick {
			return 10 * time.Second, 5 * time.Minute
		}
		return 100 * time.Millisecond, 0
	}
	a := agenda.New[key](0.2)
	a.Set(time.Unix(0, 0), host(8))
	asked, busy := run(a, time.Hour, cost)
	for _, q := range host(8) {
		if q.Key.card == sick {
			continue
		}
		times := asked[q.Key]
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap > q.Every+30*time.Second {
				t.Errorf("%v: not asked for %s", q.Key, gap)
			}
		}
	}
	if share := busy[sick].Hours(); share > 0.2 {
		t.Errorf("the sick card takes a share of %.2f", share)
	}
}

// Calls about one thing are spread over its interval, not fired together.
func TestCardsAreSpread(t *testing.T) {
	a := agenda.New[key](0.2)
	a.Set(time.Unix(0, 0), host(8))
	asked, _ := run(a, time.Hour, constant(100*time.Millisecond))
	for card := range 7 {
		first, second := asked[key{"ecc", card}], asked[key{"ecc", card + 1}]
		if apart := (second[5] - first[5]).Seconds(); math.Abs(apart-37.5) > 10 {
			t.Errorf("cards %d and %d are asked %.0f s apart, want about 37.5", card, card+1, apart)
		}
	}
}

// What is refused rests, and a card that goes takes its questions along.
func TestRestAndRemoval(t *testing.T) {
	start := time.Unix(0, 0)
	a := agenda.New[key](1)
	a.Set(start, []agenda.Question[key]{{Key: key{"ecc", 0}, Every: time.Minute}})
	a.Done(start, key{"ecc", 0}, time.Second, time.Hour)
	if _, ok, again := a.Next(start); ok || again != start.Add(time.Hour) {
		t.Errorf("a question that rests: %v, again at %s", ok, again)
	}
	a.Set(start, nil)
	a.Done(start, key{"ecc", 0}, time.Second, 0)
	if _, ok, again := a.Next(start.Add(2 * time.Hour)); ok || !again.IsZero() || a.Interval(key{"ecc", 0}) != 0 {
		t.Error("a question that was taken away is asked")
	}
}

// Cards that are lost and found all the time are asked anew each time, hardly above the share.
func TestCardsThatComeAndGoKeepToTheShare(t *testing.T) {
	a := agenda.New[key](0.2)
	var busy time.Duration
	start := time.Unix(0, 0)
	now := start
	for poll := range 360 {
		cards := 8
		if poll%2 == 1 {
			cards = 1
		}
		a.Set(now, host(cards))
		for until := start.Add(time.Duration(poll+1) * 10 * time.Second); now.Before(until); {
			k, ok, again := a.Next(now)
			if !ok {
				if now = until; !again.IsZero() && again.Before(until) {
					now = again
				}
				continue
			}
			now, busy = now.Add(100*time.Millisecond), busy+100*time.Millisecond
			a.Done(now, k, 100*time.Millisecond, 0)
		}
	}
	if share := busy.Hours(); share > 0.3 {
		t.Errorf("busy for a share of %.2f", share)
	}
}

// What was planned while the tool was slow is not due earlier when it is quick again, so
// that an answer has to last until then.
func TestIntervalLastsUntilTheNextTime(t *testing.T) {
	start := time.Unix(0, 0)
	a := agenda.New[key](0.2)
	slow, quick := key{"slow", 0}, key{"quick", 0}
	a.Set(start, []agenda.Question[key]{{Key: slow, Every: time.Minute, Phase: 1}, {Key: quick, Every: time.Minute, Phase: 1}})
	a.Done(start, slow, 60*time.Second, 0)
	a.Done(start, quick, time.Second, 0)
	if got := a.Interval(quick); got < 5*time.Minute {
		t.Fatalf("the interval is %s beside a question that takes a minute each minute", got)
	}
	a.Done(start.Add(time.Second), slow, time.Millisecond, 0)
	if got := a.Interval(quick); got < 5*time.Minute {
		t.Errorf("the interval is %s, and the next time in five minutes", got)
	}
}

// A rest stretches as its question does, and ends with the next answer.
func TestRestIsUntilTheNextTime(t *testing.T) {
	start := time.Unix(0, 0)
	a := agenda.New[key](0.2)
	watch := key{"watch", 0}
	a.Set(start, []agenda.Question[key]{{Key: watch, Every: time.Minute, Phase: 1}})
	for _, c := range []struct{ cost, rest, want time.Duration }{
		{time.Second, 0, 0},
		{10 * time.Second, 5 * time.Minute, 5 * time.Minute},
		{2 * time.Minute, 5 * time.Minute, 11 * time.Minute}, // two minutes are a fifth of ten
		{time.Second, 0, 0},
	} {
		a.Done(start, watch, c.cost, c.rest)
		if got := a.Rest(watch).Round(time.Second); got != c.want {
			t.Errorf("after %s with a rest of %s: rests %s, want %s", c.cost, c.rest, got, c.want)
		}
	}
	if got := a.Rest(key{"gone", 0}); got != 0 {
		t.Errorf("a question that is not there rests %s", got)
	}
}
