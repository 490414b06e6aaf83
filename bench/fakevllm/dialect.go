package fakevllm

import (
	"fmt"
	"strings"
)

// Dialect is the way a family of servers writes its frames and errors.
type Dialect string

// The dialects.
const (
	DialectVLLM      Dialect = "vllm"       // vLLM as of 2026
	DialectVLLM06    Dialect = "vllm-0.6"   // vLLM 0.6 and 0.7
	DialectVLLMBytes Dialect = "vllm-bytes" // vLLM with a model of which each word is two tokens, the first without text
	DialectMindIE    Dialect = "mindie"     // MindIE Service
	DialectLlamaCPP  Dialect = "llamacpp"   // llama.cpp's server
)

// Dialects returns every dialect, the default first.
func Dialects() []Dialect {
	return []Dialect{DialectVLLM, DialectVLLM06, DialectVLLMBytes, DialectMindIE, DialectLlamaCPP}
}

// ParseDialect returns the dialect of that name; the error lists all of them.
func ParseDialect(name string) (Dialect, error) { return parseName(name, "dialect", Dialects()) }

// traits are what a dialect does in its own way.
type traits struct {
	version         string
	flatErrors      bool   // errors are not nested in "error"
	reasoningKey    string // of reasoning in a delta
	nullRole        bool   // the content of the role frame is null
	roleInEach      bool   // every delta names the role, and there is no role frame
	emptyFinish     bool   // the last choice has an empty delta, never words
	usageInFinish   bool   // usage stands in the last chunk with choices, asked for or not
	usageByDefault  bool   // stream_options without include_usage mean yes
	cachedTokens    bool   // usage has prompt_tokens_details
	continuousUsage bool   // obeys continuous_usage_stats
	timings         bool   // the last chunk has llama.cpp's timings
	everyOtherEmpty bool   // every other token is no text
	noTokenizer     bool   // does not tokenize
	tokenizes       string // the key of the text to tokenize
	listsVocabulary bool   // /v1/models has the size of the vocabulary
}

func (d Dialect) traits() traits {
	t := traits{version: "0.19.0", reasoningKey: "reasoning_content", continuousUsage: true, tokenizes: "prompt"}
	switch d {
	case DialectVLLM, DialectVLLMBytes:
		t.reasoningKey, t.usageByDefault, t.cachedTokens = "reasoning", true, true
		t.everyOtherEmpty = d == DialectVLLMBytes
	case DialectVLLM06:
		t.version, t.flatErrors = "0.6.6", true
	case DialectMindIE:
		t.roleInEach, t.usageInFinish, t.continuousUsage, t.noTokenizer = true, true, false, true
	case DialectLlamaCPP:
		t.nullRole, t.emptyFinish, t.timings, t.continuousUsage = true, true, true, false
		t.tokenizes, t.listsVocabulary = "content", true
	}
	return t
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
