package fakevllm

import (
	"encoding/json"
	"fmt"
)

// framer writes the JSON of a job's chunks in its dialect. The words of the
// lexicon need no escaping.
type framer struct {
	*job
	head []byte // all that comes before the choice
}

func newFramer(j *job) *framer {
	object := "text_completion"
	if j.chat {
		object = "chat.completion.chunk"
	}
	return &framer{job: j, head: fmt.Appendf(nil, `{"id":%s,"object":%q,"created":%d,"model":%s,"choices":[`,
		quoted(j.id), object, j.created, quoted(j.model))}
}

// quoted returns s, which is a string or of strings and numbers, as JSON.
func quoted(s any) []byte {
	b, _ := json.Marshal(s) // such a value always marshals
	return b
}

// role is the frame that names the assistant and carries no text.
func (f *framer) role(dst []byte) []byte {
	content := `""`
	if f.traits.nullRole {
		content = "null"
	}
	dst = append(dst, f.head...)
	dst = append(dst, `{"index":0,"delta":{"role":"assistant","content":`+content+`},"logprobs":null,"finish_reason":null}]`...)
	return f.close(dst, 0)
}

// text is a chunk with words; finish is empty unless the answer ends with it,
// and n counts the tokens sent so far, these among them.
func (f *framer) text(dst, words []byte, reasoning bool, finish finishReason, n int) []byte {
	before, after := `{"index":0,"text":"`, `","logprobs":null,`
	if f.chat {
		before, after = `{"index":0,"delta":{`+f.textKey(reasoning)+`:"`, `"},"logprobs":null,`
	}
	dst = append(append(dst, f.head...), before...)
	dst = append(append(dst, words...), after...)
	return f.end(dst, finish, n)
}

// textKey is what a chat delta has before its words.
func (f *framer) textKey(reasoning bool) string {
	key := `"content"`
	if reasoning {
		key = `"` + f.traits.reasoningKey + `"`
	}
	switch {
	case f.traits.roleInEach && reasoning:
		return `"role":"assistant","content":"",` + key
	case f.traits.roleInEach:
		return `"role":"assistant",` + key
	}
	return key
}

// finish is the chunk that ends the answer without words.
func (f *framer) finish(dst []byte, reason finishReason, n int) []byte {
	if !f.chat || !f.traits.emptyFinish {
		return f.text(dst, nil, false, reason, n)
	}
	return f.end(append(append(dst, f.head...), `{"index":0,"delta":{},"logprobs":null,`...), reason, n)
}

// end writes a choice from its finish_reason on, and the rest of the chunk.
func (f *framer) end(dst []byte, reason finishReason, n int) []byte {
	if reason == "" {
		dst = append(dst, `"finish_reason":null`...)
	} else {
		dst = append(dst, `"finish_reason":"`+string(reason)+`"`...)
	}
	if reason != "" || !f.chat {
		dst = append(dst, `,"stop_reason":null`...)
	}
	dst = append(dst, `}]`...)
	if reason == "" {
		return f.close(dst, n)
	}
	if f.usage && (f.traits.usageInFinish || f.eachUsage) {
		dst = f.appendUsage(dst, n, f.traits.usageInFinish)
	}
	if f.traits.timings && !f.usage {
		dst = f.appendTimings(dst, n)
	}
	return append(dst, '}')
}

// close ends a chunk before the last.
func (f *framer) close(dst []byte, n int) []byte {
	if f.eachUsage {
		dst = f.appendUsage(dst, n, false)
	}
	return append(dst, '}')
}

// usageApart reports whether usage comes in a chunk of its own, without choices.
func (f *framer) usageApart() bool { return f.usage && !f.traits.usageInFinish }

// lastUsage is that chunk.
func (f *framer) lastUsage(dst []byte, n int) []byte {
	dst = append(append(dst, f.head...), ']')
	dst = f.appendUsage(dst, n, true)
	if f.traits.timings {
		dst = f.appendTimings(dst, n)
	}
	return append(dst, '}')
}

// appendUsage writes the counts; the cached ones are known when the sequence is over.
func (f *framer) appendUsage(dst []byte, n int, over bool) []byte {
	return append(append(dst, `,"usage":`...), quoted(f.counts(n, over))...)
}

type usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	Details          *usageDetails `json:"prompt_tokens_details,omitempty"`
}

type usageDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

func (f *framer) counts(n int, over bool) *usage {
	u := &usage{PromptTokens: f.q.prompt, TotalTokens: f.q.prompt + n, CompletionTokens: n}
	if over && f.traits.cachedTokens {
		u.Details = &usageDetails{f.q.cached}
	}
	return u
}

// appendTimings writes llama.cpp's own account of a finished sequence.
func (f *framer) appendTimings(dst []byte, n int) []byte {
	per := func(ms float64, tokens int) float64 { return ms / float64(max(tokens, 1)) }
	rate := func(ms float64, tokens int) float64 { return float64(tokens) / max(ms, 1e-3) * 1e3 }
	prompt := f.q.first.Sub(f.q.scheduled).Seconds() * 1e3
	predicted := f.q.last.Sub(f.q.first).Seconds() * 1e3
	computed := f.q.prompt - f.q.cached
	return append(append(dst, `,"timings":`...), quoted(map[string]any{
		"prompt_n": computed, "prompt_ms": prompt, "cache_n": f.q.cached,
		"prompt_per_token_ms": per(prompt, computed), "prompt_per_second": rate(prompt, computed),
		"predicted_n": n, "predicted_ms": predicted,
		"predicted_per_token_ms": per(predicted, n), "predicted_per_second": rate(predicted, n),
	})...)
}
