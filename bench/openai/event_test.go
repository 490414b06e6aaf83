package openai

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		json string
		want *Usage
	}{
		"cached tokens":    {`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}`, &Usage{PromptTokens: 9, CompletionTokens: 3, CachedTokens: new(4)}},
		"no cached tokens": {`{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}`, &Usage{PromptTokens: 9, CachedTokens: new(0)}},
		"reasoning tokens": {`{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}`, &Usage{CompletionTokens: 9, ReasoningTokens: 4}},
		"no integers":      {`{"prompt_tokens":-1,"completion_tokens":3.5,"prompt_tokens_details":{"cached_tokens":"4"}}`, new(Usage)},
		"null":             {"null", nil},
	} {
		got := read(t, io.EOF, piece{events(`{"usage":` + tt.json + `}`), ms(1)}).Usage
		equal(t, name, tt.want, got)
	}
}

// What an event says where it is not as usual; the usual is in dialects, and so is what an empty delta is.
func TestParseEvent(t *testing.T) {
	none := event{tokens: noCount}
	with := func(change func(*event)) event {
		e := none
		change(&e)
		return e
	}
	failed := with(func(e *event) { e.failed = true })
	for name, tt := range map[string]struct {
		json string
		want event
	}{
		"reasoning beside null": {`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, with(func(e *event) { e.texts, e.reasoning = 1, "hm" })},
		"reasoning twice":       {`{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, with(func(e *event) { e.texts, e.reasoning = 1, "hm" })},
		"tool call name":        {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}`, with(func(e *event) { e.texts, e.answer = 1, true })},
		"escaped key":           {`{"choices":[{"delta":{"\u0063ontent":"x"}}]}`, with(func(e *event) { e.texts, e.answer, e.content = 1, true, "x" })},
		"several choices":       {`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b","reasoning":"c"}},{"delta":{"content":""}}]}`, with(func(e *event) { e.texts, e.answer, e.content, e.reasoning = 3, true, "ab", "c" })},
		"text":                  {`{"choices":[{"text":"x"}]}`, with(func(e *event) { e.texts, e.answer, e.content = 1, true, "x" })},
		"error text":            {`{"error":"Unauthorized"}`, failed},
		"null error":            {`{"error":null,"choices":[]}`, none},
		"flat error":            {`{"object":"error","message":"m","code":400}`, failed},
		"error deeper inside":   {`{"choices":[{"delta":{"error":"no"}}]}`, none},
		"unexpected types": {
			`{"choices":[7,{"delta":"x"},{"delta":{"content":["a"],"reasoning":{"a":"b"},"tool_calls":"t"},"text":3,"finish_reason":false}],"usage":[1],"object":null}`,
			none,
		},
	} {
		got, ok := parseEvent([]byte(tt.json))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{}), cmpopts.IgnoreFields(event{}, "usage", "delta", "from", "to")); diff != "" || !ok {
			t.Errorf("%s: read: %v, event (-want +got):\n%s", name, ok, diff)
		}
	}
}

// An event that follows another says what it says by itself.
func TestPattern(t *testing.T) {
	delta := func(fields string) string { return `{"model":"a","choices":[{"delta":{` + fields + `}}]}` }
	all := []string{"hello", endMark, `{"error":"a"}`, `{"choices":[],"usage":{"completion_tokens":1}}`}
	for _, text := range []string{"", "a", "b", "ab", "é", `\n`, `a\"b`, "\x01", `","content":"b`, `"`, `\`} {
		all = append(all, `{"choices":[{"text":"`+text+`"}]}`, `{"choices":[{"text":"`+text+`","finish_reason":"a"}],"usage":null}`,
			`{"choices":[{"text":"`+text+`"}],"usage":{"completion_tokens":1}}`, `{"error":null,"choices":[{"text":"`+text+`"}]}`,
			delta(`"content":"`+text+`"`), delta(`"content":"`+text+`","reasoning":"a"`), delta(`"reasoning":"`+text+`","reasoning_content":"a"`),
			delta(`"reasoning":"`+text+`","reasoning_content":""`), delta(`"tool_calls":[{"function":{"arguments":"`+text+`"}}]`))
	}
	for _, first := range all {
		for _, second := range all {
			p := new(pattern)
			_, _ = p.parse([]byte(first))
			got, gotOK := p.parse([]byte(second))
			want, wantOK := parseEvent([]byte(second))
			diff := cmp.Diff(want, got, cmp.AllowUnexported(event{}), cmpopts.IgnoreFields(event{}, "usage", "from", "to"))
			if diff != "" || gotOK != wantOK {
				t.Fatalf("%s behind %s: read: %v, want %v (-alone +behind):\n%s", second, first, gotOK, wantOK, diff)
			}
		}
	}
}
