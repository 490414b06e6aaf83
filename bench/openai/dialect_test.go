package openai

import (
	"io"
	"testing"
)

// dialects are whole streams as the servers write them, with what they say.
func dialects() map[string]struct {
	body string
	want outcome
} {
	u := func(prompt, completion int) *Usage { return &Usage{PromptTokens: prompt, CompletionTokens: completion} }
	return map[string]struct {
		body string
		want outcome
	}{
		"vLLM chat": {
			events(role, word, word, `{"choices":[{"delta":{"content":""},"finish_reason":"stop","stop_reason":null}]}`, `{"choices":[],`+usage("9", "3")+`}`, done),
			outcome{Text: "aa", Events: 6, Usage: u(9, 3), Source: TokensUsage, Finish: "stop", Done: true},
		},
		"vLLM completions": {
			events(`{"object":"text_completion","choices":[{"text":"a","finish_reason":null}]}`, `{"choices":[{"text":"b","finish_reason":"length"}]}`, `{"choices":[],`+usage("5", "2")+`}`, done),
			outcome{Text: "aa", Events: 4, Usage: u(5, 2), Source: TokensUsage, Finish: "length", Done: true},
		},
		"reasoning, new name and old": {
			events(role, `{"choices":[{"delta":{"reasoning":"hm"}}]}`, `{"choices":[{"delta":{"reasoning_content":"so"}}]}`, word, stop, done),
			outcome{Text: "rra", Events: 6, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"tool call": {
			events(role, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, done),
			outcome{Text: "aa", Events: 5, Source: TokensChunks, Finish: "tool_calls", Done: true},
		},
		"MindIE: role in each chunk, usage beside the last choices": {
			events(`{"choices":[{"delta":{"role":"assistant","content":"a"},"finish_reason":null}]}`, `{"choices":[{"delta":{"role":"assistant","content":"b"},"finish_reason":null}]}`,
				`{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"batch_size":[1,1,1],"queue_wait_time":[5]}}`, done),
			outcome{Text: "aa", Events: 4, Usage: u(7, 3), Source: TokensUsage, Finish: "length", Done: true},
		},
		"continuous usage": {
			events(`{"choices":[{"delta":{"role":"assistant","content":""}}],`+usage("9", "0")+`}`, `{"choices":[{"delta":{"content":"a"}}],`+usage("9", "1")+`}`,
				`{"choices":[{"delta":{"content":"bcd"}}],`+usage("9", "4")+`}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],`+usage("9", "5")+`}`, `{"choices":[],`+usage("9", "5")+`}`, done),
			outcome{Text: "aa", Tokens: []int32{1, 3}, Events: 6, Usage: u(9, 5), Source: TokensUsage, Finish: "stop", Done: true},
		},
		"tokens without text between the first text and the finish": {
			events(role, quiet, word, quiet, quiet, word, quiet, finished("length"), quiet, `{"choices":[],`+usage("9", "6")+`}`, done),
			outcome{Text: "aAAaA", Events: 11, Usage: u(9, 6), Source: TokensUsage, Finish: "length", Done: true},
		},
		"tokens without text, and nobody counts": {
			events(role, word, quiet, word, stop, done),
			outcome{Text: "aAa", Events: 6, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"completions without text": {
			events(`{"choices":[{"text":""}]}`, `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":""}]}`, `{"choices":[{"text":"","finish_reason":"stop"}]}`, `{"choices":[],`+usage("5", "4")+`}`, done),
			outcome{Text: "aA", Events: 6, Usage: u(5, 4), Source: TokensUsage, Finish: "stop", Done: true},
		},
		"one without text is of the phase that it is in": {
			events(role, `{"choices":[{"delta":{"reasoning":"hm"}}]}`, `{"choices":[{"delta":{}}]}`, `{"choices":[{"delta":{"content":null}}]}`, word, quiet, word, stop, done),
			outcome{Text: "rRRaAa", Events: 9, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"text with the finish": {
			events(role, word, quiet, `{"choices":[{"delta":{"content":"."},"finish_reason":"stop"}]}`, done),
			outcome{Text: "aAa", Events: 5, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"no choice, or none with a delta": {
			events(word, `{"choices":[]}`, `{"choices":[{"delta":null}]}`, `{"choices":[{"index":0}]}`, `{"id":"x"}`, stop, done),
			outcome{Text: "a", Events: 7, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"halves of characters by a running usage: one that counts nothing is no token": {
			events(running(role, 0), running(quiet, 1), running(word, 2), running(quiet, 3), running(quiet, 4), running(word, 5), running(quiet, 5), running(stop, 6), `{"choices":[],`+usage("9", "6")+`}`, done),
			outcome{Text: "aAAa", Tokens: []int32{2, 1, 1, 1}, Events: 10, Usage: u(9, 6), Source: TokensUsage, Finish: "stop", Done: true},
		},
		"only tokens without text, by the final usage": {
			events(role, quiet, quiet, stop, `{"choices":[],`+usage("9", "2")+`}`, done),
			outcome{Events: 6, Usage: u(9, 2), Source: TokensUsage, Finish: "stop", Done: true},
		},
		"no end mark but a finish_reason": {
			events(word, stop),
			outcome{Text: "a", Events: 2, Source: TokensChunks, Finish: "stop"},
		},
		"CRLF, comments, other fields, no blank after the colon": {
			": ping\r\nevent: message\r\nid: 1\r\nretry: 50\r\ndata:" + word + "\r\n\r\n\r\n:\r\n\r\ndata: " + stop + "\r\n\r\ndata:[DONE]\r\n\r\n",
			outcome{Text: "a", Events: 3, Source: TokensChunks, Finish: "stop", Done: true},
		},
		"an event over several data lines": {
			"data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a\"}}\ndata:]}\n\ndata: [DONE]\n\n",
			outcome{Text: "a", Events: 2, Source: TokensChunks, Done: true},
		},
		"empty data": {
			"data:\n\ndata: \n\ndata\n\n" + events(word, done),
			outcome{Text: "a", Events: 2, Source: TokensChunks, Done: true},
		},
		"the last event without its blank line": {
			events(word) + "data: [DONE]",
			outcome{Text: "a", Events: 2, Source: TokensChunks, Done: true},
		},
		"nothing is read after the end mark": {
			events(word, done, `{"error":"late"}`) + "<html>",
			outcome{Text: "a", Events: 2, Source: TokensChunks, Done: true},
		},
		// Failures.
		"zero bytes":                {"", outcome{Source: TokensChunks, Failure: ReasonEmpty}},
		"comments only":             {": a\n\n: b\n\n", outcome{Source: TokensChunks, Failure: ReasonEmpty}},
		"end mark only":             {events(done), outcome{Events: 1, Source: TokensChunks, Done: true, Failure: ReasonEmpty}},
		"finish without text":       {events(role, stop), outcome{Events: 2, Source: TokensChunks, Finish: "stop", Failure: ReasonEmpty}},
		"role and end mark":         {events(role, done), outcome{Events: 2, Source: TokensChunks, Done: true, Failure: ReasonEmpty}},
		"tokens by usage are 0":     {events(role, stop, `{"choices":[],`+usage("9", "0")+`}`, done), outcome{Events: 4, Usage: u(9, 0), Source: TokensChunks, Finish: "stop", Done: true, Failure: ReasonEmpty}},
		"textless, no proper end":   {events(running(role, 0), running(quiet, 1)), outcome{Events: 2, Usage: u(9, 1), Source: TokensUsage, Failure: ReasonTruncated}},
		"no proper end":             {events(role, word), outcome{Text: "a", Events: 2, Source: TokensChunks, Failure: ReasonTruncated}},
		"half an event":             {events(word, stop) + `data: {"choices":[],"usa`, outcome{Text: "a", Events: 2, Source: TokensChunks, Finish: "stop", Failure: ReasonTruncated}},
		"error object":              {events(role, word, `{"error":{"message":"boom","code":500}}`, done), outcome{Text: "a", Events: 3, Source: TokensChunks, Failure: ReasonStreamError}},
		"error beside text":         {events(`{"error":{},"choices":[{"delta":{"content":"x"}}]}`), outcome{Events: 1, Source: TokensChunks, Failure: ReasonStreamError}},
		"error without blank line":  {"data: {\"error\":{}}", outcome{Events: 1, Source: TokensChunks, Failure: ReasonStreamError}},
		"JSON, but no object":       {events("[]"), outcome{Events: 1, Source: TokensChunks, Failure: ReasonProtocol}},
		"not JSON":                  {events("hello"), outcome{Events: 1, Source: TokensChunks, Failure: ReasonProtocol}},
		"cut JSON in a whole event": {events(word, `{"choices":[`), outcome{Text: "a", Events: 2, Source: TokensChunks, Failure: ReasonProtocol}},
		"error event":               {events(word) + "event: error\ndata: {\"code\":500}\n\n" + events(word, stop, done), outcome{Text: "a", Events: 2, Source: TokensChunks, Failure: ReasonStreamError}},
		"error event of plain text": {"event:error\r\ndata:out of memory\r\n\r\n", outcome{Events: 1, Source: TokensChunks, Failure: ReasonStreamError}},
		"error event, data first":   {events(word) + "data: out of memory\nevent: error\n\n", outcome{Text: "a", Events: 2, Source: TokensChunks, Failure: ReasonStreamError}},
		"error event, then the end": {events(word, stop) + "event: error\ndata: out of mem", outcome{Text: "a", Events: 3, Source: TokensChunks, Finish: "stop", Failure: ReasonStreamError}},
		"finish_reason error":       {events(word, finished("error"), done), outcome{Text: "a", Events: 3, Source: TokensChunks, Finish: "error", Done: true, Failure: ReasonStreamError}},
		"aborted, then all is well": {
			events(word, finished("abort"), word, stop, `{"choices":[],`+usage("9", "3")+`}`, done),
			outcome{Text: "aa", Events: 6, Usage: u(9, 3), Source: TokensUsage, Finish: "abort", Done: true, Failure: ReasonStreamError},
		},
		"one choice aborted, another well": {
			events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"abort"},{"index":1,"delta":{},"finish_reason":"stop"}]}`, done),
			outcome{Text: "a", Events: 2, Source: TokensChunks, Finish: "abort", Done: true, Failure: ReasonStreamError},
		},
		"aborted, then an error":  {events(word, finished("error"), finished("abort"), `{"error":{"message":"boom"}}`, done), outcome{Text: "a", Events: 4, Source: TokensChunks, Finish: "error", Failure: ReasonStreamError}},
		"bare error line":         {`{"error":{"message":"boom"}}` + "\n", outcome{Source: TokensChunks, Failure: ReasonStreamError}},
		"bare error, no line end": {events(word) + `{"object":"error","message":"boom"}`, outcome{Text: "a", Events: 1, Source: TokensChunks, Failure: ReasonStreamError}},
		"bare JSON, cut":          {`{"error":{"mess`, outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"bare JSON without error": {`{"id":"chatcmpl-1","error":null}` + "\n", outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"HTML":                    {"<!doctype html>\n<p>Bad Gateway", outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"HTML without a line end": {"<html>", outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"bytes that are no text":  {"\xff\xfe", outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"bare JSON lines":         {word + "\n" + stop + "\n", outcome{Source: TokensChunks, Failure: ReasonProtocol}},
		"plain text":              {events(word) + "Engine callback timeout.", outcome{Text: "a", Events: 1, Source: TokensChunks, Failure: ReasonStreamError}},
		"plain text with a colon": {"Error: no healthy upstream\n", outcome{Source: TokensChunks, Failure: ReasonStreamError}},
	}
}

func TestDialects(t *testing.T) {
	for name, tt := range dialects() {
		equal(t, name, tt.want, outcomeOf(read(t, io.EOF, piece{tt.body, ms(1)})))
	}
}
