package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Spec is one probe as a user writes it, in the file or by flags. It must pass
// Validate before it is of any use. Each field has a right value as an example.
type Spec struct {
	// Name is the label "target"; the URL's host:port by default.
	Name string `yaml:"name" example:"chat-short"`
	// URL is the endpoint's base, with or without /v1, or the whole URL of its API.
	URL string `yaml:"url" example:"http://127.0.0.1:8000"`
	// API is what the URL tells by default, else chat.
	API openai.API `yaml:"api" example:"chat"`
	// Model is the first of /v1/models by default.
	Model    string         `yaml:"model" example:"qwen2.5"`
	Interval model.Duration `yaml:"interval" example:"30s"`
	// Timeout bounds a whole request, IdleTimeout the silence after the first text.
	Timeout     model.Duration `yaml:"timeout" example:"120s"`
	IdleTimeout model.Duration `yaml:"idle_timeout" example:"30s"`
	MaxTokens   int            `yaml:"max_tokens" example:"64"`
	// At most one of Prompt, PromptFile and RandomInputTokens is set.
	Prompt            string `yaml:"prompt" example:"\"Name three rivers.\""`
	PromptFile        string `yaml:"prompt_file" example:"prompt.txt"`
	RandomInputTokens int    `yaml:"random_input_tokens" example:"256"`
	// CacheFriendly keeps the prompt the same, so that a prefix cache may answer.
	CacheFriendly bool                    `yaml:"cache_friendly" example:"false"`
	HTTP          config.HTTPClientConfig `yaml:"http" example:"{authorization: {credentials_file: key}}"`
	SLO           SLO                     `yaml:"slo" example:"{time_to_first_token: 2s}"`
	// Devices names the cards that serve the target, by vendor, where they cannot
	// be found through the listening process.
	Devices map[string][]string `yaml:"devices" example:"{metax: [\"0\", \"1\"]}"`
}

// SLO are objectives for one request; 0 means none.
type SLO struct {
	TimeToFirstToken   model.Duration `yaml:"time_to_first_token" example:"2s"`
	TimePerOutputToken model.Duration `yaml:"time_per_output_token" example:"100ms"`
	InterTokenLatency  model.Duration `yaml:"inter_token_latency" example:"500ms"`
	RequestDuration    model.Duration `yaml:"request_duration" example:"20s"`
}

// Defaults of a Spec.
const (
	DefaultInterval    = 30 * time.Second
	DefaultTimeout     = 120 * time.Second
	DefaultIdleTimeout = 30 * time.Second
	DefaultMaxTokens   = 64
)

// Limits of a Spec: a probe is a sample of what users get, not a load.
const (
	minInterval     = 100 * time.Millisecond
	maxTokens       = 1 << 17
	maxRandomTokens = 1 << 17
	maxConfigBytes  = 1 << 20
	maxPromptBytes  = 1 << 20
	maxLabelBytes   = 200
)

// DefaultSpec returns a Spec with every default set.
func DefaultSpec() Spec {
	return Spec{
		Interval:    model.Duration(DefaultInterval),
		Timeout:     model.Duration(DefaultTimeout),
		IdleTimeout: model.Duration(DefaultIdleTimeout),
		MaxTokens:   DefaultMaxTokens,
		HTTP:        config.DefaultHTTPClientConfig,
	}
}

// UnmarshalYAML implements yaml.Unmarshaler: what is not written has its default.
func (s *Spec) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Spec
	*s = DefaultSpec()
	return unmarshal((*plain)(s))
}

// String is the probe's name and nothing else: a Spec may hold credentials.
func (s Spec) String() string { return fmt.Sprintf("probe %q", s.Name) }

// GoString is String, for %#v.
func (s Spec) GoString() string { return s.String() }

// Target is a Spec that was found good. The zero value is of no use.
type Target struct {
	spec   Spec
	base   *url.URL
	prompt string // "" for random words
}

// String is the probe's name and nothing else: a Target may hold credentials.
func (t Target) String() string { return t.spec.String() }

// GoString is String, for %#v.
func (t Target) GoString() string { return t.spec.String() }

// Name is the label "target".
func (t Target) Name() string { return t.spec.Name }

// URL is the endpoint's base; it holds no secret.
func (t Target) URL() *url.URL { return t.base }

// API is the one that is probed.
func (t Target) API() openai.API { return t.spec.API }

// Devices are the cards configured to serve the target, by vendor.
func (t Target) Devices() map[string][]string { return t.spec.Devices }

