package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// said is an event in a form that can be compared.
type said struct {
	Failed, Choice, Answer, Reasoning bool
	Finish                            string
	Prompt, Completion, Cached, IDs   int32
}

func whatParserSays(data []byte) (said, bool) {
	var p eventParser
	if !p.parse(data) {
		return said{}, false
	}
	ev := p.ev
	return said{ev.failed, ev.choice, ev.answer, ev.reasoning, string(ev.finish), ev.prompt, ev.completion, ev.cached, ev.ids}, true
}

func TestEventParser(t *testing.T) {
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
		"chat content":           {`{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`, answer},
		"completions text":       {`{"choices":[{"index":0,"text":"Hi","finish_reason":null}]}`, answer},
		"role with empty text":   {`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, part},
		"role with null content": {`{"choices":[{"delta":{"role":"assistant","content":null}}]}`, part},
		"reasoning":              {`{"choices":[{"delta":{"reasoning":"hm"}}]}`, partWith(func(s *said) { s.Reasoning = true })},
		"reasoning_content":      {`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, partWith(func(s *said) { s.Reasoning = true })},
		"both":                   {`{"choices":[{"delta":{"reasoning":"hm","content":"a"}}]}`, partWith(func(s *said) { s.Reasoning, s.Answer = true, true })},
		"tool call arguments":    {`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, answer},
		"tool call name":         {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}]}`, answer},
		"tool call without text": {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"arguments":""}}]}}]}`, part},
		"no tool calls":          {`{"choices":[{"delta":{"tool_calls":[]}}]}`, part},
		"second choice":          {`{"choices":[{"delta":{}},{"index":1,"delta":{"content":"b"}}]}`, answer},
		"escaped text":           {`{"choices":[{"delta":{"content":"\n"}}]}`, answer},
		"escaped key":            {`{"choices":[{"delta":{"\u0063ontent":"x"}}]}`, answer},
		"finish":                 {`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, partWith(func(s *said) { s.Finish = "stop" })},
		"empty finish":           {`{"choices":[{"delta":{},"finish_reason":""}]}`, part},
		"usage alone": {
			`{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`,
			with(func(s *said) { s.Prompt, s.Completion, s.Cached = 9, 3, 4 }),
		},
		"null details":        {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}`, with(func(s *said) { s.Prompt = 9 })},
		"null cached tokens":  {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":null}}}`, with(func(s *said) { s.Prompt = 9 })},
		"no cached tokens":    {`{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}`, with(func(s *said) { s.Prompt, s.Cached = 9, 0 })},
		"token ids":           {`{"choices":[{"delta":{"content":""},"token_ids":[0,151643]}]}`, partWith(func(s *said) { s.IDs = 2 })},
		"null token ids":      {`{"choices":[{"delta":{"content":""},"token_ids":null}]}`, part},
		"null usage":          {`{"choices":[],"usage":null}`, none},
		"no integers":         {`{"usage":{"prompt_tokens":-1,"completion_tokens":3.0,"prompt_tokens_details":{"cached_tokens":"4"}}}`, none},
		"exponent":            {`{"usage":{"prompt_tokens":1e3}}`, none},
		"largest count":       {`{"usage":{"prompt_tokens":1000000000,"completion_tokens":1000000001}}`, with(func(s *said) { s.Prompt = 1e9 })},
		"a long number":       {`{"usage":{"prompt_tokens":99999999999999999999999999}}`, none},
		"error object":        {`{"error":{"message":"out of memory","code":500}}`, with(func(s *said) { s.Failed = true })},
		"error text":          {`{"error":"Unauthorized"}`, with(func(s *said) { s.Failed = true })},
		"null error":          {`{"error":null,"choices":[]}`, none},
		"flat error":          {`{"object":"error","message":"m","code":400}`, with(func(s *said) { s.Failed = true })},
		"error deeper inside": {`{"choices":[{"delta":{"error":"no"}}]}`, part},
		"unexpected types": {
			`{"choices":[7,{"delta":"x"},{"delta":{"content":["a"],"reasoning":{"a":"b"},"tool_calls":"t"},"text":3,"finish_reason":false}],"usage":[1],"object":null}`,
			part,
		},
		"choices no list": {`{"choices":{"delta":{"content":"x"}}}`, none},
		"spaces":          {" {\t\"choices\" : [ { \"delta\" : { \"content\" : \"x\" } } ] }\r\n", answer},
		"empty object":    {`{}`, none},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := whatParserSays([]byte(tt.json))
			if !ok {
				t.Fatalf("refused %s", tt.json)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

// jsonSeeds are valid and invalid texts around every rule of the grammar.
func jsonSeeds() []string {
	deep := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }
	return []string{
		``, `{`, `}`, `{}`, `{}}`, `{},`, ` {} `, `[]`, `null`, `"a"`, `1`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`,
		`{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":[}`, `{a:1}`, `{1:1}`, `{null:1}`, `{"a":tru}`, `{"a":nul}`, `{"a":True}`,
		`{"a":01}`, `{"a":-}`, `{"a":-0}`, `{"a":1.}`, `{"a":.1}`, `{"a":1e}`, `{"a":1e+}`, `{"a":1E-2}`, `{"a":0.0e0}`, `{"a":+1}`, `{"a":1x}`,
		`{"a":"\u12g4"}`, `{"a":"\u123"}`, `{"a":"\ud800"}`, `{"a":"\x"}`, `{"a":"\`, `{"a":"\"}`, "{\"a\":\"\x1f\"}", "{\"a\":\"\x7f\xff\"}", "{\"a\":\"\t\"}", "{\"a\":\x00}",
		`{"\"":1}`, `{"\u0075sage":{"prompt_tokens":1}}`, `{"usage":{"prompt_tokens":1,"prompt_tokens":2}}`, "{\"a\":1}\v", "\ufeff{}",
		deep(maxDepth), deep(maxDepth + 2), `{"choices":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `}`, `{"choices":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`,
	}
}

func TestEventParserAgreesWithEncodingJSON(t *testing.T) {
	for _, seed := range jsonSeeds() {
		checkAgainstEncodingJSON(t, []byte(seed))
	}
}

// FuzzEvent: what is accepted, and what is read, is what encoding/json says.
func FuzzEvent(f *testing.F) {
	for _, seed := range jsonSeeds() {
		if len(seed) < 1000 {
			f.Add([]byte(seed))
		}
	}
	for line := range bytes.Lines(vllmStream(2)) {
		f.Add(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data: "))))
	}
	f.Add([]byte(`{"choices":[{"delta":{"reasoning":"a","tool_calls":[{"function":{"name":"f","arguments":"{"}}]},"text":"x","token_ids":[0,-1,7,2.0,"a"],"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}},"error":null,"object":"error"}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkAgainstEncodingJSON(t, data) })
}

func checkAgainstEncodingJSON(t *testing.T, data []byte) {
	t.Helper()
	got, ok := whatParserSays(data)
	valid := json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if ok != valid {
		t.Fatalf("accepted: %v, a valid object: %v\n%.300q", ok, valid, data)
	}
	if !ok || repeatsKeys(data) {
		return // which of two values counts is nobody's rule
	}
	want := whatEncodingJSONSays(t, data)
	if !utf8.Valid(data) { // the parser keeps such text as it is
		want.Finish, got.Finish = "", ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("event (-encoding/json +parser):\n%s\n%.300q", diff, data)
	}
}

// whatEncodingJSONSays is the slow and plain way to read an event.
func whatEncodingJSONSays(t *testing.T, data []byte) said {
	t.Helper()
	var top map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&top); err != nil {
		t.Fatalf("decoding %q: %v", data, err)
	}
	filled := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	object := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	list := func(v any) []any { l, _ := v.([]any); return l }
	count := func(v any) int32 {
		n, ok := v.(json.Number)
		i, err := n.Int64()
		if !ok || err != nil || strings.HasPrefix(n.String(), "-") || i > 1e9 {
			return noCount
		}
		return int32(i)
	}
	usage := object(top["usage"])
	s := said{
		Failed:     top["error"] != nil || top["object"] == "error",
		Prompt:     count(usage["prompt_tokens"]),
		Completion: count(usage["completion_tokens"]),
		Cached:     count(object(usage["prompt_tokens_details"])["cached_tokens"]),
	}
	for _, c := range list(top["choices"]) {
		choice := object(c)
		s.Choice = s.Choice || choice != nil
		for _, id := range list(choice["token_ids"]) {
			if count(id) != noCount {
				s.IDs++
			}
		}
		delta := object(choice["delta"])
		s.Answer = s.Answer || filled(choice["text"]) || filled(delta["content"])
		s.Reasoning = s.Reasoning || filled(delta["reasoning"]) || filled(delta["reasoning_content"])
		for _, call := range list(delta["tool_calls"]) {
			function := object(object(call)["function"])
			s.Answer = s.Answer || filled(function["name"]) || filled(function["arguments"])
		}
		if filled(choice["finish_reason"]) {
			s.Finish, _ = choice["finish_reason"].(string)
		}
	}
	return s
}

// repeatsKeys reports whether an object in data has a member twice.
func repeatsKeys(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		keys map[string]bool // nil for an array
		key  bool            // a key comes next
	}
	var open []*level
	for {
		token, err := dec.Token()
		if err != nil {
			return err != io.EOF
		}
		if n := len(open); n > 0 && open[n-1].keys != nil && token != json.Delim('}') {
			if top := open[n-1]; top.key {
				if k := token.(string); top.keys[k] {
					return true
				}
				top.keys[token.(string)], top.key = true, false
				continue
			}
			open[n-1].key = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			open = append(open, &level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
