package fakevllm

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFrames holds what each dialect puts on the wire for one answer of two
// chunks, the first of them reasoning.
func TestFrames(t *testing.T) {
	const (
		head = `{"id":"chatcmpl-7","object":"chat.completion.chunk","created":9,"model":"m","choices":[{"index":0,`
		bare = `{"id":"chatcmpl-7","object":"chat.completion.chunk","created":9,"model":"m","choices":[],`
		nils = `"logprobs":null,"finish_reason":null`
		both = `"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2`
	)
	tests := map[Dialect]struct{ role, reasoning, text, finish, usage string }{
		DialectVLLM: {
			head + `"delta":{"role":"assistant","content":""},` + nils + `}]}`,
			head + `"delta":{"reasoning":"why"},` + nils + `}]}`,
			head + `"delta":{"content":" so"},` + nils + `}]}`,
			head + `"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
			bare + both + `,"prompt_tokens_details":{"cached_tokens":3}}}`,
		},
		DialectVLLMBytes: {
			head + `"delta":{"role":"assistant","content":""},` + nils + `}]}`,
			head + `"delta":{"reasoning":"why"},` + nils + `}]}`,
			head + `"delta":{"content":" so"},` + nils + `}]}`,
			head + `"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
			bare + both + `,"prompt_tokens_details":{"cached_tokens":3}}}`,
		},
		DialectVLLM06: {
			head + `"delta":{"role":"assistant","content":""},` + nils + `}]}`,
			head + `"delta":{"reasoning_content":"why"},` + nils + `}]}`,
			head + `"delta":{"content":" so"},` + nils + `}]}`,
			head + `"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
			bare + both + `}}`,
		},
		DialectMindIE: {
			head + `"delta":{"role":"assistant","content":""},` + nils + `}]}`,
			head + `"delta":{"role":"assistant","content":"","reasoning_content":"why"},` + nils + `}]}`,
			head + `"delta":{"role":"assistant","content":" so"},` + nils + `}]}`,
			head + `"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}],` + both + `}}`,
			"",
		},
		DialectLlamaCPP: {
			head + `"delta":{"role":"assistant","content":null},` + nils + `}]}`,
			head + `"delta":{"reasoning_content":"why"},` + nils + `}]}`,
			head + `"delta":{"content":" so"},` + nils + `}]}`,
			head + `"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
			bare + both + `},"timings":{"cache_n":3,"predicted_ms":500,"predicted_n":2,"predicted_per_second":4,"predicted_per_token_ms":250,` +
				`"prompt_ms":100,"prompt_n":2,"prompt_per_second":20,"prompt_per_token_ms":50}}`,
		},
	}
	if len(tests) != len(Dialects()) {
		t.Errorf("%d dialects, frames known of %d", len(Dialects()), len(tests))
	}
	for dialect, want := range tests {
		t.Run(string(dialect), func(t *testing.T) {
			f := newFramer(exampleJob(dialect))
			got := want
			got.role = string(f.role(nil))
			got.reasoning = string(f.text(nil, []byte("why"), true, "", 1))
			got.text = string(f.text(nil, []byte(" so"), false, "", 2))
			got.finish = string(f.finish(nil, finishStop, 2))
			got.usage = ""
			if f.usageApart() {
				got.usage = string(f.lastUsage(nil, 2))
			}
			for _, frame := range []string{got.role, got.reasoning, got.text, got.finish, got.usage} {
				if frame != "" && !json.Valid([]byte(frame)) {
					t.Errorf("not JSON: %s", frame)
				}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(want)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// exampleJob is a chat with 5 prompt tokens, 3 of them cached.
func exampleJob(d Dialect) *job {
	j := &job{style: style{dialect: d, traits: d.traits()}, chat: true, model: "m", id: "chatcmpl-7", created: 9, usage: true}
	j.q = newSequence(5, nil, 2, finishStop)
	j.q.cached = 3
	j.q.scheduled = time.Unix(100, 0)
	j.q.first = j.q.scheduled.Add(100 * time.Millisecond)
	j.q.last = j.q.first.Add(500 * time.Millisecond)
	return j
}

func TestCompletionFrames(t *testing.T) {
	const head = `{"id":"cmpl-7","object":"text_completion","created":9,"model":"a \"b\"","choices":[{"index":0,`
	j := exampleJob(DialectVLLM)
	j.chat, j.id, j.model, j.eachUsage = false, "cmpl-7", `a "b"`, true
	f := newFramer(j)
	got := []string{
		string(f.text(nil, []byte("so"), false, "", 1)),
		string(f.text(nil, []byte(" be"), false, finishLength, 2)),
	}
	want := []string{
		head + `"text":"so","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":6,"completion_tokens":1}}`,
		head + `"text":" be","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
