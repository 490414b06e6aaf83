package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Checks say how far figures can be trusted. Those of the steady part are of the whole step where there is none.
type Checks struct {
	// Achieved is how many requests, or conversations with their thinking time, were in flight on the mean of
	// the steady part: the time all of them spent in flight over its length (Little's law). AchievedWhole is
	// that of the whole step, ramp and drain included.
	Achieved      float64 `json:"achieved_concurrency"`
	AchievedWhole float64 `json:"achieved_concurrency_whole"`
	// AchievedRate is the requests sent, or conversations begun, a second of the steady part.
	AchievedRate float64 `json:"achieved_rate"`
	// ClientLag is how late this program read what had arrived, in seconds on the mean, and MostLag at most.
	ClientLag float64 `json:"client_lag"`
	MostLag   float64 `json:"client_lag_max"`
	// KernelClock is the share of requests with an answer whose instants are the kernel's, 0 to 1.
	KernelClock float64 `json:"kernel_clock"`
	// TokensBy counts the successful requests by where their number of output tokens comes from.
	TokensBy map[openai.TokenSource]int `json:"tokens_by,omitempty"`
	// TokensWithoutChunk is the share of the output tokens that came without a chunk of text of their own:
	// without text, or together with another. The token that ends an answer never has one and is left out.
	TokensWithoutChunk float64 `json:"tokens_without_chunk"`
	Prompts            Prompts `json:"prompt_lengths,omitzero"`
	// CachedTokens is how many of the PromptTokens came from the server's prefix cache by
	// its usage; CacheKnown reports whether any had it.
	CachedTokens int64   `json:"cached_tokens"`
	PromptTokens int64   `json:"prompt_tokens"`
	CacheKnown   bool    `json:"cache_known"`
	Resent       int     `json:"resent,omitempty"` // requests sent again, as the server had closed their kept connection
	ClientCPU    float64 `json:"client_cpu"`       // cores this program used on the mean, 0 when not sampled
	Trends       []Trend `json:"trends,omitempty"` // of TTFT, TPOT and E2E in the steady part
	// Arrivals is how probable gaps between requests are that differ so much from those asked for
	// (Kolmogorov-Smirnov), and ArrivalsOff the largest difference of the two distributions. Not
	// known where no random gaps were asked for.
	Arrivals    Value `json:"arrivals_p,omitzero"`
	ArrivalsOff Value `json:"arrivals_ks,omitzero"`
	Textless    int   `json:"textless,omitempty"` // successful answers in which there was nothing to read
	// Broken are successful answers whose text is degenerate, BrokenAs what is wrong with the first, and its request id.
	Broken   int    `json:"broken,omitempty"`
	BrokenAs string `json:"broken_as,omitempty"`
}

// Prompts compares the lengths asked for with the server's count, over prompts made of words whose answer has a usage.
type Prompts struct {
	Counted       int   `json:"counted,omitempty"`
	AimedTokens   int64 `json:"aimed_tokens,omitempty"`
	CountedTokens int64 `json:"counted_tokens,omitempty"`
	// TemplateTokens is what the server adds to each prompt, as by the chat template, 0 where not known.
	TemplateTokens int `json:"template_tokens,omitempty"`
}

// Trend is how a latency changed during a window.
type Trend struct {
	Measure Key `json:"measure"`
	// PerHour is the change an hour as a share of the mean, PlusMinus half of its 95 % confidence interval.
	PerHour   float64 `json:"per_hour"`
	PlusMinus float64 `json:"plus_minus"`
	// Clear is true where the change is beyond chance, and more than 5 % in a window of a minute or more.
	Clear bool `json:"clear"`
	// Start is how far the mean of the first fifth is off that of the second half, as a share of it. It is known of
	// E2E only, and only where it is beyond chance and more than 20 %.
	Start Value `json:"start,omitzero"`
}

type counts struct {
	lag              openai.Lag
	answered, kernel int // requests with an answer, and those with the kernel's instants
	// together are the answers whose first text was read with later chunks, atOnce the chunks that came so.
	together, atOnce int
	tokens, chunks   int // of successes with text whose tokens the server tells; not their last tokens
}

