package probe

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Each mistake is told with its line and its field.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty.txt"), "")
	write(t, filepath.Join(dir, "bad.pem"), "no certificate")
	none := "FILE:1: probes: is missing, such as probes: [{url: http://127.0.0.1:8000}]"
	// Each text stands in line 2 for a probe with a good URL, unless it has lines of its own.
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":                  {"\n", none},
		"no probes":                {"\n{}", none},
		"probes, empty":            {"\nprobes:\n", none},
		"probes is no list":        {"\nprobes: {a: b}", "FILE:2: cannot unmarshal !!map"},
		"unknown field":            {"intervall: 30s", "FILE:2: field intervall not found"},
		"unknown field of http":    {"http: {\nauthorisation: {}}", "FILE:3: field authorisation not found"},
		"field twice":              {"timeout: 1s,\n timeout: 2s", "FILE:3: mapping key … already defined at line 2"},
		"a probe is no mapping":    {"\nprobes: [a]", "FILE:2: cannot unmarshal !!str …"},
		"a probe without a field":  {"\nprobes: [{}]", "FILE:2: url: URL must start with http:// or https://"},
		"names twice":              {"\nprobes:\n- {url: 'http://h:1', name: n}\n- url: http://h:2\n  name: n", `FILE:4: name: two probes are named "n", the first in line 3: give each its own`},
		"beside a merge":           {"\nprobes:\n- &a {url: 'http://h:1', name: n}\n- <<: *a\n  name: m\n  max_tokens: 0", "FILE:4: max_tokens: must be 1 to 131072"},
		"several":                  {"interval: 5,\ntimeout: 0s,\nslo: {request_duration: 5}", "FILE:2: interval: not a valid duration string: …\nFILE:4: slo: not a valid duration string: …"},
		"several of one probe":     {"max_tokens: 0,\napi: x", "FILE:2: api: must be chat or completions\nFILE:2: max_tokens: must be 1 to 131072"},
		"api against the URL":      {"\nprobes:\n- url: http://h:1/v1/completions\n  api: chat", "FILE:3: url: ends in the path of completions, but api is chat: leave one of them out"},
		"interval short":           {"interval: 99ms", "FILE:2: interval: must be at least 100ms"},
		"interval without a unit":  {"interval: 30", "FILE:2: interval: not a valid duration string: …"},
		"not an expression":        {"expect: '(s3cret'", "FILE:2: expect: missing closing )"},
		"a member of our own":      {"extra_body: {model: s3cret}", `FILE:2: extra_body: extra field "model" is set by the client itself`},
		"a member that is no JSON": {"extra_body: {a: {1: s3cret}}", `FILE:2: extra_body: extra field "a" is not JSON`},
		"healthy after none":       {"healthy_after: 0", "FILE:2: unhealthy_after, healthy_after: must be at least 1"},
		"prompt and file":          {"prompt: a, prompt_file: empty.txt", "FILE:2: prompt: at most one of prompt, prompt_file and random_input_tokens may be set"},
		"prompt file missing":      {"prompt_file: none.txt", "FILE:2: prompt_file: open DIR/none.txt: no such file or directory"},
		"no URL":                   {"\nprobes:\n- name: n", "FILE:3: url: URL must start with http:// or https://"},
		"name of two lines":        {"\nprobes: [{url: 'http://h:1', name: \"a\\nb\"}]", "FILE:2: name: must be 1 to 200 bytes of printable text"},
		"CA missing":               {"http: {tls_config: {ca_file: none.pem}}", "FILE:2: http: configuring HTTP: unable to read CA cert: unable to read file DIR/none.pem: open DIR/none.pem: no such file or directory"},
		"unknown anchor":           {"http: {basic_auth: {username: u, password: *s3cret}}", "FILE: unknown anchor … referenced"},
		"two ways to authenticate": {"http: {authorization: {credentials: x}, basic_auth: {username: y}}", "FILE:2: http: at most one of basic_auth, oauth2 & authorization must be configured"},
	} {
		t.Run(name, func(t *testing.T) {
			text, own := strings.CutPrefix(tt.text, "\n")
			if own {
				text = "# line 1\n" + text
			} else {
				text = "probes: [\n{name: n, url: 'http://h:1', " + tt.text + "}]"
			}
			_, err := readText(t, text, dir)
			got := strings.NewReplacer(filepath.Join(dir, "probes.yml"), "FILE", dir, "DIR").Replace(fmt.Sprint(err))
			equal(t, "error", tt.want, got)
		})
	}
}
