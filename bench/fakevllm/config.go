package fakevllm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Config says what the server pretends to be. The zero value of every field
// stands for the default given beside it.
type Config struct {
	// Model is the name that is served; default "qwen2.5". Metrics and answers have it.
	Model string
	// Aliases are further names of it: requests may use them and /v1/models lists
	// them after it, but no metric has one, as with vLLM's --served-model-name A B.
	Aliases []string
	// MaxNumSeqs is how many requests decode at once, ≥ 1; default 102.
	MaxNumSeqs int
	// StepBase and StepPerSequence give the time of one decode step: base +
	// per sequence × running requests. Defaults 59 ms and 1.84 ms.
	StepBase, StepPerSequence time.Duration
	// PrefillTokensPerSecond is the rate at which uncached prompt tokens of
	// newly admitted requests lengthen a step; default 3000.
	PrefillTokensPerSecond float64
	// MeanOutputTokens is the mean of the natural answer length, in tokens;
	// default 283.
	MeanOutputTokens int
	// OutputSpread is the standard deviation of the natural length as a share
	// of its mean, 0–1; default 0.4, negative for none.
	OutputSpread float64
	// MaxModelLen bounds prompt plus output, in tokens; default 32768.
	MaxModelLen int
	// KVCacheTokens is the room for the tokens of running requests, in blocks
	// of 16, at least MaxModelLen; default 262144. Running out of it preempts.
	KVCacheTokens int
	// Speed divides every step's time, > 0; default 1, the real machine.
	Speed float64
	// Dialect is the server family that is imitated; default DialectVLLM.
	Dialect Dialect
	// Fault applies to every request that names none in its path; see SetFault.
	Fault Fault
	// FaultRequests is how many requests Fault, or the one set last, hits before it
	// is over: of those that it touches and that name none in their path; ≥ 0,
	// default 0, all.
	FaultRequests int
	// FaultPace is the pause of the faults that wait; default 500 ms.
	FaultPace time.Duration
	// APIKey is the bearer token that /v1 paths ask for; empty for none.
	APIKey string
	// Reasoning sends the first third of a chat answer as reasoning.
	Reasoning bool
	// BackgroundUsers is the crest of the wave of synthetic closed-loop users
	// that keep the engine busy without HTTP; default 0, none.
	BackgroundUsers int
	// BackgroundPeriod is the length of that wave in wall time, whatever the
	// speed; default 4 minutes.
	BackgroundPeriod time.Duration
	// StreamInterval is how many tokens a chunk holds at least, after the first, which
	// is sent at once (vLLM's --stream-interval); default 1.
	StreamInterval int
	// VocabularySize is how many token ids there are, ≥ 2; default 0, any id is
	// known. A prompt of ids beyond is refused in the stream, as vLLM does.
	VocabularySize int
	// Seed varies lengths and texts; the same seed and order of requests give
	// the same answers.
	Seed uint64
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
	c.MaxModelLen = cmp.Or(c.MaxModelLen, 32768)
	c.KVCacheTokens = cmp.Or(c.KVCacheTokens, max(262144, blocksOf(c.MaxModelLen)*blockTokens))
	c.Speed = cmp.Or(c.Speed, 1)
	c.Dialect = cmp.Or(c.Dialect, DialectVLLM)
	c.Fault = cmp.Or(c.Fault, FaultNone)
	c.FaultPace = cmp.Or(c.FaultPace, 500*time.Millisecond)
	c.BackgroundPeriod = cmp.Or(c.BackgroundPeriod, 4*time.Minute)
	c.StreamInterval = cmp.Or(c.StreamInterval, 1)
	c.Schedule.Tokens = cmp.Or(c.Schedule.Tokens, 256)
	c.Schedule.Keep = cmp.Or(c.Schedule.Keep, 16384)
	return c
}

// validate reports every field out of range, of a Config with defaults filled in.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	check(!slices.Contains(c.Aliases, ""), "an alias of the model is empty")
	check(c.MaxNumSeqs >= 1, "max num seqs %d is below 1", c.MaxNumSeqs)
	check(c.StepBase > 0, "step base %v is not positive", c.StepBase)
	check(c.StepPerSequence > 0, "step per sequence %v is not positive", c.StepPerSequence)
	check(positive(c.PrefillTokensPerSecond), "prefill rate %v is not a positive number", c.PrefillTokensPerSecond)
	check(c.MeanOutputTokens >= 1, "mean output tokens %d is below 1", c.MeanOutputTokens)
	check(c.OutputSpread <= 1, "output spread %v is above 1", c.OutputSpread)
	check(c.MaxModelLen >= 2, "max model length %d is below 2", c.MaxModelLen)
	check(blocksOf(c.MaxModelLen) <= c.KVCacheTokens/blockTokens,
		"cache of %d tokens cannot hold one request of %d", c.KVCacheTokens, c.MaxModelLen)
	check(positive(c.Speed), "speed %v is not a positive number", c.Speed)
	check(c.StreamInterval >= 1, "stream interval %d is below 1", c.StreamInterval)
	check(c.VocabularySize == 0 || c.VocabularySize >= 2, "vocabulary size %d is neither 0 nor at least 2", c.VocabularySize)
	check(c.FaultRequests >= 0, "fault requests %d is negative", c.FaultRequests)
	check(c.FaultPace > 0, "fault pace %v is not positive", c.FaultPace)
	check(c.BackgroundUsers >= 0, "background users %d is negative", c.BackgroundUsers)
	check(c.BackgroundPeriod > 0, "background period %v is not positive", c.BackgroundPeriod)
	check(c.Schedule.Gap >= 0 && c.Schedule.Gap <= maxGap, "gap %v is outside 0 to %v", c.Schedule.Gap, maxGap)
	check(c.Schedule.Tokens >= 1 && c.Schedule.Tokens <= maxChunks, "%d tokens are outside 1 to %d", c.Schedule.Tokens, maxChunks)
	check(c.Schedule.Keep >= 1, "%d requests cannot be kept", c.Schedule.Keep)
	_, badDialect := ParseDialect(string(c.Dialect))
	_, badFault := ParseFault(string(c.Fault))
	return errors.Join(append(errs, badDialect, badFault)...)
}
