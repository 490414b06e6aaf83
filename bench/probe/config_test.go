package probe

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate is some valid one, as PEM.
func certificate() string {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// specOptions compare Specs without what other packages keep to themselves.
func specOptions() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreUnexported(config.ProxyConfig{}),
		cmp.Comparer(func(a, b *url.URL) bool {
			return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
		}),
	}
}

const everyField = `
probes:
  - name: chat short, 测试
    url: https://gateway.example:8443/llm/v1/
    api: completions
    model: qwen2.5
    interval: 1m30s
    timeout: 20s
    idle_timeout: 4s
    max_tokens: 9
    prompt_file: prompts/letter.txt
    cache_friendly: true
    http:
      authorization: {type: Key, credentials_file: secrets/key}
      tls_config: {ca_file: ca.pem, server_name: inside, insecure_skip_verify: true, min_version: TLS12}
      proxy_url: http://proxy.example:3128
      no_proxy: 10.0.0.0/8
      proxy_connect_header: {X-Proxy: [one]}
      http_headers: {X-Team: {values: [ops], files: [secrets/team]}}
    slo:
      time_to_first_token: 2s
      time_per_output_token: 100ms
      inter_token_latency: 1s
      request_duration: 1m
    devices: {metax: ["0", "1"], ascend: ["4"]}
  - name: second
    url: http://127.0.0.1:8000
    prompt: "say: \"hello\"\n"
    http:
      basic_auth: {username: me, password_file: pw}
  - name: third
    url: http://127.0.0.1:8000
    random_input_tokens: 256
`

