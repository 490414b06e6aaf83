package probe

import (
	"encoding/json"
	"encoding/pem"
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

// readText reads a configuration from a file in dir.
func readText(t testing.TB, text, dir string) (File, error) {
	t.Helper()
	path := filepath.Join(dir, "probes.yml")
	write(t, path, text)
	return ReadFile(path)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	noError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	noError(t, os.WriteFile(path, []byte(text), 0o600))
}

// certificate is some valid one, as PEM.
func certificate() string {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// parsed are the targets of a text that is good.
func parsed(t testing.TB, text, dir string) []Target {
	t.Helper()
	file, err := readText(t, text, dir)
	noError(t, err)
	return file.Targets
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
    extra_body: {temperature: 0.5, stop: [a]}
    expect: '\bParis\b'
    expect_same: true
    unhealthy_after: 4
    healthy_after: 2
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
	file, err := ReadFile(filepath.Join(dir, "probes.yml"))
	noError(t, err)
	targets := file.Targets
	second, third := DefaultSpec(), DefaultSpec()
	second.API, third.API = openai.Chat, openai.Chat
	second.Name, second.URL, second.Prompt = "second", "http://127.0.0.1:8000", "say: \"hello\"\n"
	second.HTTP.BasicAuth = &config.BasicAuth{Username: "me", PasswordFile: dir + "/pw"}
	third.Name, third.URL, third.RandomInputTokens = "third", "http://127.0.0.1:8000", 256
	want := []Spec{
		{
			Name: "chat short, 测试", URL: "https://gateway.example:8443/llm/v1/", API: openai.Completions, Model: "qwen2.5",
			Interval: model.Duration(90 * time.Second), Timeout: model.Duration(20 * time.Second),
			IdleTimeout: model.Duration(4 * time.Second), MaxTokens: 9, PromptFile: "prompts/letter.txt", CacheFriendly: true,
			ExtraBody: map[string]any{"temperature": 0.5, "stop": []any{"a"}}, Expect: `\bParis\b`, ExpectSame: true,
			UnhealthyAfter: 4, HealthyAfter: 2,
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
		got = append(got, target.Spec)
		prompts, urls = append(prompts, target.prompt), append(urls, target.Base.String())
	}
	equal(t, "specs", want, got, specOptions())
	equal(t, "prompts", []string{"Dear reader,\n", "say: \"hello\"\n", ""}, prompts)
	equal(t, "base URLs", []string{"https://gateway.example:8443/llm", "http://127.0.0.1:8000", "http://127.0.0.1:8000"}, urls)
	equal(t, "members of requests", `{"seed":0,"stop":["a"],"temperature":0.5}`, asJSON(t, targets[0].extra))
	equal(t, "devices", want[0].Devices, targets[0].Devices)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	noError(t, err)
	return string(text)
}

func TestDefaults(t *testing.T) {
	targets := parsed(t, "probes: [{url: 'http://127.0.0.1:8000'}]", t.TempDir())
	want := Spec{
		Name: "127.0.0.1:8000", URL: "http://127.0.0.1:8000", API: "chat", Interval: model.Duration(30 * time.Second),
		Timeout: model.Duration(2 * time.Minute), IdleTimeout: model.Duration(30 * time.Second), MaxTokens: 64,
		UnhealthyAfter: 3, HealthyAfter: 1,
		HTTP: config.DefaultHTTPClientConfig,
	}
	equal(t, "spec", want, targets[0].Spec, specOptions())
	if targets[0].prompt != DefaultPrompt {
		t.Errorf("prompt %q", targets[0].prompt)
	}
	if none := parsed(t, "probes: []", t.TempDir()); len(none) != 0 {
		t.Errorf("no probes: %v", none)
	}
}

// A secret that stands where it should not is not repeated, not even in part.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = "sk-5ecret'`\"0042"
	quoted := `"` + strings.ReplaceAll(secret, `"`, `\"`) + `"`
	plain := strings.NewReplacer("'", "", "`", "", `"`, "").Replace(secret) // sk-5ecret0042
	for name, text := range map[string]string{
		"as the URL":                 "probes: [{url: " + quoted + "}]",
		"in the URL":                 "probes: [{url: 'http://me:" + plain + "@h:1'}]",
		"in the query":               "probes: [{url: 'http://h:1?key=" + plain + "'}]",
		"as a duration":              "probes: [{url: 'http://h:1', interval: " + quoted + "}]",
		"as a number":                "probes: [{url: 'http://h:1', max_tokens: " + quoted + "}]",
		"as the http part":           "probes: [{url: 'http://h:1', http: " + quoted + "}]",
		"as the authorization":       "probes: [{url: 'http://h:1', http: {authorization: " + quoted + "}}]",
		"as basic_auth":              "probes: [{url: 'http://h:1', http: {basic_auth: [" + quoted + "]}}]",
		"as the proxy":               "probes: [{url: 'http://h:1', http: {proxy_url: 'http://me:" + plain + "@h:port'}}]",
		"twice":                      "probes: [{url: 'http://h:1', http: {bearer_token: " + quoted + ", authorization: {credentials: " + quoted + "}}}]",
		"in a file that is cut":      "probes: [{url: 'http://h:1', http: {bearer_token: \"" + plain,
		"of a probe with bad fields": "probes: [{url: 'http://h:1', http: {bearer_token: " + quoted + "}, timeout: 0s}]",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readText(t, text, t.TempDir())
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range []string{"5ecret", "sk-5"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error repeats %q of the secret: %v", part, err)
				}
			}
		})
	}
}