// Validate returns the target that a Spec describes, with file names taken from
// dir and files read. Its error is of type [Mistakes] and tells all that is wrong.
// It makes the file names in what s.HTTP points to relative to dir, so it is called
// once for a Spec. It takes 5 s for a file that hangs, and no longer than ctx.
func (s Spec) Validate(ctx context.Context, dir string, read *Files) (Target, error) {
	base, mistakes := s.endpoint()
	if s.Name == "" && base != nil {
		s.Name = openai.HostPort(base)
	}
	s.HTTP.SetDirectory(dir)
	mistakes = append(mistakes, s.check()...)
	unfit := s.unfitFiles(ctx, read)
	mistakes = append(mistakes, unfit...)
	t := Target{spec: s, base: base, prompt: s.Prompt}
	switch {
	case s.PromptFile != "":
		var err error
		if t.prompt, err = readPrompt(ctx, read, config.JoinDir(dir, s.PromptFile)); err != nil {
			mistakes = append(mistakes, Mistake{Field: "prompt_file", Text: err.Error()})
		}
	case s.Prompt == "" && s.RandomInputTokens == 0:
		t.prompt = DefaultPrompt
	}
	if base != nil && len(unfit) == 0 && !slices.ContainsFunc(mistakes, func(m Mistake) bool { return m.Field == "http" }) {
		if _, err := t.client(); err != nil {
			mistakes = append(mistakes, Mistake{Field: s.clientField(err), Text: err.Error()})
		}
	}
	if len(mistakes) > 0 {
		return Target{}, mistakes
	}
	return t, nil
}

// endpoint is the URL's base; where it tells the API, that is taken.
func (s *Spec) endpoint() (*url.URL, Mistakes) {
	if s.URL == "" {
		return nil, Mistakes{mistake("url", "is missing")}
	}
	text, api, err := openai.ParseEndpoint(s.URL)
	if err != nil {
		return nil, Mistakes{mistake("url", "%v", err)}
	}
	base, err := openai.ParseBaseURL(text)
	if err != nil {
		return nil, Mistakes{mistake("url", "%v", err)}
	}
	switch {
	case s.API == "" && api == "":
		s.API = openai.Chat
	case s.API == "":
		s.API = api
	case api != "" && api != s.API:
		return base, Mistakes{{Field: "api", Text: fmt.Sprintf("is %s, but the URL ends in the path of %s: leave one of them out", s.API, api)}}
	}
	return base, nil
}

// clientField is the field that an error of making the HTTP client is about.
func (s *Spec) clientField(err error) string {
	for _, f := range s.files() {
		if strings.Contains(err.Error(), f.Path) {
			return f.Field
		}
	}
	return "http"
}

// client makes the target's HTTP client; it fails when a file it names is not there.
func (t Target) client() (*openai.Client, error) {
	return openai.NewClient(openai.Config{BaseURL: t.base.String(), HTTP: t.spec.HTTP, UserAgent: "accelerator_exporter"})
}

func (s *Spec) check() Mistakes {
	var all Mistakes
	refuse := func(bad bool, field, format string, args ...any) {
		if bad {
			all = append(all, mistake(field, format, args...))
		}
	}
	refuse(s.Name != "" && !isLabel(s.Name), "name", "must be 1 to %d bytes of printable text", maxLabelBytes)
	refuse(s.Model != "" && !isLabel(s.Model), "model", "must be at most %d bytes of printable text", maxLabelBytes)
	refuse(s.API != "" && s.API != openai.Chat && s.API != openai.Completions, "api", "must be %s or %s", openai.Chat, openai.Completions)
	refuse(time.Duration(s.Interval) < minInterval, "interval", "must be at least %s", minInterval)
	refuse(s.Timeout <= 0, "timeout", "must be more than 0")
	refuse(s.IdleTimeout <= 0, "idle_timeout", "must be more than 0")
	refuse(s.MaxTokens < 1 || s.MaxTokens > maxTokens, "max_tokens", "must be 1 to %d", maxTokens)
	refuse(s.RandomInputTokens < 0 || s.RandomInputTokens > maxRandomTokens, "random_input_tokens", "must be 1 to %d", maxRandomTokens)
	var prompts []string
	for field, set := range map[string]bool{"prompt": s.Prompt != "", "prompt_file": s.PromptFile != "", "random_input_tokens": s.RandomInputTokens != 0} {
		if set {
			prompts = append(prompts, field)
		}
	}
	if slices.Sort(prompts); len(prompts) > 1 {
		all = append(all, Mistake{Field: prompts[len(prompts)-1], Text: "at most one of prompt, prompt_file and random_input_tokens may be set"})
	}
	for vendor, devices := range s.Devices {
		bad := slices.ContainsFunc(devices, func(device string) bool { return !isLabel(device) })
		refuse(bad || !isLabel(vendor), "devices", "must be lists of device names by vendor")
	}
	if s.HTTP.HTTPHeaders != nil {
		for name := range s.HTTP.HTTPHeaders.Headers {
			refuse(http.CanonicalHeaderKey(name) == "X-Request-Id", "http.http_headers", "X-Request-Id is the probe's own: use another")
		}
	}
	if err := s.HTTP.Validate(); err != nil {
		all = append(all, Mistake{Field: "http", Text: err.Error()})
	}
	return all
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabelBytes || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func readPrompt(ctx context.Context, read *Files, path string) (string, error) {
	text, err := read.Read(ctx, path, maxPromptBytes)
	switch {
	case err != nil && !errors.Is(err, transport.ErrTooLarge):
		return "", err
	case err != nil || text == "" || !utf8.ValidString(text):
		return "", fmt.Errorf("%s must be 1 byte to 1 MiB of UTF-8 text", path)
	}
	return text, nil
}
