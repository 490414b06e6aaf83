package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	// Start is how far the mean of the first fifth is off that of the second half, as a share of it; not known
	// where it is not, beyond chance, and but of E2E.
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
	t, n, c := &r.Trace, &d.counts, &d.checks
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
		if c.TokensBy == nil {
			c.TokensBy = map[openai.TokenSource]int{}
		}
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

// newChecks are those of a step whose windows are known; window is the steady one, or the whole step without one.
func (d *stepData) newChecks(whole, window span) Checks {
	c, n := d.checks, &d.counts
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
	if d.step.RampUp == 0 || window != whole { // else the rate is not the one asked for
		c.Arrivals, c.ArrivalsOff = d.arrivals(window)
	}
	return c
}

// arrivals holds the gaps between requests of a window, in which the rate is the full one, against those that
// were asked for: by the Kolmogorov-Smirnov distance and how probable one as large is.
func (d *stepData) arrivals(w span) (p, distance Value) {
	s, sent := &d.step, sentIn(w, d.units)
	// Gaps of several machines no longer are, unless they share one process.
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
