package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// One request to a server, and what the wire showed of it.
func ExampleClient_Stream() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, // no text: not the first token
			`{"choices":[{"delta":{"content":"Hello"}}]}`,
			`{"choices":[{"delta":{"content":" world"},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			`[DONE]`,
		} {
			_, _ = io.WriteString(w, "data: "+event+"\n\n")
		}
	}))
	defer server.Close()

	client, err := openai.NewClient(openai.Config{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	trace := client.Stream(context.Background(), openai.Request{
		Model: "qwen2.5", Prompt: "Say hello.", MaxTokens: 8, Timeout: time.Minute,
	})

	ttft, ok := openai.TTFT(trace)
	tokens, source := openai.OutputTokens(trace)
	fmt.Println("failure:", trace.Failure)
	fmt.Println("TTFT:", ok && ttft > 0 && ttft <= trace.End)
	fmt.Println("events:", trace.Events, "with text:", len(trace.Chunks), "gaps:", len(openai.ITLs(trace)))
	fmt.Println("output tokens:", tokens, "by", source)
	fmt.Println("finish:", trace.Finish)
	// Output:
	// failure: <nil>
	// TTFT: true
	// events: 5 with text: 2 gaps: 1
	// output tokens: 2 by usage
	// finish: stop
}
