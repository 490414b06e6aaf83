package result

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Checks say how far the figures of a step can be trusted.
type Checks struct {
	// Configured is the number of requests that were to be in flight, 0 for an
	// open loop without a bound. AchievedWhole is the mean that really was over the
	// whole step, ramp and drain included: the time all requests spent in flight
	// over the time of the window (Little's law). Achieved is that of the steady
	// window, or AchievedWhole without one.
	Configured    int     `json:"configured_concurrency"`
	Achieved      float64 `json:"achieved_concurrency"`
	AchievedWhole float64 `json:"achieved_concurrency_whole"`
	// ConfiguredRate is 0 for a closed loop. AchievedRate is the requests sent a
	// second, from the first to the last: of the steady window, or of the whole step
	// without one.
	ConfiguredRate float64 `json:"configured_rate"`
	AchievedRate   float64 `json:"achieved_rate"`
	// ClientLag is how late this program read what the kernel had received: mean and
	// maximum of all reads, the rest of each request's last one.
	ClientLag Distribution `json:"client_lag"`
	// KernelClock is the share of requests with an answer whose instants are the
	// kernel's, 0 to 1.
	KernelClock float64 `json:"kernel_clock"`
	// TokensBy counts the successful requests by where their number of output
	// tokens comes from.
	TokensBy map[openai.TokenSource]int `json:"tokens_by,omitempty"`
	Tokens   Tokens                     `json:"tokens,omitzero"`
	Prompts  Prompts                    `json:"prompt_lengths,omitzero"`
	// CachedTokens is how many of the PromptTokens came from the server's prefix
	// cache; CacheKnown reports whether the server told, in its usage or its metrics.
	CachedTokens int64 `json:"cached_tokens"`
	PromptTokens int64 `json:"prompt_tokens"`
	CacheKnown   bool  `json:"cache_known"`
	// NewConnections counts requests that had to make their own connection.
	NewConnections int `json:"new_connections"`
	// Resent counts requests that were sent once more, as the server had closed their
	// kept connection.
	Resent int `json:"resent,omitempty"`
	// ClientCPU is the cores this program used on the mean, 0 when not sampled.
	ClientCPU float64 `json:"client_cpu"`
}

// CacheHitRatio is the share of PromptTokens that came from the server's prefix cache.
func (c *Checks) CacheHitRatio() float64 {
	if c.PromptTokens == 0 {
		return 0
	}
	return float64(c.CachedTokens) / float64(c.PromptTokens)
}

// Tokens sets the output tokens of the successful answers beside the events that
// brought them.
type Tokens struct {
	// Counted are the tokens of the answers with text that a usage or token ids tell,
	// Chunks the chunks of text of the same Answers.
	Counted int64 `json:"counted,omitempty"`
	Chunks  int64 `json:"chunks,omitempty"`
	Answers int64 `json:"answers,omitempty"`
}

func (c *Tokens) add(t *openai.Trace, n int, source openai.TokenSource) {
	if len(t.Chunks) > 0 && source != openai.TokensChunks {
		c.Counted += int64(n)
		c.Chunks += int64(len(t.Chunks))
		c.Answers++
	}
}

// PerChunk is how many tokens a chunk of text stands for on the mean, 0 where
// nothing tells.
func (c Tokens) PerChunk() float64 {
	if c.Chunks == 0 {
		return 0
	}
	return float64(c.Counted) / float64(c.Chunks)
}

// WithoutChunk is the share of the tokens that came without a chunk of text of their own:
// without text, or together with another. The token that ends an answer never has one and
// is left out.
func (c Tokens) WithoutChunk() float64 {
	tokens := c.Counted - c.Answers
	if tokens <= c.Chunks {
		return 0
	}
	return 1 - float64(c.Chunks)/float64(tokens)
}

// Prompts say how long the prompts are that were made of words to have a length about: so
// many tokens were asked for, so many counted, of those whose usage tells; TemplateTokens
// of these are the server's own, as before the load.
type Prompts struct {
	Told           int   `json:"told,omitempty"`
	AimedTokens    int64 `json:"aimed_tokens,omitempty"`
	CountedTokens  int64 `json:"counted_tokens,omitempty"`
	TemplateTokens int64 `json:"template_tokens,omitempty"`
}

