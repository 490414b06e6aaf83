package openai

import (
	"math"
	"slices"
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
	failed  bool         // an error object
	texts   int          // texts of all choices
	answer  bool         // text other than reasoning: content, text or a tool call
	finish  string       // the finish_reason, "" for none
	content string       // the answer's text, valid as long as the event's data
	usage   gjson.Result // an object where it is there; not to be kept
	tokens  int32        // its completion_tokens, noCount for none
}

// parseEvent reads data, and reports whether it is one JSON object.
func parseEvent(data []byte) (event, bool) {
	ev := event{tokens: noCount}
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
			ev.usage, ev.tokens = value, tokenCount(value.Get("completion_tokens"))
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
		choice.ForEach(func(key, value gjson.Result) bool {
			switch key.Str {
			case "delta":
				e.addDelta(value)
			case "text":
				e.addText(value, true)
			case "finish_reason":
				if value.Str != "" && !slices.Contains(brokenFinishes, e.finish) {
					e.finish = strings.Clone(value.Str)
				}
			}
			return true
		})
		return true
	})
}

func (e *event) addText(text gjson.Result, answer bool) {
	if text.Str != "" {
		e.texts++
		e.answer = e.answer || answer
	}
}

// addDelta reads the new text. A name that another server gives a field is one line here.
func (e *event) addDelta(delta gjson.Result) {
	reasoning := ""
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			e.addText(value, true)
			e.content += value.Str
		case "reasoning", "reasoning_content":
			if value.Str != reasoning { // some versions of vLLM send one text under both names
				e.addText(value, false)
			}
			reasoning = value.Str
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				function := call.Get("function") // a call's id and type are the server's own
				e.addText(function.Get("name"), true)
				e.addText(function.Get("arguments"), true)
				return true
			})
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
