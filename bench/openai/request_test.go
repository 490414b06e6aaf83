package openai

import (
	"encoding/json"
	"testing"
)

func TestCheckExtra(t *testing.T) {
	for name, tt := range map[string]struct{ field, value, want string }{
		"a number":      {"top_p", `0.9`, ""},
		"a list":        {"stop", `["\n"]`, ""},
		"null":          {"temperature", `null`, ""},
		"tokens":        {"max_tokens", `10`, ""},
		"ours too":      {"ignore_eos", `true`, ""},
		"no streaming":  {"stream", `false`, `extra field "stream" is set by the client itself`},
		"no usage":      {"stream_options", `{}`, `extra field "stream_options" is set by the client itself`},
		"another model": {"model", `"x"`, `extra field "model" is set by the client itself`},
		"messages":      {"messages", `[]`, `extra field "messages" is set by the client itself`},
		"prompt":        {"prompt", `""`, `extra field "prompt" is set by the client itself`},
		"no JSON":       {"cache_salt", `hunter22`, `extra field "cache_salt" is not JSON`},
		"two values":    {"seed", `1,"stream":false`, `extra field "seed" is not JSON`},
		"nothing":       {"seed", ``, `extra field "seed" is not JSON`},
	} {
		got := ""
		if err := CheckExtra(map[string]json.RawMessage{tt.field: json.RawMessage(tt.value), "seed_": json.RawMessage(`1`)}); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
