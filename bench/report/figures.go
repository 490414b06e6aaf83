package report

import (
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// measure is one distribution of [Figures].
type measure int

const (
	ttft measure = iota
	firstAnswer
	tpot
	itl
	tokenITL
	e2e
	ttftFromPlanned
	e2eFromPlanned
	queue
	lateness
	setup
	promptLength
	outputLength
	measureCount
)

// measures are the samples of the requests that were sent in some span.
type measures [measureCount]samples

func newMeasures(limit int) *measures {
	m := new(measures)
	for i := range m {
		m[i].limit = limit
	}
	return m
}

// take adds all samples that a request gives. bounded is true where requests
// wait in this program for their turn.
func (m *measures) take(r *runlog.Request, bounded bool) {
	t := &r.Trace
	late := int64(max(0, t.Started.Sub(planned(t))))
	m.duration(firstAnswer)(openai.FirstAnswer(t))
	m.duration(tpot)(openai.TPOT(t))
	if d, ok := openai.TTFT(t); ok {
		m[ttft].add(int64(d))
		m[ttftFromPlanned].add(int64(d) + late)
	}
	if d, ok := openai.E2E(t); ok {
		m[e2e].add(int64(d))
		m[e2eFromPlanned].add(int64(d) + late)
	}
	for _, d := range openai.ITLs(t) {
		m[itl].add(int64(d))
	}
	for _, d := range openai.TokenITLs(t) {
		m[tokenITL].add(int64(d))
	}
	if bounded {
		m[queue].add(int64(r.Queued))
	}
	m[lateness].add(late - int64(r.Queued))
	if madeConnection(t) {
		m[setup].add(int64(t.Phases.Resolve + t.Phases.Connect + t.Phases.TLS))
	}
	if t.Failure == nil {
		tokens, _ := openai.OutputTokens(t)
		m[outputLength].add(int64(tokens))
		if n := promptTokens(r); n > 0 {
			m[promptLength].add(int64(n))
		}
	}
}

// duration adds what a function of bench/openai derived, if it did.
func (m *measures) duration(k measure) func(time.Duration, bool) {
	return func(d time.Duration, ok bool) {
		if ok {
			m[k].add(int64(d))
		}
	}
}

// madeConnection says whether the request had to make its own connection, and
// got it.
func madeConnection(t *openai.Trace) bool { return !t.Reused && t.Phases.Connect > 0 }

// promptTokens is the length of the prompt as the server counted it, else as the
// dataset made it, 0 when neither tells.
func promptTokens(r *runlog.Request) int {
	if u := r.Trace.Usage; u != nil && u.PromptTokens > 0 {
		return u.PromptTokens
	}
	return r.ExpectedTokens
}

// fill writes the distributions into f.
func (m *measures) fill(f *Figures, ps []float64) {
	sum := func(k measure, unit float64) Distribution { return m[k].distribution(ps, unit) }
	f.TTFT, f.FirstAnswer = sum(ttft, perSecond), sum(firstAnswer, perSecond)
	f.TPOT, f.ITL, f.TokenITL = sum(tpot, perSecond), sum(itl, perSecond), sum(tokenITL, perSecond)
	f.E2E = sum(e2e, perSecond)
	f.TTFTFromPlanned, f.E2EFromPlanned = sum(ttftFromPlanned, perSecond), sum(e2eFromPlanned, perSecond)
	f.Queue, f.Lateness, f.Setup = sum(queue, perSecond), sum(lateness, perSecond), sum(setup, perSecond)
	f.PromptLength, f.OutputLength = sum(promptLength, perToken), sum(outputLength, perToken)
}

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

// met says whether a successful request met every objective that is set. One
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
func (w *tally) figures(c *curve, m *measures, opts Options) Figures {
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
	m.fill(&f, opts.Percentiles)
	return f
}
