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
	noError(b, err)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t := new(Trace)
		x := c.begin(b.Context(), t, time.Minute, time.Minute)
		s := &stream{trace: t}
		x.finish(x.readStream(bytes.NewReader(text), s))
		if t.Failure != nil || len(t.Chunks) != tokens {
			b.Fatalf("%d chunks, failure %v", len(t.Chunks), t.Failure)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/chunk")
}