func TestEveryField(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prompts/letter.txt"), "Dear reader,\n")
	write(t, filepath.Join(dir, "ca.pem"), certificate())
	write(t, filepath.Join(dir, "probes.yml"), everyField)
	targets, err := ReadFile(filepath.Join(dir, "probes.yml"))
	if err != nil {
		t.Fatal(err)
	}
	second, third := DefaultSpec(), DefaultSpec()
	second.Name, second.URL, second.Prompt = "second", "http://127.0.0.1:8000", "say: \"hello\"\n"
	second.HTTP.BasicAuth = &config.BasicAuth{Username: "me", PasswordFile: dir + "/pw"}
	third.Name, third.URL, third.RandomInputTokens = "third", "http://127.0.0.1:8000", 256
	want := []Spec{
		{
			Name: "chat short, 测试", URL: "https://gateway.example:8443/llm/v1/", API: openai.Completions, Model: "qwen2.5",
			Interval: model.Duration(90 * time.Second), Timeout: model.Duration(20 * time.Second),
			IdleTimeout: model.Duration(4 * time.Second), MaxTokens: 9, PromptFile: "prompts/letter.txt", CacheFriendly: true,
			HTTP: config.HTTPClientConfig{
				Authorization: &config.Authorization{Type: "Key", CredentialsFile: dir + "/secrets/key"},
				TLSConfig:     config.TLSConfig{CAFile: dir + "/ca.pem", ServerName: "inside", InsecureSkipVerify: true, MinVersion: config.TLSVersions["TLS12"]},
				ProxyConfig: config.ProxyConfig{
					ProxyURL: config.URL{URL: &url.URL{Scheme: "http", Host: "proxy.example:3128"}}, NoProxy: "10.0.0.0/8",
					ProxyConnectHeader: config.ProxyHeader{"X-Proxy": {"one"}},
				},
				HTTPHeaders:     &config.Headers{Headers: map[string]config.Header{"X-Team": {Values: []string{"ops"}, Files: []string{dir + "/secrets/team"}}}},
				FollowRedirects: true, EnableHTTP2: true, // the defaults, which the client does not heed
			},
			SLO: SLO{
				TimeToFirstToken: model.Duration(2 * time.Second), TimePerOutputToken: model.Duration(100 * time.Millisecond),
				InterTokenLatency: model.Duration(time.Second), RequestDuration: model.Duration(time.Minute),
			},
			Devices: map[string][]string{"metax": {"0", "1"}, "ascend": {"4"}},
		},
		second, third,
	}
	var got []Spec
	var prompts, urls []string
	for _, target := range targets {
		got = append(got, target.spec)
		prompts, urls = append(prompts, target.prompt), append(urls, target.URL().String())
	}
	if diff := cmp.Diff(want, got, specOptions()); diff != "" {
		t.Errorf("specs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Dear reader,\n", "say: \"hello\"\n", ""}, prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://gateway.example:8443/llm", "http://127.0.0.1:8000", "http://127.0.0.1:8000"}, urls); diff != "" {
		t.Errorf("base URLs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[0].Devices, targets[0].Devices()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	targets, err := Parse([]byte("probes: [{url: 'http://127.0.0.1:8000'}]"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Name: "127.0.0.1:8000", URL: "http://127.0.0.1:8000", API: "chat", Interval: model.Duration(30 * time.Second),
		Timeout: model.Duration(2 * time.Minute), IdleTimeout: model.Duration(30 * time.Second), MaxTokens: 64,
		HTTP: config.DefaultHTTPClientConfig,
	}
	if diff := cmp.Diff(want, targets[0].spec, specOptions()); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if targets[0].prompt != DefaultPrompt {
		t.Errorf("prompt %q", targets[0].prompt)
	}
	for _, text := range []string{"", "# nothing\n", "probes:\n", "probes: []", "{}", "---\n"} {
		if targets, err := Parse([]byte(text), ""); err != nil || len(targets) != 0 {
			t.Errorf("%q: %v, %v", text, targets, err)
		}
	}
}

// A probe without a name is called as its URL's host and port, whatever else is
// in the URL.
func TestNameFromURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8000":             "127.0.0.1:8000",
		"http://localhost:8000/v1":          "localhost:8000",
		"http://gateway.example":            "gateway.example:80",
		"https://gateway.example/llm/v1/":   "gateway.example:443",
		"http://[::1]:8000":                 "[::1]:8000",
		"https://[fe80::1]/v1":              "[fe80::1]:443",
		"HTTP://Gateway.Example:8000/a?":    "",
		"http://127.0.0.1:8000/fault/x/v1/": "127.0.0.1:8000",
	} {
		s := DefaultSpec()
		s.URL = url
		target, err := s.Validate("")
		if (err != nil) != (want == "") || err == nil && target.Name() != want {
			t.Errorf("%s: name %q, error %v; want %q", url, target.Name(), err, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty.txt"), "")
	write(t, filepath.Join(dir, "latin1.txt"), "caf\xe9")
	write(t, filepath.Join(dir, "large.txt"), strings.Repeat("a", maxPromptBytes+1))
	write(t, filepath.Join(dir, "bad.pem"), "no certificate")
	// Each text stands for a probe with a good URL, unless it has a line of its own.
	tests := map[string]struct{ text, want string }{
		"unknown field":              {"intervall: 30s", "line 2: unknown field intervall"},
		"unknown field of http":      {"http: {authorisation: {}}", "line 2: unknown field authorisation"},
		"unknown field of slo":       {"slo: {ttft: 1s}", "line 2: unknown field ttft"},
		"unknown field at the top":   {"\nprobe: []", "line 2: unknown field probe"},
		"field twice":                {"timeout: 1s, timeout: 2s", `line 2: a key that is there already`},
		"two documents":              {"\nprobes: []\n---\nprobes: []", "more than one YAML document"},
		"an end, then more":          {"\nprobes: []\n...\n}", "more than one YAML document"},
		"no YAML":                    {"\nprobes: [", "line 2: did not find expected node content"},
		"not a mapping":              {"\n- a", "line 2: "},
		"a probe is no mapping":      {"\nprobes: [a]", "line 2: cannot read !!str as a mapping"},
		"probes is no list":          {"\nprobes: {a: b}", "line 2: cannot read !!map as a list of probes"},
		"names twice":                {"\nprobes: [{url: 'http://h:1', name: n}, {url: 'http://h:2', name: n}]", `two probes are named "n"`},
		"default names twice":        {"\nprobes: [{url: 'http://h:80/a'}, {url: 'http://h/b'}]", `two probes are named "h:80"`},
		"the second is bad":          {"\nprobes: [{url: 'http://h:1'}, {url: 'http://h:2', name: n, api: no}]", `probe 2 ("n"): api: must be chat or completions`},
		"an empty probe":             {"\nprobes: [null, null]", "probe 1 (line 2, no name): empty"},
		"the second is empty":        {"\nprobes:\n- url: http://h:1\n-\n", "probe 2 (line 4, no name): empty"},
		"an alias of nothing":        {"\nprobes: [&x ~, *x]", "probe 1 (line 2, no name): empty"},
		"nameless, by its URL":       {"\nprobes:\n- url: http://h:1\n- url: http://h:2/tenant\n  api: no\n", "probe 2 (line 4, no name, url http://h:2): api: must be"},
		"nameless, without a line":   {"\nprobes:\n- url: http://h:1\n- url: https://h/\n  interval: 5\n", "probe 2 (line 4, no name, url https://h): not a valid duration string"},
		"the name comes last":        {"\nprobes: [{url: 'http://h:1', interval: 5, name: late}]", `probe 1 ("late"): not a valid duration string`},
		"a name by a merge":          {"\nprobes: [{<<: {name: m}, url: x}]", `probe 1 ("m"): url: `},
		"api":                        {"api: embeddings", "api: must be chat or completions"},
		"api empty":                  {"api: ''", "api: must be chat or completions"},
		"interval negative":          {"interval: -5s", `probe 1 ("n"): not a valid duration string: …`},
		"interval zero":              {"interval: 0s", "interval: must be at least 100ms"},
		"interval short":             {"interval: 99ms", "interval: must be at least 100ms"},
		"interval without a unit":    {"interval: 30", `probe 1 ("n"): not a valid duration string: …`},
		"interval with two units":    {"interval: 1.5s", `probe 1 ("n"): `},
		"interval endless":           {"interval: 1000y", `probe 1 ("n"): duration out of range`},
		"interval is a list":         {"interval: [1s]", "line 2: cannot read !!seq as string"},
		"timeout negative":           {"timeout: -1s", "not a valid duration"},
		"timeout zero":               {"timeout: 0s", "timeout: must be more than 0"},
		"idle timeout zero":          {"idle_timeout: 0s", "idle_timeout: must be more than 0"},
		"objective negative":         {"slo: {time_to_first_token: -1s}", "not a valid duration"},
		"max tokens zero":            {"max_tokens: 0", "max_tokens: must be 1 to 131072"},
		"max tokens negative":        {"max_tokens: -1", "max_tokens: must be 1 to 131072"},
		"max tokens large":           {"max_tokens: 131073", "max_tokens: must be 1 to 131072"},
		"max tokens is text":         {"max_tokens: many", "line 2: cannot read !!str as int"},
		"random words negative":      {"random_input_tokens: -1", "random_input_tokens: must be 1 to 131072"},
		"random words large":         {"random_input_tokens: 131073", "random_input_tokens: must be 1 to 131072"},
		"prompt and file":            {"prompt: a, prompt_file: empty.txt", "at most one of prompt, prompt_file and random_input_tokens may be set"},
		"prompt and words":           {"prompt: a, random_input_tokens: 5", "at most one of prompt, prompt_file and random_input_tokens may be set"},
		"file and words":             {"prompt_file: empty.txt, random_input_tokens: 5", "at most one of prompt, prompt_file and random_input_tokens may be set"},
		"prompt file missing":        {"prompt_file: none.txt", "prompt_file: open " + dir + "/none.txt: no such file or directory"},
		"prompt file empty":          {"prompt_file: empty.txt", "must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file no UTF-8":       {"prompt_file: latin1.txt", "must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file large":          {"prompt_file: large.txt", "must be 1 byte to 1 MiB of UTF-8 text"},
		"prompt file is a folder":    {"prompt_file: .", "prompt_file: open " + dir + ": not a regular file"},
		"no URL":                     {"\nprobes: [{name: n}]", `probe 1 ("n"): url: URL must start with http:// or https://`},
		"URL without a scheme":       {"\nprobes: [{url: '127.0.0.1:8000'}]", "url: not a URL of the form http://host:port"},
		"URL of another scheme":      {"\nprobes: [{url: 'unix:///run/x'}]", "url: URL must start with http:// or https://"},
		"URL with user":              {"\nprobes: [{url: 'http://me@h:1'}]", "url: URL must not hold a user name or password"},
		"URL with query":             {"\nprobes: [{url: 'http://h:1/?a=b'}]", "url: URL must not have a query"},
		"URL with fragment":          {"\nprobes: [{url: 'http://h:1/#a'}]", "url: URL must not have a fragment"},
		"URL without a host":         {"\nprobes: [{url: 'http://:80'}]", "url: URL has no host"},
		"name of two lines":          {"\nprobes: [{url: 'http://h:1', name: \"a\\nb\"}]", "name: must be 1 to 256 bytes of printable text"},
		"name too long":              {"\nprobes: [{url: 'http://h:1', name: " + strings.Repeat("n", 257) + "}]", "name: must be 1 to 256 bytes of printable text"},
		"model of two lines":         {`model: "a\tb"`, "model: must be at most 256 bytes of printable text"},
		"model too long":             {"model: " + strings.Repeat("m", 257), "model: must be at most 256 bytes of printable text"},
		"model backwards":            {`model: "\u202Eabc"`, "model: must be at most 256 bytes of printable text"},
		"device empty":               {"devices: {metax: ['']}", "devices: must be lists of device names by vendor"},
		"device is no list":          {"devices: {metax: '0'}", "line 2: cannot read !!str as []string"},
		"CA missing":                 {"http: {tls_config: {ca_file: none.pem}}", "http: configuring HTTP: unable to read CA cert: "},
		"CA of no use":               {"http: {tls_config: {ca_file: bad.pem}}", "http: configuring HTTP: unable to use specified CA cert file " + dir + "/bad.pem"},
		"certificate without key":    {"http: {tls_config: {cert_file: bad.pem}}", `probe 1 ("n"): exactly one of key or key_file must be configured`},
		"certificate of no use":      {"http: {tls_config: {cert_file: bad.pem, key_file: bad.pem}}", "http: configuring HTTP: unable to use specified client cert"},
		"two ways to authenticate":   {"http: {authorization: {credentials: x}, basic_auth: {username: y}}", `probe 1 ("n"): at most one of basic_auth, oauth2 & authorization must be configured`},
		"header that is not allowed": {"http: {http_headers: {Content-Type: {values: [x]}}}", `probe 1 ("n"): setting header … is not allowed`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text, own := strings.CutPrefix(tt.text, "\n")
			text = "# line 1\n" + text
			if !own {
				text = "probes: [\n{name: n, url: 'http://h:1', " + tt.text + "}]"
			}
			targets, err := Parse([]byte(text), dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d targets, error %q, want %q", len(targets), fmt.Sprint(err), tt.want)
			}
		})
	}
}

func TestReadFileErrors(t *testing.T) {
	dir := t.TempDir()
	large, bad := filepath.Join(dir, "large.yml"), filepath.Join(dir, "bad.yml")
	write(t, large, "#"+strings.Repeat("a", maxConfigBytes))
	write(t, bad, "probes: [{url: x}]")
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yml"): "opening the configuration: open " + dir + "/none.yml: no such file or directory",
		dir:                            "opening the configuration: open " + dir + ": not a regular file",
		large:                          "reading the configuration " + large + ": more than 1048576 bytes",
		bad:                            "configuration " + bad + ": probe 1 (line 1, no name): url: URL must start with http:// or https://",
	} {
		if _, err := ReadFile(path); err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", fmt.Sprint(err), want)
		}
	}
}

// A secret that stands where it should not is not repeated, not even in part.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = "sk-5ecret'`\"0042"
	quoted := `"` + strings.ReplaceAll(secret, `"`, `\"`) + `"`
	plain := strings.NewReplacer("'", "", "`", "", `"`, "").Replace(secret) // sk-5ecret0042
	tests := map[string]string{
		"as the file":                plain,
		"as the list":                "probes: " + quoted,
		"as a probe":                 "probes: [" + quoted + "]",
		"as the URL":                 "probes: [{url: " + quoted + "}]",
		"in the URL":                 "probes: [{url: 'http://me:" + plain + "@h:1'}]",
		"in a broken URL":            "probes: [{url: 'http://me:" + plain + "@h:port'}]",
		"in the query":               "probes: [{url: 'http://h:1?key=" + plain + "'}]",
		"in the port":                "probes: [{url: 'http://h:" + plain + "'}]",
		"as a duration":              "probes: [{url: 'http://h:1', interval: " + quoted + "}]",
		"as a duration's unit":       "probes: [{url: 'http://h:1', interval: 1" + plain + "}]",
		"as a number":                "probes: [{url: 'http://h:1', max_tokens: " + quoted + "}]",
		"as a short number":          "probes: [{url: 'http://h:1', max_tokens: \"sk-5`ecre\"}]",
		"as a flag":                  "probes: [{url: 'http://h:1', cache_friendly: " + quoted + "}]",
		"as the API":                 "probes: [{url: 'http://h:1', api: " + quoted + "}]",
		"as the model, broken":       "probes: [{url: 'http://h:1', model: \"\\t" + plain + "\"}]",
		"as the http part":           "probes: [{url: 'http://h:1', http: " + quoted + "}]",
		"as the authorization":       "probes: [{url: 'http://h:1', http: {authorization: " + quoted + "}}]",
		"as a field":                 "probes: [{url: 'http://h:1', http: {authorization: {" + plain + ": x}}}]",
		"as a field that is there":   "probes: [{url: 'http://h:1', " + plain + ": 1, " + plain + ": 2}]",
		"as a field of two words":    "probes: [{url: 'http://h:1', \"sk-5ecret 0042\": 1}]",
		"as a field of several":      "probes: [{url: 'http://h:1', ? [" + plain + "] : 1}]",
		"as basic_auth":              "probes: [{url: 'http://h:1', http: {basic_auth: [" + quoted + "]}}]",
		"as an anchor":               "probes: [{url: 'http://h:1', http: {bearer_token: *" + plain + "}}]",
		"as a tag":                   "probes: [{url: 'http://h:1', max_tokens: !" + plain + " x}]",
		"as a known kind of tag":     "probes: [{url: 'http://h:1', max_tokens: !!" + plain + " x}]",
		"as what it cannot be":       "probes: [{url: 'http://h:1', max_tokens: !!int " + quoted + "}]",
		"as the proxy":               "probes: [{url: 'http://h:1', http: {proxy_url: 'http://me:" + plain + "@h:port'}}]",
		"as an escape of the proxy":  "probes: [{url: 'http://h:1', http: {proxy_url: 'http://me:%zz" + plain + "@h'}}]",
		"as a TLS version":           "probes: [{url: 'http://h:1', http: {tls_config: {min_version: " + quoted + "}}}]",
		"as the CA's text":           "probes: [{url: 'http://h:1', http: {tls_config: {ca: " + quoted + "}}}]",
		"as the key's text":          "probes: [{url: 'http://h:1', http: {tls_config: {cert: x, key: " + quoted + "}}}]",
		"twice":                      "probes: [{url: 'http://h:1', http: {bearer_token: " + quoted + ", authorization: {credentials: " + quoted + "}}}]",
		"with another way":           "probes: [{url: 'http://h:1', http: {basic_auth: {username: x, password: " + quoted + "}, authorization: {credentials: " + quoted + "}}}]",
		"in a file that is cut":      "probes: [{url: 'http://h:1', http: {bearer_token: \"" + plain,
		"in a broken escape":         "probes: [{url: 'http://h:1', http: {bearer_token: \"\\" + plain + "\"}}]",
		"in the path, nameless":      "probes: [{url: 'http://h:1/" + plain + "', interval: 5}]",
		"as the user, nameless":      "probes: [{url: 'http://" + plain + "@h:1', interval: 5}]",
		"before a bad probe":         "probes: [{url: 'http://h:1', http: {bearer_token: " + quoted + "}}, {url: 'http://h:2', api: x}]",
		"of a probe with bad fields": "probes: [{url: 'http://h:1', http: {bearer_token: " + quoted + "}, timeout: 0s}]",
		"in the second document":     "probes: []\n---\n" + plain,
		"in lines":                   "probes:\n  - url: http://h:1\n    http:\n      bearer_token: x\n     " + plain + "\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(text), t.TempDir())
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range []string{"5ecret", "sk-", "0042", "ecre"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error repeats %q of the secret: %v", part, err)
				}
			}
		})
	}
}

// A log line or an error that prints a Spec or a Target prints no credential.
func TestPrintingHoldsNoSecret(t *testing.T) {
	const secret = "sk-5ecret0042"
	s := DefaultSpec()
	s.Name, s.URL, s.Prompt = "a", "http://127.0.0.1:1", "say "+secret
	s.HTTP.BearerToken = secret
	s.HTTP.ProxyURL.URL = &url.URL{Scheme: "http", User: url.UserPassword("me", secret), Host: "proxy:1"}
	s.HTTP.ProxyConnectHeader = config.ProxyHeader{"X": {secret}}
	s.HTTP.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{"X": {Secrets: []config.Secret{secret}}}}
	target, err := s.Validate("")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		fmt.Fprintf(&b, verb+" "+verb+" "+verb+" "+verb+"\n", s, &s, target, []Target{target})
	}
	if strings.Contains(b.String(), secret) || !strings.Contains(b.String(), `probe "a"`) {
		t.Errorf("printed:\n%s", &b)
	}
}
