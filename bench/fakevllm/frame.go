package fakevllm

import (
	"encoding/json"
	"strconv"
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
	head := append([]byte(`{"id":`), quoted(j.id)...)
	head = append(head, `,"object":"`+object+`","created":`...)
	head = strconv.AppendInt(head, j.created, 10)
	head = append(head, `,"model":`...)
	head = append(head, quoted(j.model)...)
	return &framer{job: j, head: append(head, `,"choices":[`...)}
}

// quoted returns a string as JSON.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // cannot be: any string marshals
	}
	return b
}

// role is the frame that names the assistant and carries no text.
func (f *framer) role(dst []byte) []byte {
	delta := `"role":"assistant","content":""`
	if f.dialect == DialectSGLang || f.dialect == DialectLlamaCPP {
		delta = `"role":"assistant","content":null`
	}
	dst = append(dst, f.head...)
	dst = append(dst, `{"index":0,"delta":{`+delta+`},"logprobs":null,"finish_reason":null}]`...)
	return f.close(dst, 0)
}

// text is a chunk with words; finish is empty unless the answer ends with it,
// and n counts the tokens sent so far, these among them.
func (f *framer) text(dst, words []byte, reasoning bool, finish finishReason, n int) []byte {
	dst = append(dst, f.head...)
	if !f.chat {
		dst = append(dst, `{"index":0,"text":"`...)
		dst = append(dst, words...)
		dst = append(dst, `","logprobs":null,`...)
	} else {
		before, after := f.around(reasoning)
		dst = append(dst, `{"index":0,"delta":{`+before+`"`...)
		dst = append(dst, words...)
		dst = append(dst, `"`+after+`},"logprobs":null,`...)
	}
	return f.end(dst, finish, n)
}

// around is what a chat delta has before and after its words.
func (f *framer) around(reasoning bool) (before, after string) {
	switch {
	case f.dialect == DialectSGLang && reasoning:
		return `"role":null,"content":null,"reasoning_content":`, `,"tool_calls":null`
	case f.dialect == DialectSGLang:
		return `"role":null,"content":`, `,"reasoning_content":null,"tool_calls":null`
	case f.dialect == DialectMindIE && reasoning:
		return `"role":"assistant","content":"","reasoning_content":`, ""
	case f.dialect == DialectMindIE:
		return `"role":"assistant","content":`, ""
	case reasoning:
		return `"` + f.reasoningKey() + `":`, ""
	}
	return `"content":`, ""
}

func (f *framer) reasoningKey() string {
	if f.dialect.newVLLM() {
		return "reasoning"
	}
	return "reasoning_content"
}

// finishesApart reports whether the dialect never ends on a chunk with words.
func (f *framer) finishesApart() bool {
	return f.dialect == DialectSGLang || f.dialect == DialectLlamaCPP
}

// finish is the chunk that ends the answer without words.
func (f *framer) finish(dst []byte, reason finishReason, n int) []byte {
	if !f.chat || !f.finishesApart() {
		return f.text(dst, nil, false, reason, n)
	}
	delta := ""
	if f.dialect == DialectSGLang {
		delta = `"role":null,"content":null,"reasoning_content":null,"tool_calls":null`
	}
	dst = append(dst, f.head...)
	dst = append(dst, `{"index":0,"delta":{`+delta+`},"logprobs":null,`...)
	return f.end(dst, reason, n)
}

// end writes a choice from its finish_reason on, and the rest of the chunk.
func (f *framer) end(dst []byte, reason finishReason, n int) []byte {
	if reason == "" {
		dst = append(dst, `"finish_reason":null`...)
	} else {
		dst = append(dst, `"finish_reason":"`+string(reason)+`"`...)
	}
	switch {
	case f.dialect == DialectSGLang:
		dst = append(dst, `,"matched_stop":null`...)
	case reason != "" || !f.chat:
		dst = append(dst, `,"stop_reason":null`...)
	}
	dst = append(dst, `}]`...)
	if reason == "" {
		return f.close(dst, n)
	}
	here := f.dialect == DialectMindIE || f.dialect == DialectSGLang
	if f.usage && (here || f.eachUsage) {
		dst = f.appendUsage(dst, n, here)
	}
	if f.dialect == DialectLlamaCPP && !f.usage {
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
func (f *framer) usageApart() bool {
	return f.usage && f.dialect != DialectMindIE && f.dialect != DialectSGLang
}

// lastUsage is that chunk.
func (f *framer) lastUsage(dst []byte, n int) []byte {
	dst = append(append(dst, f.head...), ']')
	dst = f.appendUsage(dst, n, true)
	if f.dialect == DialectLlamaCPP {
		dst = f.appendTimings(dst, n)
	}
	return append(dst, '}')
}

// appendUsage writes the counts; the cached ones are known when the sequence is over.
func (f *framer) appendUsage(dst []byte, n int, over bool) []byte {
	u := f.counts(n, over)
	b, err := json.Marshal(u)
	if err != nil {
		return dst
	}
	return append(append(dst, `,"usage":`...), b...)
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
	if over && f.dialect.newVLLM() {
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
	b, err := json.Marshal(map[string]any{
		"prompt_n": computed, "prompt_ms": prompt, "cache_n": f.q.cached,
		"prompt_per_token_ms": per(prompt, computed), "prompt_per_second": rate(prompt, computed),
		"predicted_n": n, "predicted_ms": predicted,
		"predicted_per_token_ms": per(predicted, n), "predicted_per_second": rate(predicted, n),
	})
	if err != nil {
		return dst
	}
	return append(append(dst, `,"timings":`...), b...)
}