func (d *stepData) check(r *runlog.Request, q *request) {
	t, n, c := &r.Trace, &d.counts, &d.Checks
	n.lag.Reads += t.Lag.Reads
	n.lag.Sum += t.Lag.Sum
	n.lag.Max = max(n.lag.Max, t.Lag.Max)
	if t.Events > 0 {
		n.answered++
		if t.Clock == openai.ClockKernel {
			n.kernel++
		}
	}
	if t.Resent {
		c.Resent++
	}
	if t.Broken != "" {
		c.BrokenAs = cmp.Or(c.BrokenAs, fmt.Sprintf("%s, request %s", t.Broken, t.RequestID))
		c.Broken++
	}
	later := slices.IndexFunc(t.Chunks, func(chunk openai.Chunk) bool { return chunk.At != t.Chunks[0].At })
	if later < 0 {
		later = len(t.Chunks)
	}
	if later > 1 {
		n.together++
		n.atOnce += later
	}
	if t.Failure == nil {
		tokens, source := openai.OutputTokens(t)
		c.TokensBy[source]++
		if len(t.Chunks) == 0 {
			c.Textless++
		} else if source != openai.TokensChunks {
			n.tokens += tokens - 1
			n.chunks += len(t.Chunks)
		}
	}
	if t.Usage == nil || t.Usage.PromptTokens == 0 {
		return
	}
	c.PromptTokens += int64(q.prompt)
	c.CachedTokens += int64(q.cached)
	c.CacheKnown = c.CacheKnown || t.Usage.CachedTokens != nil
	if r.AimedTokens > 0 {
		c.Prompts.Counted++
		c.Prompts.AimedTokens += int64(r.AimedTokens)
		c.Prompts.CountedTokens += int64(q.prompt)
	}
}

// addChecks adds those that need the windows; window is the steady one, or the whole step without one.
func (d *stepData) addChecks(whole, window span) {
	c, n := &d.Checks, &d.counts
	if c.Prompts.Counted > 0 {
		c.Prompts.TemplateTokens = d.parts[0].run.TemplateTokens
	}
	c.Achieved, c.AchievedWhole = concurrency(window, d.units), concurrency(whole, d.units)
	if units := sentIn(window, d.units); len(units) > 1 {
		gaps := len(units) - 1
		c.AchievedRate = span{units[0].start, units[gaps].start}.rate(float64(gaps))
	}
	if n.lag.Reads > 0 {
		c.ClientLag, c.MostLag = n.lag.Sum.Seconds()/float64(n.lag.Reads), n.lag.Max.Seconds()
	}
	if n.answered > 0 {
		c.KernelClock = float64(n.kernel) / float64(n.answered)
	}
	if n.tokens > n.chunks {
		c.TokensWithoutChunk = 1 - float64(n.chunks)/float64(n.tokens)
	}
	for _, p := range d.parts {
		c.ClientCPU += p.cores()
	}
	sent := sentIn(window, d.requests)
	for _, m := range Main() {
		if m.sample == nil {
			continue
		}
		var at, values []float64
		for i := range sent {
			if v := m.sample(&sent[i]); v >= 0 {
				at, values = append(at, float64(sent[i].start-window.from)), append(values, float64(v))
			}
		}
		if trend, known := newTrend(at, values); known {
			trend.Measure, trend.Start = m.Key, Unknown()
			first, last := values[:len(values)/5], values[len(values)/2:]
			off := stat.Mean(first, nil)/stat.Mean(last, nil) - 1
			// If nothing changed, the first fifth has the spread of the second half. The first users always wait for
			// each other's prefill, so only E2E says it.
			noise := errorOfMean(last) / stat.Mean(last, nil) * math.Sqrt(1+float64(len(last))/float64(len(first)))
			if m.Key == E2E && len(last) >= minStart && math.Abs(off) > max(maxStart, timeNoise*noise) {
				trend.Start = Value(off)
			}
			c.Trends = append(c.Trends, trend)
		}
	}
	c.Arrivals, c.ArrivalsOff = Unknown(), Unknown()
	if d.RampUp == 0 || window != whole { // else the rate is not the one asked for
		c.Arrivals, c.ArrivalsOff = d.arrivals(window)
	}
}

