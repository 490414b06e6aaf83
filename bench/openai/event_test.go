package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an event says where it is not as usual; the usual is in dialects.
func TestParseEvent(t *testing.T) {
	none := event{prompt: noCount, completion: noCount, cached: noCount}
	with := func(change func(*event)) event {
		e := none
		change(&e)
		return e
	}
	failed := with(func(e *event) { e.failed = true })
	tests := map[string]struct {
		json string
		want event
	}{
		"reasoning beside null": {`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, with(func(e *event) { e.choice, e.reasoning = true, true })},
		"tool call name":        {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}`, with(func(e *event) { e.choice, e.answer = true, true })},
		"escaped key":           {`{"choices":[{"delta":{"\u0063ontent":"x"}}]}`, with(func(e *event) { e.choice, e.answer = true, true })},
		"cached tokens":         {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`, with(func(e *event) { e.prompt, e.completion, e.cached = 9, 3, 4 })},
		"no cached tokens":      {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}`, with(func(e *event) { e.prompt, e.cached = 9, 0 })},
		"no integers":           {`{"usage":{"prompt_tokens":-1,"completion_tokens":3.5,"prompt_tokens_details":{"cached_tokens":"4"}}}`, none},
		"error text":            {`{"error":"Unauthorized"}`, failed},
		"null error":            {`{"error":null,"choices":[]}`, none},
		"flat error":            {`{"object":"error","message":"m","code":400}`, failed},
		"error deeper inside":   {`{"choices":[{"delta":{"error":"no"}}]}`, with(func(e *event) { e.choice = true })},
		"unexpected types": {
			`{"choices":[7,{"delta":"x"},{"delta":{"content":["a"],"reasoning":{"a":"b"},"tool_calls":"t"},"text":3,"finish_reason":false}],"usage":[1],"object":null}`,
			with(func(e *event) { e.choice = true }),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := parseEvent([]byte(tt.json))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); diff != "" || !ok {
				t.Errorf("read: %v, event (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestNotAnEvent(t *testing.T) {
	for _, text := range []string{"", "{", "{}}", "[]", "null", `"a"`, "7", `{"a":}`, `{"a":1,}`, `{"a":01}`, `{"a":"\x"}`, "{\"a\":\"\n\"}", "hello"} {
		if ev, ok := parseEvent([]byte(text)); ok {
			t.Errorf("%q was accepted as %+v", text, ev)
		}
	}
}
