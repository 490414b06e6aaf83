package openai

import (
	"slices"
	"time"
)

// TTFT is the time from Started to the first chunk that carries text. There is none for a failed request, except that
// what was seen before a timeout or a stall stays.
func TTFT(t *Trace) (time.Duration, bool) {
	if !latencyCounts(t) || len(t.Chunks) == 0 {
		return 0, false
	}
	return t.Chunks[0].At, true
}

// FirstAnswer is the time from Started to the first text that is not reasoning, by the rule of [TTFT].
func FirstAnswer(t *Trace) (time.Duration, bool) {
	i := slices.IndexFunc(t.Chunks, func(c Chunk) bool { return !c.Reasoning })
	if !latencyCounts(t) || i < 0 {
		return 0, false
	}
	return t.Chunks[i].At, true
}

// ITLs are the gaps between successive chunks, each of which carries a token, by the rule of [TTFT].
func ITLs(t *Trace) []time.Duration {
	if !latencyCounts(t) || len(t.Chunks) < 2 {
		return nil
	}
	gaps := make([]time.Duration, 0, len(t.Chunks)-1)
	for i, c := range t.Chunks[1:] {
		gaps = append(gaps, c.At-t.Chunks[i].At)
	}
	return gaps
}

// TPOT is (last chunk - first) / (output tokens - 1). There is none for a failed request, for fewer than two
// tokens, or when all chunks came at one instant.
func TPOT(t *Trace) (time.Duration, bool) {
	n, _ := OutputTokens(t)
	if t.Failure != nil || n < 2 || len(t.Chunks) < 2 {
		return 0, false
	}
	took := t.Chunks[len(t.Chunks)-1].At - t.Chunks[0].At
	return took / time.Duration(n-1), took > 0
}

// E2E is the time from Started to the last chunk with text. There is none for a failed request.
func E2E(t *Trace) (time.Duration, bool) {
	if t.Failure != nil {
		return 0, false
	}
	for _, c := range slices.Backward(t.Chunks) {
		if !c.Textless {
			return c.At, true
		}
	}
	return 0, false
}

// OutputTokens is the number of generated tokens, of a failed request too, and its source: the server's
// usage or, where that is missing or 0, one token for each text and for each chunk without text.
func OutputTokens(t *Trace) (int, TokenSource) {
	if t.Usage != nil && t.Usage.CompletionTokens > 0 {
		return t.Usage.CompletionTokens, TokensUsage
	}
	return len(t.Chunks) + t.Merged, TokensChunks
}

// latencyCounts is the rule of [TTFT].
func latencyCounts(t *Trace) bool {
	return t.Failure == nil || t.Failure.Reason == ReasonTimeout || t.Failure.Reason == ReasonStalled
}
