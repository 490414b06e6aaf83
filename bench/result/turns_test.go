package result

import (
	"fmt"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// talkLog is of 18 conversations of 2 to 4 turns, 4 at once, with the stand-in server.
const talkLog = "testdata/conversations.jsonl"

// naiveTalk is a log of conversations, read without the report's code.
type naiveTalk struct {
	requests   []runlog.Request
	begin, end map[int]time.Time // of conversations
}

func readTalk(t *testing.T) naiveTalk {
	t.Helper()
	n := naiveTalk{begin: map[int]time.Time{}, end: map[int]time.Time{}}
	_, err := runlog.Read(talkLog, func(r runlog.Record) error {
		if q := r.Request; q != nil {
			n.requests = append(n.requests, *q)
			if q.Turn == 1 {
				n.begin[q.Seq] = q.Trace.Started
			}
			n.end[q.Seq] = q.Trace.Started.Add(q.Trace.End)
		}
		return nil
	})
	noError(t, err)
	return n
}

// inFlight counts the conversations that were begun and not over.
func (n naiveTalk) inFlight(at time.Time) (count int) {
	for seq, begin := range n.begin {
		if !begin.After(at) && n.end[seq].After(at) {
			count++
		}
	}
	return count
}

// window is from the first instant with so many conversations until the last one began.
func (n naiveTalk) window(level int) (w Window) {
	for _, begin := range n.begin {
		if n.inFlight(begin) == level && (w.From.IsZero() || begin.Before(w.From)) {
			w.From = begin.UTC()
		}
		if begin.After(w.To) {
			w.To = begin.UTC()
		}
	}
	return w
}

// sent are the TTFTs of turns in a window, in seconds, and those turns' means.
func (n naiveTalk) sent(w Window, isWanted func(turn int) bool) (ttft, tpot []float64, turn Turn) {
	cached := 0.0
	for _, r := range n.requests {
		if !isWanted(r.Turn) || r.Trace.Started.Before(w.From) || r.Trace.Started.After(w.To) {
			continue
		}
		ttft = append(ttft, r.Trace.Chunks[0].At.Seconds())
		if d, ok := openai.TPOT(&r.Trace); ok {
			tpot = append(tpot, d.Seconds())
		}
		turn.Requests++
		turn.PromptTokens += float64(r.Trace.Usage.PromptTokens)
		turn.NewTokens += float64(r.Trace.Usage.PromptTokens - r.SharedTokens)
		cached += float64(*r.Trace.Usage.CachedTokens)
	}
	turn.PromptTokens /= float64(turn.Requests)
	turn.NewTokens /= float64(turn.Requests)
	turn.CachedTokens = Value(cached / float64(turn.Requests))
	return ttft, tpot, turn
}

func TestTurnsAgainstTheNaiveWay(t *testing.T) {
	naive := readTalk(t)
	r, err := Read(Options{}, talkLog)
	noError(t, err)
	got := r.Steps[0]
	ps := Options{}.withDefaults([]runlog.Run{{}}).computed
	w := naive.window(4)
	if got.Steady == nil || got.Steady.Window != w || got.Conversations != 18 {
		t.Fatalf("%d conversations, steady %+v, want %+v", got.Conversations, got.Steady, w)
	}
	var want []Turn
	for n := 1; n <= 4; n++ {
		ttft, tpot, turn := naive.sent(w, func(turn int) bool { return turn == n })
		turn.Turn, turn.TTFT, turn.TPOT = n, naiveDistribution(ttft, nil, ps), naiveDistribution(tpot, nil, ps)
		want = append(want, turn)
	}
	equal(t, "turns", want, got.Turns, figuresOnly)
	first, _, _ := naive.sent(w, func(turn int) bool { return turn == 1 })
	later, _, _ := naive.sent(w, func(turn int) bool { return turn > 1 })
	for key, samples := range map[Key][]float64{TTFTFirst: first, TTFTLater: later} {
		equal(t, string(key), naiveDistribution(samples, nil, ps), got.Steady.Of(key), figuresOnly)
	}
}

// TestPossibleIsOfKnownPrefixes: without a block size one is assumed, a prompt's last
// token is always computed. Of other data sets nothing is known, nor of made prompts that
// come again.
func TestPossibleIsOfKnownPrefixes(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		requests[i].Trace.Usage.PromptTokens, requests[i].SharedTokens = 64, 64
	}
	possible := &Cache{BlockSize: 16, BlockAssumed: true, Possible: &Hits{20 * 48, 20 * 64, 0.75}}
	for name, want := range map[string][2]*Cache{ // of new prompts, and of those that come again
		"random": {possible, nil}, "prefix_repetition": {possible, nil}, "timed_trace": {possible, possible}, "openqa": {nil, nil},
	} {
		for i, reuse := range []bool{false, true} {
			step := closed(1, 20)
			step.Index = 1
			l := newMemlog("a").step(step, requests, false).ended()
			l.run.Dataset, l.run.ReusePrompts = name, reuse
			equal(t, fmt.Sprintf("%s, sent again %t", name, reuse), want[i], stepOf(t, Options{}, l).Cache)
		}
	}
}

