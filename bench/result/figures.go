package result

import (
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// tally counts what happened inside a window.
type tally struct {
	span
	account   Account // of the requests sent inside
	completed int     // the successful requests that were over inside, and of them
	good      int     // those that met the objectives
	sentGood  int     // those that did of the account
	prompt    int64   // and their prompts' tokens
	output    float64
	seconds   map[int64]float64 // output tokens in each second since the window's start
}

func newTally(s span) *tally { return &tally{span: s, seconds: map[int64]float64{}} }

// take counts a request that was sent.
func (w *tally) take(r *runlog.Request, objectives Objectives) {
	t := &r.Trace
	start, end := instants(r)
	if w.holds(start) {
		w.account.add(t)
	}
	if t.Failure != nil {
		return
	}
	good := objectives.met(t)
	if good && w.holds(start) {
		w.sentGood++
	}
	if w.holds(end) {
		w.completed++
		w.prompt += int64(promptTokens(r))
		if good {
			w.good++
		}
	}
	w.tokens(t, start)
}

// tokens counts the output tokens of a successful request as they came: each
// chunk brought its share. So a window that is short beside its requests counts no
// more tokens than were made in it. Tokens of an answer without text count at its
// end.
func (w *tally) tokens(t *openai.Trace, start int64) {
	tokens, _ := openai.OutputTokens(t)
	if end := start + int64(max(0, t.End)); len(t.Chunks) == 0 && w.holds(end) {
		w.seconds[(end-w.from)/int64(time.Second)] += float64(tokens)
		w.output += float64(tokens)
	}
	share := float64(tokens) / float64(len(t.Chunks))
	second, chunks := int64(0), 0 // one look into the map for a run of chunks in one second
	flush := func() {
		if chunks > 0 {
			w.seconds[second] += share * float64(chunks)
			w.output += share * float64(chunks)
		}
		chunks = 0
	}
	for _, c := range t.Chunks {
		at := start + int64(c.At)
		if !w.holds(at) {
			continue
		}
		if s := (at - w.from) / int64(time.Second); s != second {
			flush()
			second = s
		}
		chunks++
	}
	flush()
}

// met reports whether a successful request met every objective that is set. One
// that has no such sample, such as a TPOT of one token, meets it, as in vLLM. One
// without any text meets none: nobody could read it, however soon it was over.
func (o Objectives) met(t *openai.Trace) bool {
	if len(t.Chunks) == 0 {
		return false
	}
	meets := func(d time.Duration, objective time.Duration) bool { return objective <= 0 || d <= objective }
	first, _ := openai.TTFT(t)
	perToken, _ := openai.TPOT(t)
	all, _ := openai.E2E(t)
	return meets(first, o.TTFT) && meets(perToken, o.TPOT) && meets(meanITL(t), o.ITL) && meets(all, o.E2E)
}

// meanITL is 0 without a gap. The gaps add up to the time between the first chunk
// and the last.
func meanITL(t *openai.Trace) time.Duration {
	gaps := len(t.Chunks) - 1
	if gaps < 1 {
		return 0
	}
	return (t.Chunks[gaps].At - t.Chunks[0].At) / time.Duration(gaps)
}

// figures are those of the window, of the requests in m.
func (w *tally) figures(c *curve, m *recorder, opts Options) Figures {
	f := Figures{
		Window: w.window(), Account: w.account, Completed: w.completed,
		PromptTokens: w.prompt, OutputTokens: int64(math.Round(w.output)), PeakConcurrency: c.peak(w.span),
	}
	if s := w.span.seconds(); s > 0 {
		f.RequestThroughput = float64(w.completed) / s
		f.OutputThroughput = w.output / s
		f.TotalThroughput = (float64(w.prompt) + w.output) / s
	}
	if opts.Goodput.Any() {
		f.Goodput, f.Good = new(0.0), new(w.sentGood)
		if w.completed > 0 {
			*f.Goodput = f.RequestThroughput * float64(w.good) / float64(w.completed)
		}
	}
	f.PeakOutputThroughput = f.OutputThroughput
	for _, tokens := range w.seconds {
		f.PeakOutputThroughput = max(f.PeakOutputThroughput, tokens)
	}
	f.Distributions = m.distributions(opts.Percentiles)
	return f
}
