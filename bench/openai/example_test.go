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

// A server that refuses is a failure in the trace, with a reason of a closed set.
func ExampleFailure() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer server.Close()

	client, err := openai.NewClient(openai.Config{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	trace := client.Stream(context.Background(), openai.Request{Model: "qwen2.5", Prompt: "Say hello."})

	_, ok := openai.TTFT(trace)
	fmt.Println(trace.Failure)
	fmt.Println(trace.Failure.Reason.Words())
	fmt.Println("TTFT:", ok)
	// Output:
	// http_429: status 429: slow down
	// too many requests for the server
	// TTFT: false
}

// What is derived from the instants of four chunks of text and the server's usage:
// the last chunk brought two tokens.
func ExampleTPOT() {
	trace := &openai.Trace{
		Chunks: []openai.Chunk{
			{At: 200 * time.Millisecond, Tokens: 1},
			{At: 230 * time.Millisecond, Tokens: 1},
			{At: 260 * time.Millisecond, Tokens: 1},
			{At: 320 * time.Millisecond, Tokens: 2},
		},
		Usage:       &openai.Usage{PromptTokens: 12, CompletionTokens: 5},
		TokenSource: openai.TokensUsage,
	}
	ttft, _ := openai.TTFT(trace)
	tpot, _ := openai.TPOT(trace)
	e2e, _ := openai.E2E(trace)
	fmt.Println("TTFT:", ttft)
	fmt.Println("ITL, a chunk:", openai.ITLs(trace))
	fmt.Println("ITL, a token:", openai.TokenITLs(trace))
	fmt.Println("TPOT:", tpot)
	fmt.Println("E2E:", e2e)
	// Output:
	// TTFT: 200ms
	// ITL, a chunk: [30ms 30ms 60ms]
	// ITL, a token: [30ms 30ms 30ms 30ms]
	// TPOT: 30ms
	// E2E: 320ms
}
