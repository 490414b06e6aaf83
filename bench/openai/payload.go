package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// isReserved says whether a field of the body is for the client alone to set:
// without streaming nothing could be measured, and the others are what a report
// says was asked.
func isReserved(field string) bool {
	switch field {
	case "model", "messages", "prompt", "stream", "stream_options":
		return true
	}
	return false
}

// CheckExtra says whether fields may be sent as [Request.Extra]: each value is
// JSON, and none is model, messages, prompt, stream or stream_options. The error
// names a field, and repeats no value.
func CheckExtra(fields map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case isReserved(name):
			return fmt.Errorf("extra field %q is set by the client itself", name)
		case !json.Valid(fields[name]):
			return fmt.Errorf("extra field %q is not JSON", name)
		}
	}
	return nil
}

// body is the request as JSON.
func (r *Request) body() ([]byte, error) {
	if err := CheckExtra(r.Extra); err != nil {
		return nil, err
	}
	options := map[string]bool{"include_usage": true}
	if r.ContinuousUsage {
		options["continuous_usage_stats"] = true
	}
	fields := map[string]any{"model": r.Model, "temperature": 0, "stream": true, "stream_options": options}
	if err := r.addPrompt(fields); err != nil {
		return nil, err
	}
	if r.MaxTokens > 0 {
		fields["max_tokens"] = r.MaxTokens
	}
	if r.IgnoreEOS {
		fields["ignore_eos"] = true
	}
	for name, value := range r.Extra {
		fields[name] = value
	}
	return json.Marshal(fields)
}

func (r *Request) addPrompt(fields map[string]any) error {
	switch chat := r.API != Completions; {
	case r.Messages != nil && !chat:
		return errors.New("a conversation needs the chat API")
	case r.PromptTokens != nil && chat:
		return errors.New("token ids need the completions API")
	case r.Messages != nil:
		fields["messages"] = r.Messages
	case chat:
		fields["messages"] = []Message{{Role: "user", Content: r.Prompt}}
	case r.PromptTokens != nil:
		fields["prompt"] = r.PromptTokens
	default:
		fields["prompt"] = r.Prompt
	}
	return nil
}
