package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is an event in a form that can be compared.
type said struct {
	Failed, Choice, Answer, Reasoning bool
	Finish                            string
	Prompt, Completion, Cached, IDs   int32
}

func readEvent(data []byte) (said, bool) {
	ev, ok := parseEvent(data)
	return said{ev.failed, ev.choice, ev.answer, ev.reasoning, ev.finish, ev.prompt, ev.completion, ev.cached, ev.ids}, ok
}

func TestParseEvent(t *testing.T) {
	none := said{Prompt: noCount, Completion: noCount, Cached: noCount}
	with := func(change func(*said)) said {
		s := none
		change(&s)
		return s
	}
	partWith := func(change func(*said)) said {
		return with(func(s *said) { s.Choice = true; change(s) })
	}
	part := partWith(func(*said) {})
	answer := partWith(func(s *said) { s.Answer = true })
	tests := map[string]struct {
		json string
		want said
	}{
		"chat content":         {`{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`, answer},
		"completions text":     {`{"choices":[{"index":0,"text":"Hi","finish_reason":null}]}`, answer},
		"role with empty text": {`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, part},
		"reasoning":            {`{"choices":[{"delta":{"reasoning":"hm"}}]}`, partWith(func(s *said) { s.Reasoning = true })},
		"reasoning_content":    {`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, partWith(func(s *said) { s.Reasoning = true })},
		"tool call arguments":  {`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, answer},
		"tool call name":       {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}]}`, answer},
		"escaped key":          {`{"choices":[{"delta":{"\u0063ontent":"x"}}]}`, answer},
		"finish":               {`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, partWith(func(s *said) { s.Finish = "stop" })},
		"usage alone": {
			`{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`,
			with(func(s *said) { s.Prompt, s.Completion, s.Cached = 9, 3, 4 }),
		},
		"no cached tokens":    {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}`, with(func(s *said) { s.Prompt, s.Cached = 9, 0 })},
		"token ids":           {`{"choices":[{"delta":{"content":""},"token_ids":[0,151643]}]}`, partWith(func(s *said) { s.IDs = 2 })},
		"no integers":         {`{"usage":{"prompt_tokens":-1,"completion_tokens":3.5,"prompt_tokens_details":{"cached_tokens":"4"}}}`, none},
		"error object":        {`{"error":{"message":"out of memory","code":500}}`, with(func(s *said) { s.Failed = true })},
		"error text":          {`{"error":"Unauthorized"}`, with(func(s *said) { s.Failed = true })},
		"null error":          {`{"error":null,"choices":[]}`, none},
		"flat error":          {`{"object":"error","message":"m","code":400}`, with(func(s *said) { s.Failed = true })},
		"error deeper inside": {`{"choices":[{"delta":{"error":"no"}}]}`, part},
		"unexpected types": {
			`{"choices":[7,{"delta":"x"},{"delta":{"content":["a"],"reasoning":{"a":"b"},"tool_calls":"t"},"text":3,"finish_reason":false}],"usage":[1],"object":null}`,
			part,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := readEvent([]byte(tt.json))
			if !ok {
				t.Fatalf("refused %s", tt.json)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
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