// arrivals holds the gaps between requests of a window, in which the rate is the full one, against those that
// were asked for: by the Kolmogorov-Smirnov distance and how probable one as large is.
func (d *stepData) arrivals(w span) (p, distance Value) {
	s, sent := &d.Step, sentIn(w, d.units)
	// The gaps of several machines together are gamma-distributed only where they split one arrival process.
	isGamma := s.Arrival == runlog.ArrivalGamma && (len(d.parts) == 1 || d.parts[0].run.Machines > 0)
	if s.Arrival != runlog.ArrivalPoisson && !isGamma || len(sent) <= minSteadyRequests {
		return Unknown(), Unknown()
	}
	var gaps []float64
	sent = slices.SortedFunc(slices.Values(sent), func(a, b unit) int { return cmp.Compare(a.arrival(), b.arrival()) })
	for i := 1; i < len(sent); i++ {
		gaps = append(gaps, max(0, float64(sent[i].arrival()-sent[i-1].arrival())))
	}
	slices.Sort(gaps)
	shape := cmp.Or(s.Burstiness, 1)
	asked := distuv.Gamma{Alpha: shape, Beta: shape * s.Rate / perSecond}
	most, n := 0.0, float64(len(gaps))
	for i, gap := range gaps {
		const delay = float64(negligibleDelay)
		most = max(most, asked.CDF(max(0, gap-delay))-float64(i)/n, float64(i+1)/n-asked.CDF(gap+delay))
	}
	x, sum := (math.Sqrt(n)+0.12+0.11/math.Sqrt(n))*most, 0.0 // Stephens' form of Kolmogorov's limit
	for k := range 100 {
		sum += math.Pow(-1, float64(k)) * math.Exp(-2*math.Pow(float64(k+1)*x, 2))
	}
	return Value(min(1, max(0, 2*sum))), Value(most)
}

// cores is how many the load generator used on the mean, 0 when that is not known.
func (p *part) cores() float64 {
	used := p.cpu.growth()
	if !used.Known() {
		return 0
	}
	return float64(used) / time.Duration(p.cpu[len(p.cpu)-1].at-p.cpu[0].at).Seconds()
}

// From where on the figures are in doubt.
const (
	maxCPUShare     = 0.8              // of the load generator's cores
	fairPart        = 0.05             // of a latency, of the gap between requests, or of an objective
	negligibleDelay = time.Millisecond // of the client's own
	minKernelClock  = 0.99             // requests with the kernel's instants
	maxResent       = 0.01             // requests sent again
	minStart        = 50               // samples in the half that the start is held against
	maxStart        = 0.2              // by which the start may differ
	rareArrivals    = 0.001            // probability of gaps that differ so from those asked for
	maxTogether     = 0.05             // answers whose first text was read with later chunks
	maxChunkless    = 0.02             // tokens without a chunk of text of their own
	rounding        = 1e-6             // of what floating point makes of a percentile
	maxMissedHits   = 0.05             // by which the hit ratio is below the possible one
	// by which it is above the possible one, which does not hold what a chat template puts before all prompts.
	maxUnexplainedHits = 0.25
)

// sentences are warnings, each made of one format.
type sentences []string

