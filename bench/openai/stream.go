package openai

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// stream turns a response's events into the part of a Trace that comes from them. It knows
// no clock and no network: events and instants in, chunks out.
type stream struct {
	trace      *Trace
	at         time.Duration // when the event in hand arrived; instants never go backwards
	lastTokens int32         // completion tokens with the chunk before, noCount if none
	keepAnswer bool
	answer     strings.Builder
}

// endMark is the data of a stream's last event.
const endMark = "[DONE]"

// brokenFinishes are finish_reasons of answers that engines gave up.
var brokenFinishes = []string{"abort", "error", "parse_error", "recover_stop"}

// end returns the failure of a stream that has ended, nil for none. Tokens without text are
// an answer, although nobody can read it.
func (s *stream) end() *Failure {
	tokens, _ := OutputTokens(s.trace)
	switch {
	case tokens == 0:
		return newFailure(ReasonEmpty, "the stream ended without any text")
	case !s.trace.Done && s.trace.Finish == "":
		return newFailure(ReasonTruncated, "the stream ended without [DONE] and without a finish_reason")
	}
	return nil
}

// add adds an event, and returns a failure where it is one. The stream has ended after that,
// and after [DONE].
func (s *stream) add(e sseEvent) *Failure {
	if s.trace.Events == 0 {
		s.trace.FirstEvent = s.at
	}
	s.trace.Events++
	if string(e.data) == endMark {
		s.trace.Done = true
		return s.end()
	}
	ev, ok := parseEvent(e.data)
	switch {
	case e.isError, ev.failed:
		return &Failure{Reason: ReasonStreamError, Detail: errorMessage(e.data)}
	case !ok:
		return newFailure(ReasonProtocol, "not a JSON object: %s", e.data)
	case ev.texts > 0:
		s.addChunk(&ev)
	}
	if ev.usage.IsObject() {
		s.addUsage(ev.usage)
	}
	if ev.finish != "" && !slices.Contains(brokenFinishes, s.trace.Finish) {
		s.trace.Finish = Excerpt(ev.finish)
	}
	return nil
}

func (s *stream) addChunk(ev *event) {
	c := Chunk{At: s.at, Reasoning: !ev.answer}
	if s.lastTokens != noCount && ev.tokens > s.lastTokens {
		c.Tokens = ev.tokens - s.lastTokens
	}
	s.lastTokens = ev.tokens
	s.trace.Chunks = append(s.trace.Chunks, c)
	s.trace.Merged += ev.texts - 1
	if s.keepAnswer {
		s.answer.WriteString(ev.content)
	}
}

// addUsage keeps the last number of each kind.
func (s *stream) addUsage(usage gjson.Result) {
	if s.trace.Usage == nil {
		s.trace.Usage = new(Usage)
	}
	u := s.trace.Usage
	keep := func(number *int, path string) bool {
		n := tokenCount(usage.Get(path))
		if n != noCount {
			*number = int(n)
		}
		return n != noCount
	}
	keep(&u.PromptTokens, "prompt_tokens")
	keep(&u.CompletionTokens, "completion_tokens")
	keep(&u.ReasoningTokens, "completion_tokens_details.reasoning_tokens")
	if cached := 0; keep(&cached, "prompt_tokens_details.cached_tokens") {
		u.CachedTokens = &cached
	}
}
