package result

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// TestAnswersWithoutText: their tokens were made and count, at the answer's end;
// there is nothing to take a latency from.
func TestAnswersWithoutText(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		r := &requests[i].Trace
		r.Chunks, r.FirstAnswer, r.Textless = nil, 0, 3
		r.Usage = &openai.Usage{PromptTokens: 10, CompletionTokens: 5}
	}
	s := stepOf(t, Options{Goodput: Objectives{TTFT: time.Millisecond}}, newMemlog("a").step(closed(1, 20), requests, false).over())
	if a := s.Account; a.Succeeded != 20 || s.Whole.OutputTokens != 100 || s.Whole.Of(OutputLength).Mean != 5 {
		t.Errorf("%d succeeded with %d tokens, %v each; want 20 with 100, 5 each", a.Succeeded, s.Whole.OutputTokens, s.Whole.Of(OutputLength).Mean)
	}
	if n := s.Whole.Of(TTFT).Count + s.Whole.Of(E2E).Count + s.Whole.Of(TPOT).Count + s.Whole.Of(ITL).Count; n != 0 {
		t.Errorf("%d samples of latency of answers without text", n)
	}
	if good, ok := s.Whole.GoodRatio(); !ok || good != 0 {
		t.Errorf("%v of the answers without text are good (%t), want 0", good, ok)
	}
	want := Tokens{Textless: 60, Unreadable: 20, UnreadableTokens: 100}
	if s.Checks.Tokens != want {
		t.Errorf("tokens %+v, want %+v", s.Checks.Tokens, want)
	}
}

// TestOnlySomeAnswersTellOfTheCache as an older vLLM, which says nothing for 0.
func TestOnlySomeAnswersTellOfTheCache(t *testing.T) {
	for told, known := range map[*int]bool{nil: false, new(0): true, new(4): true} {
		requests := everySecond(20, time.Second)
		requests[7].Trace.Usage = &openai.Usage{PromptTokens: 8, CompletionTokens: 2, CachedTokens: told}
		c := stepOf(t, Options{}, newMemlog("a").step(closed(1, 20), requests, false).over()).Checks
		if c.CacheKnown != known || known && (c.CacheTold != 1 || c.Answered != 20) {
			t.Errorf("told %v: known %v, by %d of %d answers", told, c.CacheKnown, c.CacheTold, c.Answered)
		}
	}
}