// A cache that counts by token, as llama.cpp's, is not told off for blocks that it does not have.
func TestCacheByToken(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		requests[i].Trace.Usage.PromptTokens, requests[i].SharedTokens, requests[i].Trace.Usage.CachedTokens = 14, 11, new(11)
	}
	l := newMemlog("a").step(closed(1, 20), requests, false).ended()
	l.run.Dataset = "random"
	hits := &Hits{20 * 11, 20 * 14, 11.0 / 14}
	equal(t, "cache", &Cache{BlockSize: 1, BlockAssumed: true, Possible: hits, Usage: hits}, stepOf(t, Options{}, l).Cache)
}

// conversation is of two turns, with a thinking time between.
func conversation(seq int, start, takes, think time.Duration) []runlog.Request {
	all := []runlog.Request{answered(start, 10, 3, takes/2, takes), answered(start+takes+think, 10, 3, takes/2, takes)}
	for i := range all {
		all[i].Seq, all[i].Turn = seq, i+1
	}
	return all
}

// TestConversationsOfMachines: numbers of conversations are those of each machine, and
// thinking time keeps a conversation in flight.
func TestConversationsOfMachines(t *testing.T) {
	one := func(host string) *memlog {
		var all []runlog.Request
		for i := range 40 {
			all = append(all, conversation(i, time.Duration(i/4)*10*time.Second, time.Second, 8*time.Second)...)
		}
		l := newMemlog(host).step(closed(4, 40), all, false)
		end := l.records[len(l.records)-1].StepEnd
		end.TurnsNotSent, end.AtModelLength = 3, 1
		return l.ended()
	}
	s := stepOf(t, Options{Percentiles: []float64{90}}, one("a"), one("b"))
	if s.Conversations != 80 || s.TurnsNotSent != 6 || s.AtModelLength != 2 || s.Label.Long != "8 conversations" {
		t.Errorf("%s: %d conversations, %d turns not sent, %d at the model's length", s.Label.Long, s.Conversations, s.TurnsNotSent, s.AtModelLength)
	}
	if s.Checks.Achieved != 8 || s.Whole.PeakConcurrency != 8 || s.Account.Attempted != 160 || len(s.Warnings) > 0 {
		t.Errorf("%v in flight, at most %d, %d requests, warnings %q", s.Checks.Achieved, s.Whole.PeakConcurrency, s.Account.Attempted, s.Warnings)
	}
}

// TestConversationsAtARate: what piles up are conversations that last ever longer, not
// those that merely think.
func TestConversationsAtARate(t *testing.T) {
	for _, slower := range []time.Duration{0, 200 * time.Millisecond} {
		var all []runlog.Request
		for i := range 100 {
			all = append(all, conversation(i, time.Duration(i)*time.Second, time.Second+time.Duration(i)*slower, 20*time.Second)...)
		}
		step := runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: 1}
		s := stepOf(t, Options{}, newMemlog("a").step(step, all, false).ended())
		if s.Overloaded() != (slower > 0) || s.Checks.AchievedRate != 1 || s.Label.Long != "1 conversations/s" {
			t.Errorf("%s, each %s slower: not steady as %q, %v a second", s.Label.Long, slower, s.NotSteady, s.Checks.AchievedRate)
		}
	}
}