func (all *sentences) add(applies bool, format string, args ...any) {
	if applies {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

// addWarnings says what makes the figures of a step doubtful, the gravest first.
func (d *stepData) addWarnings() {
	var all sentences
	s, a, n := &d.Step, &d.Account, &d.counts
	limit, remedy := d.clientLimit()
	lost := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Lost), "[]"), " ", ", ")
	s.ClientLimit, s.Short = limit, d.short()
	all.add(s.Void != nil, "The step is void: machine %s was lost, so the load was not what was asked for.", lost)
	all.add(s.Void == nil && s.Lost != nil, "Machine %s was lost, and its share of the load is missing from then on.", lost)
	all.add(a.Unknown > 0, "What became of %d requests of a lost machine is not known.", a.Unknown)
	all.add(s.Stop != "" && d.counted != a.Attempted, "The log holds %d requests, and %d were sent: some are missing or counted twice.", a.Attempted, d.counted)
	all.add(s.Stop.Early(), "The step was stopped after %d requests (%s): it is shorter than was asked for.", a.Attempted, s.Stop)
	failures := make([]string, 0, len(a.Failed))
	for _, reason := range a.Reasons() {
		failures = append(failures, fmt.Sprintf("%s %d", openai.Excerpt(string(reason)), a.Failed[reason]))
	}
	failed := fmt.Sprintf("%d of %d requests failed (%s)", a.Failures(), a.Attempted-a.Canceled, strings.Join(failures, ", "))
	if a.Succeeded == 0 {
		all.add(a.Failures() > 0, "%s.", failed)
		all.add(limit != "", "The load generator was the limit: %s. %s.", limit, remedy)
		s.Warnings = all
		return
	}
	all.add(a.Failures() > 0, "%s: those that ended at once are in no latency, so read latencies beside this share.", failed)
	all.add(s.NotSteady != "", "No steady state (%s): all figures are of the whole step, ramp and drain included.", s.NotSteady)
	all.add(s.Short != "" && s.Steady != nil, "The load was less than the step is named by: %s.", s.Short)
	all.add(limit != "", "The load generator was the limit: %s. %s.", limit, remedy)
	all.add(s.Checks.Textless > 0, "%d of %d answers had no text: they have no latencies.", s.Checks.Textless, a.Succeeded)
	all.add(s.Checks.Broken > 0, "%d of %d answers (%.1f %%) are broken text, as an engine writes that computes wrongly: %s.", s.Checks.Broken, a.Succeeded, 100*float64(s.Checks.Broken)/float64(a.Succeeded), s.Checks.BrokenAs)
	all.add(float64(s.Checks.Resent) > maxResent*float64(a.Attempted), "%d of %d requests were sent again, as the server had closed their kept connection: it may have restarted, or close idle connections too early.", s.Checks.Resent, a.Attempted)
	for _, t := range s.Checks.Trends {
		label, percent := openai.Objective{Measure: t.Measure}.Label(), 100*s.SteadyOrWhole().Window.Duration().Hours()
		all.add(t.Clear && s.Steady != nil && s.Arrival != runlog.ArrivalReplay, "%s was not stationary: it changed by %+.0f ± %.0f %% over the steady part. Run longer, or look for what else happened.", label, percent*t.PerHour, percent*t.PlusMinus)
		all.add(!t.Clear && t.Start.Known() && s.Steady != nil && s.Arrival != runlog.ArrivalReplay, "%s was not stationary: in the first fifth of the steady part it was %+.0f %% off the second half. Send --num-warmups first, or run longer.", label, 100*t.Start)
	}
	all.add(float64(s.Checks.Arrivals) < rareArrivals && float64(s.Checks.ArrivalsOff) > fairPart, "Requests did not arrive as asked for: their gaps differ from the wanted distribution by %.0f %% (Kolmogorov-Smirnov, p=%.2g).",
		100*s.Checks.ArrivalsOff, s.Checks.Arrivals)
	chunks := float64(n.atOnce) / float64(max(1, n.together))
	all.add(float64(n.together) > maxTogether*float64(n.answered) && tooLong((chunks-1)*s.Whole.median(TPOT), s.Whole.median(TTFT)),
		"The first text of %d of %d answers was read together with later chunks, %.1f at once on the mean: their TTFT is late, unless the server or a proxy joins chunks.",
		n.together, n.answered, chunks)
	all.add(s.Checks.TokensWithoutChunk > maxChunkless, "%.1f %% of the output tokens have no chunk of text of their own, as they have no text or came together: ITL is the gap between chunks, so read TPOT or ITL a token for the time of a token.",
		100*s.Checks.TokensWithoutChunk)
	times := (s.Dataset.Passes + 1) * (s.Index + 1)
	all.add(d.parts[0].run.ReusePrompts && times > 1, "Prompts were sent up to %d times so far: the server's prefix cache may have served all but the first.", times)
	all.add(s.Dataset.Cut, "The trace has more records than the %d that were sent: give more --num-prompts to send them too.", s.Requests)
	if served := s.Cache.Served(); served != nil && s.Cache.Possible != nil {
		missed := s.Cache.Possible.Ratio - served.Ratio
		all.add(missed > maxMissedHits && a.FailureRatio() < fairPart, "The prefix cache served %.0f %% of the prompts' tokens, %.0f %% were possible: it is off, or too small for the prefixes, or several replicas have a cache each.",
			100*served.Ratio, 100*s.Cache.Possible.Ratio)
		all.add(-missed > maxUnexplainedHits, "The prefix cache served %.0f %% of the prompts' tokens, and %.0f %% were possible in this run: it had them from before. Restart the server, or give another --seed.",
			100*served.Ratio, 100*s.Cache.Possible.Ratio)
	}
	all.add(len(s.Cards) > 0 && len(s.Serving()) == 0, "None of the exporter's targets is this endpoint, so its cards and their energy are not known: name its target by host and port.")
	part := "the step"
	if s.Steady != nil {
		part = "the steady part"
	}
	highest, ttft := slices.Max(s.Percentiles), s.SteadyOrWhole().Of(TTFT)
	p, _ := ttft.At(highest)
	least := math.Ceil(100/(100-highest) - rounding)
	all.add(ttft.Count > 0 && float64(p.Independent) < least, "p%g takes %.0f independent requests, and %s has %.0f (%d requests): run more, or do not quote it.",
		highest, least, part, math.Floor(float64(p.Independent)), ttft.Count+ttft.Waiting)
	s.Warnings = all
}

