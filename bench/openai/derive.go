package openai

import "time"

// TTFT is the time from Started to the first chunk that carries text. There
// is none without text, though its tokens be an answer, and none for a failed
// request, except that what was seen before a timeout or a stall stays: leaving it
// out would flatter the figures.
func TTFT(t *Trace) (time.Duration, bool) {
	if !seenHolds(t) || len(t.Chunks) == 0 {
		return 0, false
	}
	return t.Chunks[0].At, true
}

// FirstAnswer is the time from Started to the first text that is not
// reasoning, under the same rule as [TTFT].
func FirstAnswer(t *Trace) (time.Duration, bool) {
	if !seenHolds(t) {
		return 0, false
	}
	for _, c := range t.Chunks {
		if !c.Reasoning {
			return t.FirstAnswer, true
		}
	}
	return 0, false
}

// ITLs are the gaps between successive chunks that carry text, one sample a
// gap, under the same rule as [TTFT].
func ITLs(t *Trace) []time.Duration {
	if !seenHolds(t) || len(t.Chunks) < 2 {
		return nil
	}
	gaps := make([]time.Duration, 0, len(t.Chunks)-1)
	for i, c := range t.Chunks[1:] {
		gaps = append(gaps, c.At-t.Chunks[i].At)
	}
	return gaps
}

// TPOT is (last text chunk - first) / (output tokens - 1). There is none for a
// failed request, for fewer than two tokens, or when all text came in one
// chunk or at one instant: the time between its tokens was not seen, and 0
// would be false.
func TPOT(t *Trace) (time.Duration, bool) {
	n, _ := OutputTokens(t)
	if t.Failure != nil || n < 2 || len(t.Chunks) < 2 {
		return 0, false
	}
	took := t.Chunks[len(t.Chunks)-1].At - t.Chunks[0].At
	return took / time.Duration(n-1), took > 0
}

// E2E is the time from Started to the last text chunk. There is none for a
// failed request.
func E2E(t *Trace) (time.Duration, bool) {
	if t.Failure != nil || len(t.Chunks) == 0 {
		return 0, false
	}
	return t.Chunks[len(t.Chunks)-1].At, true
}

// OutputTokens is the number of generated tokens, those without text among them,
// of a failed request too, and where it comes from: the server's usage, or what
// [tokensSeen] counts when there is none (or it claims 0 beside text).
func OutputTokens(t *Trace) (int, TokenSource) {
	if t.Usage != nil && t.Usage.CompletionTokens > 0 {
		return t.Usage.CompletionTokens, t.TokenSource
	}
	return tokensSeen(t)
}

// tokensSeen is the number of tokens without a usage: that of the token ids,
// or of the text chunks where there are none, or too few to be all.
func tokensSeen(t *Trace) (int, TokenSource) {
	if t.TokenIDs > 0 && t.TokenIDs >= len(t.Chunks) {
		return t.TokenIDs, TokensIDs
	}
	return len(t.Chunks), TokensChunks
}

// seenHolds reports whether what was seen of a request before its end counts.
func seenHolds(t *Trace) bool {
	return t.Failure == nil || t.Failure.Reason == ReasonTimeout || t.Failure.Reason == ReasonStalled
}
