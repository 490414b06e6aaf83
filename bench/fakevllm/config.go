package fakevllm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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
	// DisablePrefixCache makes every prompt prefill in full.
	DisablePrefixCache bool
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
	// Log, if not nil, is called when a request for a completion is over, however
	// it ended; from several goroutines. The client may have seen the end before.
	Log func(RequestRecord)
}

// The defaults reproduce Qwen2.5-72B on four MXC500, measured with 8 to 200
// users. A straight line through the time per token over the requests really in
// flight gives the step; about 102 is where throughput stopped growing. That
// client lost every answer above two minutes, so its mean of 296 tokens at 8
// users had shrunk to 266 at 150: 283 is the length that serves both within
// 4 %, and the spread is that of its latency percentiles.
const (
	defaultModel            = "qwen2.5"
	defaultMaxNumSeqs       = 102
	defaultStepBase         = 59 * time.Millisecond
	defaultStepPerSequence  = 1840 * time.Microsecond
	defaultPrefillRate      = 3000
	defaultMeanOutput       = 283
	defaultOutputSpread     = 0.4
	defaultMaxModelLen      = 32768
	defaultKVCacheTokens    = 262144
	defaultFaultPace        = 500 * time.Millisecond
	defaultBackgroundPeriod = 4 * time.Minute
)

// DefaultConfig returns the configuration that the zero Config stands for.
func DefaultConfig() Config {
	return Config{}.withDefaults()
}

func (c Config) withDefaults() Config {
	c.Model = orDefault(c.Model, defaultModel)
	c.MaxNumSeqs = orDefault(c.MaxNumSeqs, defaultMaxNumSeqs)
	c.StepBase = orDefault(c.StepBase, defaultStepBase)
	c.StepPerSequence = orDefault(c.StepPerSequence, defaultStepPerSequence)
	c.PrefillTokensPerSecond = orDefault(c.PrefillTokensPerSecond, defaultPrefillRate)
	c.MeanOutputTokens = orDefault(c.MeanOutputTokens, defaultMeanOutput)
	c.OutputSpread = orDefault(c.OutputSpread, defaultOutputSpread)
	c.MaxModelLen = orDefault(c.MaxModelLen, defaultMaxModelLen)
	c.KVCacheTokens = orDefault(c.KVCacheTokens, max(defaultKVCacheTokens, blocksOf(c.MaxModelLen)*blockTokens))
	c.Speed = orDefault(c.Speed, 1)
	c.StreamInterval = orDefault(c.StreamInterval, 1)
	c.Dialect = orDefault(c.Dialect, DialectVLLM)
	c.Fault = orDefault(c.Fault, FaultNone)
	c.FaultPace = orDefault(c.FaultPace, defaultFaultPace)
	c.BackgroundPeriod = orDefault(c.BackgroundPeriod, defaultBackgroundPeriod)
	c.OutputSpread = max(c.OutputSpread, 0)
	return c
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
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
	if _, err := ParseDialect(string(c.Dialect)); err != nil {
		errs = append(errs, err)
	}
	if _, err := ParseFault(string(c.Fault)); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Dialect is the way a family of servers writes its frames and errors.
type Dialect string

// The dialects.
const (
	// DialectVLLM is vLLM as of 2026: role frame with the first output, usage
	// in a chunk without choices, nested errors, "reasoning".
	DialectVLLM Dialect = "vllm"
	// DialectVLLM06 is vLLM 0.6–0.7: flat errors, "reasoning_content".
	DialectVLLM06 Dialect = "vllm-0.6"
	// DialectVLLMBytes is vLLM with a model that writes each character in two tokens:
	// the first half of a word comes as a chunk with an empty text.
	DialectVLLMBytes Dialect = "vllm-bytes"
	// DialectMindIE repeats the role in every chunk and puts usage into the
	// last chunk with choices, whatever stream_options says. It does not tokenize.
	DialectMindIE Dialect = "mindie"
	// DialectSGLang writes nulls for absent fields and usage into the finish chunk.
	DialectSGLang Dialect = "sglang"
	// DialectLlamaCPP starts with a null content and ends with timings. It tokenizes
	// "content", not "prompt", and lists the size of its vocabulary.
	DialectLlamaCPP Dialect = "llamacpp"
)

// Dialects returns every dialect, the default first.
func Dialects() []Dialect {
	return []Dialect{DialectVLLM, DialectVLLM06, DialectVLLMBytes, DialectMindIE, DialectSGLang, DialectLlamaCPP}
}

// newVLLM says whether the dialect is that of a newer vLLM.
func (d Dialect) newVLLM() bool { return d == DialectVLLM || d == DialectVLLMBytes }

// ParseDialect returns the dialect of that name; the error lists all of them.
func ParseDialect(name string) (Dialect, error) {
	return parseName(name, "dialect", Dialects())
}

// parseName returns the one of all that is called name.
func parseName[T ~string](name, kind string, all []T) (T, error) {
	names := make([]string, 0, len(all))
	for _, v := range all {
		if string(v) == name {
			return v, nil
		}
		names = append(names, string(v))
	}
	return "", fmt.Errorf("unknown %s %q (known: %s)", kind, name, strings.Join(names, ", "))
}