// checker counts what tells how far the figures can be trusted, over all of a step.
type checker struct {
	Checks
	lags             *histogram // of each request's last read
	lag              openai.Lag // of all reads
	answered, kernel int        // requests with an answer, and those with the kernel's instants
	// together are the answers whose first text was read with later chunks, atOnce the
	// chunks that came so.
	together, atOnce int
}

func newChecker() checker {
	return checker{Checks: Checks{TokensBy: map[openai.TokenSource]int{}}, lags: newHistogram()}
}

func (c *checker) add(r *runlog.Request, lengths *runlog.Lengths) {
	t := &r.Trace
	if t.Lag.Reads > 0 {
		c.lags.add(int64(t.Lag.Last), 1)
		c.lag.Reads += t.Lag.Reads
		c.lag.Sum += t.Lag.Sum
		c.lag.Max = max(c.lag.Max, t.Lag.Max)
	}
	if t.Events > 0 {
		c.answered++
	}
	if t.Events > 0 && t.Clock == openai.ClockKernel {
		c.kernel++
	}
	if madeConnection(t) {
		c.NewConnections++
	}
	if t.Resent {
		c.Resent++
	}
	if t.Failure == nil {
		n, source := openai.OutputTokens(t)
		c.TokensBy[source]++
		c.Tokens.add(t, n, source)
	}
	c.addFirstRead(t.Chunks)
	if t.Usage != nil && t.Usage.PromptTokens > 0 {
		c.addPrompt(t.Usage, r.AimedTokens, lengths)
	}
}

// addFirstRead counts the chunks that have the instant of the first one.
func (c *checker) addFirstRead(chunks []openai.Chunk) {
	n := 0
	for n < len(chunks) && chunks[n].At == chunks[0].At {
		n++
	}
	if n > 1 {
		c.together++
		c.atOnce += n
	}
}

func (c *checker) addPrompt(u *openai.Usage, aimed int, lengths *runlog.Lengths) {
	c.PromptTokens += int64(u.PromptTokens)
	if u.CachedTokens != nil {
		c.CacheKnown = true
		c.CachedTokens += int64(min(*u.CachedTokens, u.PromptTokens)) // whatever a server claims
	}
	if aimed > 0 {
		c.Prompts.Told++
		c.Prompts.AimedTokens += int64(aimed)
		c.Prompts.CountedTokens += int64(u.PromptTokens)
	}
	if aimed > 0 && lengths != nil {
		c.Prompts.TemplateTokens += int64(lengths.Template)
	}
}

// newChecks are those of a step whose windows are known; window is the steady one, or the
// whole step without one.
func (d *stepData) newChecks(whole, window span, server *ServerSample, opts Options) Checks {
	c := d.checks.Checks
	c.Configured = d.step.Concurrency
	if d.step.Arrival != runlog.ArrivalClosed {
		c.Configured, c.ConfiguredRate = d.step.MaxConcurrency, d.step.Rate
	}
	c.Achieved, c.AchievedWhole = concurrency(window, d.requests), concurrency(whole, d.requests)
	c.AchievedRate = sendRate(sentIn(window, d.requests))
	c.ClientLag = d.checks.lags.distribution(opts.Percentiles)
	if lag := d.checks.lag; lag.Reads > 0 {
		c.ClientLag.Mean, c.ClientLag.Max = lag.Sum.Seconds()/float64(lag.Reads), lag.Max.Seconds()
	}
	if d.checks.answered > 0 {
		c.KernelClock = float64(d.checks.kernel) / float64(d.checks.answered)
	}
	if !c.CacheKnown && server != nil && server.TTFTOurs && server.PrefixHits != nil && server.PrefixQueries != nil && *server.PrefixQueries > 0 {
		c.PromptTokens, c.CachedTokens, c.CacheKnown = int64(*server.PrefixQueries), int64(*server.PrefixHits), true
	}
	for _, p := range d.parts {
		c.ClientCPU += p.cores()
	}
	return c
}

// cores is how many the load generator used on the mean, 0 when that is not known.
func (p *part) cores() float64 {
	used := p.cpu.growth()
	if used == nil {
		return 0
	}
	return *used / time.Duration(p.cpu[len(p.cpu)-1].at-p.cpu[0].at).Seconds()
}
