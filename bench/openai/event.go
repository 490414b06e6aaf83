package openai

import (
	"math"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

const (
	maxCount = 1e9 // a token count above it is not believed
	noCount  = -1  // no such number in the event
)

// event is what one JSON object of a stream says that matters here.
type event struct {
	failed    bool   // an error object
	choice    bool   // a part of an answer, with text or without
	answer    bool   // text other than reasoning: content, text or a tool call
	reasoning bool   // reasoning text
	finish    string // the finish_reason, "" for none
	// The usage, noCount where it is not there.
	prompt, completion, cached int32
}

// parseEvent reads data, and reports whether it is one JSON object. A value of an
// unexpected type says nothing.
func parseEvent(data []byte) (event, bool) {
	ev := event{prompt: noCount, completion: noCount, cached: noCount}
	if !gjson.ValidBytes(data) {
		return ev, false
	}
	// Without a copy: of the text only the finish_reason is kept, as one of its own.
	root := gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data)))
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			ev.addChoices(value)
		case "usage":
			ev.addUsage(value)
		case "error":
			ev.failed = ev.failed || value.Type != gjson.Null
		case "object":
			ev.failed = ev.failed || value.Str == "error"
		}
		return true
	})
	return ev, root.IsObject()
}

func (e *event) addChoices(choices gjson.Result) {
	choices.ForEach(func(_, choice gjson.Result) bool {
		e.choice = e.choice || choice.IsObject()
		choice.ForEach(func(key, value gjson.Result) bool {
			switch key.Str {
			case "delta":
				e.addDelta(value)
			case "text":
				e.answer = e.answer || value.Str != ""
			case "finish_reason":
				e.finish = strings.Clone(value.Str)
			}
			return true
		})
		return true
	})
}

// addDelta reads the new text. A name that another server gives a field is one line here.
func (e *event) addDelta(delta gjson.Result) {
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			e.answer = e.answer || value.Str != ""
		case "reasoning", "reasoning_content":
			e.reasoning = e.reasoning || value.Str != ""
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				function := call.Get("function") // a call's id and type are the server's own
				e.answer = e.answer || function.Get("name").Str != "" || function.Get("arguments").Str != ""
				return true
			})
		}
		return true
	})
}

func (e *event) addUsage(usage gjson.Result) {
	usage.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "prompt_tokens":
			e.prompt = tokenCount(value)
		case "completion_tokens":
			e.completion = tokenCount(value)
		case "prompt_tokens_details":
			e.cached = tokenCount(value.Get("cached_tokens"))
		}
		return true
	})
}

// tokenCount is an integer of 0 to maxCount, noCount for anything else.
func tokenCount(value gjson.Result) int32 {
	if value.Type != gjson.Number || value.Num < 0 || value.Num > maxCount || value.Num != math.Trunc(value.Num) {
		return noCount
	}
	return int32(value.Num)
}
