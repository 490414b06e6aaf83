package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/bench/configfile"
)

// A small text that stands for a large one, by aliases, is not looked at for long.
func TestAliasesAreBounded(t *testing.T) {
	text := "probes:\n- &a {url: 'http://h:1', http: {http_headers: &h {" + strings.Repeat("X: {values: [x, x]}, ", 1000) + "}}}\n" + strings.Repeat("- *a\n", 10_000)
	if _, err := readText([]byte(text), ""); err == nil || !strings.Contains(err.Error(), "the file has too many parts") && !strings.Contains(err.Error(), "and ") {
		t.Errorf("error %v", err)
	}
}

// Each mistake is told with its line, its field and, where there is one, an example.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty.txt"), "")
	write(t, filepath.Join(dir, "latin1.txt"), "caf\xe9")
	write(t, filepath.Join(dir, "large.txt"), strings.Repeat("a", maxPromptBytes+1))
	write(t, filepath.Join(dir, "bad.pem"), "no certificate")
	const least = ", such as probes: [{url: http://127.0.0.1:8000}]"
	// Each text stands in line 2 for a probe with a good URL, unless it has lines of its own.
	tests := map[string]struct{ text, want string }{
		"nothing":                   {"\n", "line 1: the file is empty, it must hold probes" + least},
		"a comment":                 {"\n# nothing", "line 1: the file is empty, it must hold probes" + least},
		"an empty document":         {"\n---\n", "line 3: the file is empty, it must hold probes" + least},
		"no probes":                 {"\n{}", "line 2: the file has no probes" + least},
		"probes, empty":             {"\nprobes:\n", "line 2: probes: has nothing in it; write [] for none, or a list" + least},
		"probes is no list":         {"\nprobes: {a: b}", "line 2: probes: must be a list" + least},
		"not a mapping":             {"\n- a", "line 2: must be the field probes with a list" + least},
		"unknown field":             {"intervall: 30s", "line 2: unknown field intervall"},
		"a key at the top":          {"api_key_file: key", "line 2: unknown field api_key_file, did you mean http.authorization.credentials_file?"},
		"a key's file at the top":   {"key_file: key", "line 2: unknown field key_file, did you mean http.authorization.credentials_file?"},
		"a key of http":             {"http: {api_key: key}", "line 2: http: unknown field api_key, did you mean authorization.credentials_file?"},
		"a token":                   {"token: key", "line 2: unknown field token, did you mean http.authorization.credentials_file?"},
		"in capitals":               {"URL: x", "line 2: unknown field"},
		"a field of its own":        {"colour: red", "line 2: unknown field colour"},
		"at the wrong place":        {"authorization: {}", "line 2: unknown field authorization"},
		"unknown field of http":     {"http: {authorisation: {}}", "line 2: http: unknown field authorisation"},
		"unknown field within http": {"http: {authorization: {credential_file: x}}", "line 2: http.authorization: unknown field credential_file, known: credentials, credentials_file, credentials_ref, type"},
		"unknown field of slo":      {"slo: {ttft: 1s}", "line 2: slo: unknown field ttft, known: inter_token_latency, request_duration, time_per_output_token, time_to_first_token"},
		"unknown field at the top":  {"\nprobe: []", "line 2: unknown field probe, known: probes"},
		"unknown field of a merge":  {"<<: {modell: m}", "line 2: unknown field modell"},
		"field twice":               {"timeout: 1s,\n timeout: 2s", `line 3: timeout: is there twice, first in line 2`},
		"probes twice":              {"\nprobes: []\nprobes: []", `line 3: probes: is there twice, first in line 2`},
		"two documents":             {"\nprobes: []\n---\nprobes: []", "line 3: more than one YAML document: remove the line ---"},
		"an end, then more":         {"\nprobes: []\n...\n}", "more than one YAML document: remove the line ---"},
		"no YAML":                   {"\nprobes: [", "line 2: not YAML: did not find expected node content"},
		"a tab":                     {"\nprobes:\n\t- url: x", "line 3: not YAML: found character that cannot start any token"},
		"an unknown anchor":         {"\nprobes: [*some]", "not YAML: unknown anchor … referenced"},
		"an anchor within itself":   {"<<: &a {<<: *a}", "line 2: contains itself"},
		"a probe is no mapping":     {"\nprobes: [a]", "line 2: must be fields with values"},
		"an empty probe":            {"\nprobes: [null]", "line 2: probes: an entry is empty: remove it, or give it a url"},
		"the second is empty":       {"\nprobes:\n- url: http://h:1\n-\n", "line 4: probes: an entry is empty: remove it, or give it a url"},
		"names twice":               {"\nprobes:\n- {url: 'http://h:1', name: n}\n- url: http://h:2\n  name: n", `line 5: name: two probes are named "n", the first in line 3: give each its own, such as chat-short`},
		"names twice, and more": {"\nprobes:\n- {url: x, name: n}\n- {url: 'http://h:1', name: n}\n- {url: 'http://h:2', name: n, colour: red}", `
line 3: url: URL must start with http:// or https://, such as http://127.0.0.1:8000
line 4: name: two probes are named "n", the first in line 3: give each its own, such as chat-short
line 5: unknown field colour
line 5: name: two probes are named "n", the first in line 3: give each its own, such as chat-short`[1:]},
		"beside a merge":             {"\nprobes:\n- &a {url: 'http://h:1', name: n}\n- <<: *a\n  name: m\n  modell: m\n  max_tokens: 0", "line 6: unknown field modell\nline 7: max_tokens: must be 1 to 131072, such as 64"},
		"a mistake that is merged":   {"\nprobes:\n- &a {url: 'http://h:1', name: n, interval: 5}\n- <<: *a\n  name: m", "line 3: interval: has no unit, such as 30s"},
		"default names twice":        {"\nprobes:\n- url: http://h:80/a\n- url: http://h/b", `line 4: name: two probes are named "h:80", the first in line 3: give each its own, such as chat-short`},
		"api":                        {"api: embeddings", "line 2: api: must be chat or completions, such as chat"},
		"api against the URL":        {"\nprobes:\n- url: http://h:1/v1/completions\n  api: chat", "line 4: api: is chat, but the URL ends in the path of completions: leave one of them out"},
		"interval negative":          {"interval: -5s", "line 2: interval: must not be negative, such as 30s"},
		"interval zero":              {"interval: 0s", "line 2: interval: must be at least 100ms, such as 30s"},
		"interval short":             {"interval: 99ms", "line 2: interval: must be at least 100ms, such as 30s"},
		"interval without a unit":    {"interval: 30", "line 2: interval: has no unit, such as 30s"},
		"interval with a fraction":   {"interval: 1.5s", "line 2: interval: must be whole numbers with units (ms, s, m, h), such as 30s"},
		"interval endless":           {"interval: 1000y", "line 2: interval: is too long, such as 30s"},
		"interval is a list":         {"interval: [1s]", "line 2: interval: must be a length of time, such as 30s"},
		"timeout negative":           {"timeout: -1s", "line 2: timeout: must not be negative, such as 120s"},
		"timeout zero":               {"timeout: 0s", "line 2: timeout: must be more than 0, such as 120s"},
		"idle timeout zero":          {"idle_timeout: 0s", "line 2: idle_timeout: must be more than 0, such as 30s"},
		"objective without a unit":   {"slo: {\n time_to_first_token: 2}", "line 3: slo.time_to_first_token: has no unit, such as 2s"},
		"slo is no mapping":          {"slo: 2s", "line 2: slo: must be fields with values, such as {time_to_first_token: 2s}"},
		"max tokens zero":            {"max_tokens: 0", "line 2: max_tokens: must be 1 to 131072, such as 64"},
		"max tokens large":           {"max_tokens: 131073", "line 2: max_tokens: must be 1 to 131072, such as 64"},
		"max tokens is text":         {"max_tokens: many", "line 2: max_tokens: must be a whole number, such as 64"},
		"cache friendly is text":     {"cache_friendly: perhaps", "line 2: cache_friendly: must be true or false, such as false"},
		"random words negative":      {"random_input_tokens: -1", "line 2: random_input_tokens: must be 1 to 131072, such as 256"},
		"prompt and file":            {"prompt: a, prompt_file: large.txt", "line 2: prompt_file: at most one of prompt, prompt_file and random_input_tokens may be set"},
		"prompt and words":           {"prompt: a,\n random_input_tokens: 5", "line 3: random_input_tokens: at most one of prompt, prompt_file and random_input_tokens may be set"},
		"prompt is a list":           {"prompt: [a]", `line 2: prompt: must be text, such as "Name three rivers."`},
		"prompt file missing":        {"prompt_file: none.txt", "line 2: prompt_file: open " + dir + "/none.txt: no such file or directory"},
		"prompt file empty":          {"prompt_file: empty.txt", "line 2: prompt_file: " + dir + "/empty.txt must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file large":          {"prompt_file: large.txt", "line 2: prompt_file: " + dir + "/large.txt must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file no UTF-8":       {"prompt_file: latin1.txt", "line 2: prompt_file: " + dir + "/latin1.txt must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file is a folder":    {"prompt_file: .", "line 2: prompt_file: open " + dir + ": not a regular file"},
		"no URL":                     {"\nprobes:\n- name: n", "line 3: url: is missing, such as http://127.0.0.1:8000"},
		"empty URL":                  {"\nprobes:\n- name: n\n  url:", "line 4: url: is missing, such as http://127.0.0.1:8000"},
		"URL without a scheme":       {"\nprobes: [{url: '127.0.0.1:8000'}]", "line 2: url: not a URL of the form http://host:port, such as http://127.0.0.1:8000"},
		"URL of another scheme":      {"\nprobes: [{url: 'unix:///run/x'}]", "line 2: url: URL must start with http:// or https://, such as http://127.0.0.1:8000"},
		"URL with user":              {"\nprobes: [{url: 'http://me@h:1'}]", "line 2: url: URL must not hold a user name or password: use the http configuration, such as http://127.0.0.1:8000"},
		"URL with query":             {"\nprobes: [{url: 'http://h:1/?a=b'}]", "line 2: url: URL must not have a query, such as http://127.0.0.1:8000"},
		"URL is a list":              {"\nprobes: [{url: ['http://h:1']}]", "line 2: url: must be text, such as http://127.0.0.1:8000"},
		"name of two lines":          {"\nprobes: [{url: 'http://h:1', name: \"a\\nb\"}]", "line 2: name: must be 1 to 200 bytes of printable text, such as chat-short"},
		"name too long":              {"\nprobes: [{url: 'http://h:1', name: " + strings.Repeat("n", 257) + "}]", "line 2: name: must be 1 to 200 bytes of printable text, such as chat-short"},
		"model backwards":            {`model: "\u202Eabc"`, "line 2: model: must be at most 200 bytes of printable text, such as qwen2.5"},
		"device empty":               {"devices: {metax: ['']}", `line 2: devices: must be lists of device names by vendor, such as {metax: ["0", "1"]}`},
		"device is no list":          {"devices: {metax: '0'}", `line 2: devices: must be a list, such as {metax: ["0", "1"]}`},
		"CA missing":                 {"http: {\n tls_config: {\n ca_file: none.pem}}", "line 4: http.tls_config.ca_file: configuring HTTP: unable to read CA cert: unable to read file " + dir + "/none.pem: open " + dir + "/none.pem: no such file or directory"},
		"CA of no use":               {"http: {tls_config: {ca_file: bad.pem}}", "line 2: http.tls_config.ca_file: configuring HTTP: unable to use specified CA cert file " + dir + "/bad.pem"},
		"certificate without key":    {"http: {tls_config: {cert_file: bad.pem}}", "line 2: http: exactly one of key or key_file must be configured when a client certificate is configured"},
		"certificate of no use":      {"http: {tls_config: {cert_file: bad.pem, key_file: bad.pem}}", "line 2: http.tls_config.cert_file: configuring HTTP: unable to use specified client cert (file " + dir + "/bad.pem) & key (file " + dir + "/bad.pem): tls: failed to find any PEM data in certificate input"},
		"TLS version":                {"http: {tls_config: {min_version: '1.2'}}", "line 2: http.tls_config.min_version: must be one of TLS10, TLS11, TLS12, TLS13"},
		"proxy":                      {"http: {proxy_url: 'http://%zz'}", "line 2: http.proxy_url: must be a URL, such as http://proxy.example:3128"},
		"two ways to authenticate":   {"http: {authorization: {credentials: x}, basic_auth: {username: y}}", "line 2: http: at most one of basic_auth, oauth2 & authorization must be configured"},
		"header that is not allowed": {"http: {http_headers: {Content-Type: {values: [x]}}}", "line 2: http: setting header … is not allowed"},
		"the probe's own header":     {"http: {http_headers: {x-request-id: {values: [x]}}}", "line 2: http.http_headers: X-Request-Id is the probe's own: use another, such as {X-Team: {values: [ops]}}"},
		"header's values":            {"http: {http_headers: {X-Team: {values: x}}}", "line 2: http.http_headers.values: must be a list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text, own := strings.CutPrefix(tt.text, "\n")
			if own {
				text = "# line 1\n" + text
			} else {
				text = "probes: [\n{name: n, url: 'http://h:1', " + tt.text + "}]"
			}
			_, err := readText([]byte(text), dir)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// All mistakes of a file are told at once, in the order of its lines, and what is
// good in it can be looked at too.
func TestAllMistakesAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "probes.yml")
	write(t, filepath.Join(dir, "key"), " \n")
	write(t, path, `probes:
- url: http://h:1
  http:
    authorization:
      credentials_file: key
- name: b
  intervall: 30s
  timeout: 30
  http: {basic_auth: {username: a}, authorization: {credentials: sk-5ecret}}
  slo: {time_to_first_token: 2, request_duration: 1m}
- url: gateway:8000
  max_tokens: 0
- url: http://h:1/
`)
	file, err := ReadFile(t.Context(), path, new(Files))
	want := []string{
		path + ":6: url: is missing, such as http://127.0.0.1:8000",
		path + ":7: unknown field intervall",
		path + ":8: timeout: has no unit, such as 120s",
		path + ":9: http: at most one of basic_auth, oauth2 & authorization must be configured",
		path + ":10: slo.time_to_first_token: has no unit, such as 2s",
		path + ":11: url: URL must start with http:// or https://, such as http://127.0.0.1:8000",
		path + ":12: max_tokens: must be 1 to 131072, such as 64",
		path + `:13: name: two probes are named "h:1", the first in line 2: give each its own, such as chat-short`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), fmt.Sprint(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	wantFiles := path + ":5: http.authorization.credentials_file: " + dir + "/key is empty: write the key into it, and nothing else"
	if diff := cmp.Diff(wantFiles, file.Unreadable.Error()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if len(file.Targets) != 1 || file.Targets[0].Name() != "h:1" {
		t.Errorf("good targets %v", file.Targets)
	}
}

func TestMistakesAreBounded(t *testing.T) {
	_, err := readText([]byte("probes:\n"+strings.Repeat("- interval: 5\n", 10_000)), "")
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != configfile.MaxMistakes+1 || lines[configfile.MaxMistakes] != "and 19980 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if several := Mistakes(nil); !errors.As(err, &several) || len(several.Unwrap()) != configfile.MaxMistakes+1 {
		t.Errorf("an error of type %T", err)
	}
}

// What a message gives as an example is right.
func TestExamplesAreRight(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"prompt.txt", "key", "password"} {
		write(t, filepath.Join(dir, name), "text")
	}
	write(t, filepath.Join(dir, "ca.pem"), certificate())
	for field, example := range examples() {
		text := example
		path := strings.Split(field, ".")
		for i := len(path) - 1; i >= 0; i-- {
			text = fmt.Sprintf("{%s: %s}", path[i], text)
		}
		if path[0] != "url" {
			text = strings.Replace(text, "{", "{url: http://h:1, ", 1)
		}
		file, err := readText([]byte("probes: ["+text+"]"), dir)
		if err != nil || len(file.Unreadable) > 0 {
			t.Errorf("%s: %v %v", text, err, file.Unreadable)
		}
	}
	parsed(t, exampleFile, "")
}

// No file costs more than it has parts, or keeps the program from answering.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everyField))
	f.Add([]byte("probes: [&a {<<: *a}, *a]"))
	f.Add([]byte("a: &a [x]\nb: &b [*a, *a]\nprobes: [*b, *b, {devices: {metax: *b}}]"))
	f.Add([]byte("probes:\n- url: http://h:1\n  http: {http_headers: {? [x] : y}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readText(data, t.TempDir())
		for _, target := range file.Targets {
			if target.Name() == "" || target.URL() == nil {
				t.Errorf("a target without a name or a URL: %v", target)
			}
		}
		if several := Mistakes(nil); err != nil && (!errors.As(err, &several) || len(several.Unwrap()) > configfile.MaxMistakes+1) {
			t.Errorf("error %v", err)
		}
		if err == nil && yaml.Unmarshal(data, new(any)) != nil && len(file.Targets) > 0 {
			t.Error("targets of what is no YAML")
		}
	})
}