// clientLimit says how the load generator was what limited a step, in a clause, and what to do; empty where it was
// not. A delay counts where it is in the latencies, or a fair part of the gap between requests or of an objective.
func (d *stepData) clientLimit() (limit, remedy string) {
	const moreCores = "Give it more cores, or use more machines"
	for _, p := range d.parts {
		if cores := p.cores(); p.run.GOMAXPROCS > 0 && cores > maxCPUShare*float64(p.run.GOMAXPROCS) {
			return fmt.Sprintf("it used %.2f of the %d cores of %s", cores, p.run.GOMAXPROCS, p.run.Host), moreCores
		}
	}
	lag, late, gap := d.Checks.ClientLag, d.Whole.Of(Lateness).Mean, 0.0
	if n := len(d.units); n > 1 {
		gap = span{d.units[0].due, d.units[n-1].due}.seconds() / float64(n-1) // between requests as they were due
	}
	inAnswer := []Key{TPOT, ITL, openai.Failures} // which do not begin with the sending
	isLate := tooLong(late, gap) || slices.ContainsFunc(d.Objectives, func(r ObjectiveResult) bool {
		return !slices.Contains(inAnswer, r.Measure) && tooLong(late, r.Limit)
	})
	switch {
	case d.outOfFiles:
		return fmt.Sprintf("%d requests failed for want of file descriptors", d.localFailures), "Raise ulimit -n"
	case d.localFailures > 0:
		return fmt.Sprintf("%d requests failed for want of ports or memory for connections", d.localFailures), "Use more machines"
	case d.Checks.KernelClock < minKernelClock && tooLong(lag, d.Whole.median(ITL)):
		return fmt.Sprintf("it read what had arrived %.1f ms late on the mean, and had no stamps of the kernel to correct that", 1000*lag), moreCores
	case d.Arrival != runlog.ArrivalClosed && isLate:
		return fmt.Sprintf("it sent requests %.1f ms late on the mean", 1000*late), moreCores
	}
	return "", ""
}

// tooLong reports whether a delay is a fair part of a time, both in seconds.
func tooLong(delay, time float64) bool {
	return time > 0 && delay > negligibleDelay.Seconds() && delay > fairPart*time
}

// short says by how much the load was less than the step is named by, in a clause; empty
// where it was not. A rate is held against when the requests arrived.
func (d *stepData) short() string {
	if level := d.Concurrency; level > 0 && d.Checks.Achieved < minLoadShare*float64(level) {
		return fmt.Sprintf("%.1f of %d %s were in flight on the mean", d.Checks.Achieved, level, d.noun())
	}
	if d.Concurrency > 0 || d.Arrival == runlog.ArrivalBurst || d.Overloaded() || len(d.units) == 0 {
		return ""
	}
	first, last := d.units[0], d.units[len(d.units)-1]
	took, due := float64(last.arrival()-first.arrival()), float64(last.due-first.due)
	if due >= minLoadShare*took {
		return ""
	}
	return fmt.Sprintf("%s of %.1f s were sent in %.1f s", d.noun(), due/perSecond, took/perSecond)
}
