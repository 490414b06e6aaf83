package openai

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// vllmStream is a chat stream of n tokens as vLLM writes it.
func vllmStream(n int) []byte {
	const head = `data: {"id":"chatcmpl-7c1f0e1d2b3a4958","object":"chat.completion.chunk","created":1760000000,"model":"made-up-7b-chat","choices":[`
	var b bytes.Buffer
	b.WriteString(head + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	for i := range n {
		fmt.Fprintf(&b, head+`{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
	}
	b.WriteString(head + `{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null}]}` + "\n\n")
	fmt.Fprintf(&b, `data: {"id":"chatcmpl-7c1f0e1d2b3a4958","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":21,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n", 21+n, n)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// BenchmarkReadStream reads a stream of 1,000 tokens from memory, through the
// same loop as a response.
func BenchmarkReadStream(b *testing.B) {
	const tokens = 1000
	text := vllmStream(tokens)
	c, err := NewClient(Config{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t := new(Trace)
		x := c.begin(b.Context(), t, time.Minute, time.Minute)
		s := newStream(t)
		if f := x.readStream(bytes.NewReader(text), s); f != nil {
			b.Fatal(f)
		}
		x.finish()
		s.finish()
		if len(t.Chunks) != tokens {
			b.Fatalf("%d chunks", len(t.Chunks))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/chunk")
}

// BenchmarkEvent reads one event of each kind that vLLM sends.
func BenchmarkEvent(b *testing.B) {
	const (
		head = `{"id":"chatcmpl-7c1f0e1d2b3a4958","object":"chat.completion.chunk","created":1760000000,"model":"made-up-7b-chat","choices":[{"index":0,`
		tail = `,"logprobs":null,"finish_reason":null}]`
		one  = `{"token":" word","logprob":-0.01234,"bytes":[32,119,111,114,100]`
	)
	for _, event := range []struct{ name, text string }{
		{"role", head + `"delta":{"role":"assistant","content":""}` + tail + `}`},
		{"content", head + `"delta":{"content":" word"}` + tail + `}`},
		{"escapes", head + `"delta":{"content":"\n\n\"\u4f60\u597d\""}` + tail + `}`},
		{"reasoning", head + `"delta":{"reasoning_content":" word"}` + tail + `}`},
		{"tool call", head + `"delta":{"tool_calls":[{"index":0,"id":"call_9f2c","type":"function","function":{"name":"lookup","arguments":"{\"a\""}}]}` + tail + `}`},
		{"token ids", head + `"delta":{"content":" word"},"token_ids":[15432,220]` + tail + `}`},
		{"usage", head + `"delta":{"content":" word"}` + tail + `,"usage":{"prompt_tokens":21,"total_tokens":121,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":16}}}`},
		{"logprobs", head + `"delta":{"content":" word"},"logprobs":{"content":[` + one + `,"top_logprobs":[` + one + `},` + one + `},` + one + `},` + one + `},` + one + `}]}]},"finish_reason":null}]}`},
		{"finish", head + `"delta":{"content":""},"logprobs":null,"finish_reason":"length","stop_reason":null}]}`},
	} {
		b.Run(event.name, func(b *testing.B) {
			b.ReportAllocs()
			data := []byte(event.text)
			for b.Loop() {
				if _, ok := parseEvent(data); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
}
