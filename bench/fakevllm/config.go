package fakevllm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Config says what the server pretends to be. The zero value of every field
// stands for the default given beside it.
type Config struct {
	// Model is the name that is served; default "qwen2.5".
	Model string
	// MaxNumSeqs is how many requests decode at once, ≥ 1; default 102.
	MaxNumSeqs int
	// StepBase and StepPerSequence give the time of one decode step: base +
	// per sequence × running requests. Defaults 59 ms and 1.84 ms.
	StepBase, StepPerSequence time.Duration
	// PrefillTokensPerSecond is the rate at which prompt tokens of newly admitted
	// requests lengthen a step; default 3000.
	PrefillTokensPerSecond float64
	// MeanOutputTokens is the mean of the natural answer length, in tokens;
	// default 283.
	MeanOutputTokens int
	// OutputSpread is the standard deviation of the natural length as a share
	// of its mean, 0–1; default 0.4, negative for none.
	OutputSpread float64
	// Speed divides every step's time, > 0; default 1, the real machine.
	Speed float64
	// Fault applies to every request that names none in its path; see SetFault.
	Fault Fault
	// FaultRequests is how many completions Fault, or the one set last, hits before
	// it is over; ≥ 0, default 0, all.
	FaultRequests int
	// APIKey is the bearer token that /v1 paths ask for; empty for none.
	APIKey string
	// BackgroundUsers is the crest of the wave of synthetic closed-loop users
	// that keep the engine busy without HTTP; default 0, none.
	BackgroundUsers int
	// BackgroundPeriod is the length of that wave in wall time, whatever the
	// speed; default 4 minutes.
	BackgroundPeriod time.Duration
	// Schedule, where its Gap is above 0, takes the place of the engine.
	Schedule Schedule
	// Log, if not nil, is called when a request for a completion is over, however
	// it ended; from several goroutines. The client may have seen the end before.
	Log func(RequestRecord)
}

// DefaultConfig returns the configuration that the zero Config stands for. The
// engine's part of it reproduces one measured machine; docs/design.md says which.
func DefaultConfig() Config { return Config{}.withDefaults() }

func (c Config) withDefaults() Config {
	c.Model = cmp.Or(c.Model, "qwen2.5")
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 102)
	c.StepBase = cmp.Or(c.StepBase, 59*time.Millisecond)
	c.StepPerSequence = cmp.Or(c.StepPerSequence, 1840*time.Microsecond)
	c.PrefillTokensPerSecond = cmp.Or(c.PrefillTokensPerSecond, 3000)
	c.MeanOutputTokens = cmp.Or(c.MeanOutputTokens, 283)
	c.OutputSpread = max(cmp.Or(c.OutputSpread, 0.4), 0)
	c.Speed = cmp.Or(c.Speed, 1)
	c.Fault = cmp.Or(c.Fault, FaultNone)
	c.BackgroundPeriod = cmp.Or(c.BackgroundPeriod, 4*time.Minute)
	c.Schedule.Tokens = cmp.Or(c.Schedule.Tokens, 256)
	return c
}

// validate returns an error for every field out of range.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	check(c.MaxNumSeqs >= 1, "max num seqs %d is below 1", c.MaxNumSeqs)
	check(c.StepBase > 0 && c.StepPerSequence > 0, "steps of %v and %v a request are not positive", c.StepBase, c.StepPerSequence)
	check(positive(c.PrefillTokensPerSecond), "prefill rate %v is not a positive number", c.PrefillTokensPerSecond)
	check(c.MeanOutputTokens >= 1 && c.OutputSpread <= 1, "output of %d tokens, spread by %v: at least 1 and at most 1", c.MeanOutputTokens, c.OutputSpread)
	check(positive(c.Speed), "speed %v is not a positive number", c.Speed)
	check(c.FaultRequests >= 0, "fault requests %d is negative", c.FaultRequests)
	check(c.BackgroundUsers >= 0 && c.BackgroundPeriod > 0, "%d background users a period of %v: neither may be negative", c.BackgroundUsers, c.BackgroundPeriod)
	check(c.Schedule.Gap >= 0 && c.Schedule.Gap <= maxGap, "gap %v is outside 0 to %v", c.Schedule.Gap, maxGap)
	check(c.Schedule.Tokens >= 1 && c.Schedule.Tokens <= maxChunks, "%d tokens are outside 1 to %d", c.Schedule.Tokens, maxChunks)
	_, unknown := ParseFault(string(c.Fault))
	return errors.Join(append(errs, unknown)...)
}
