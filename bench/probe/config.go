package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Spec is one probe as a user writes it, in the file or by flags. It must pass
// Validate before it is of any use.
type Spec struct {
	// Name is the label "target"; the URL's host:port by default.
	Name string `yaml:"name"`
	// URL is the endpoint's base, with or without /v1.
	URL string     `yaml:"url"`
	API openai.API `yaml:"api"`
	// Model is the first of /v1/models by default.
	Model    string         `yaml:"model"`
	Interval model.Duration `yaml:"interval"`
	// Timeout bounds a whole request, IdleTimeout the silence after the first text.
	Timeout     model.Duration `yaml:"timeout"`
	IdleTimeout model.Duration `yaml:"idle_timeout"`
	MaxTokens   int            `yaml:"max_tokens"`
	// At most one of Prompt, PromptFile and RandomInputTokens is set.
	Prompt            string `yaml:"prompt"`
	PromptFile        string `yaml:"prompt_file"`
	RandomInputTokens int    `yaml:"random_input_tokens"`
	// CacheFriendly keeps the prompt the same, so that a prefix cache may answer.
	CacheFriendly bool                    `yaml:"cache_friendly"`
	HTTP          config.HTTPClientConfig `yaml:"http"`
	SLO           SLO                     `yaml:"slo"`
	// Devices names the cards that serve the target, by vendor, where they cannot
	// be found through the listening process.
	Devices map[string][]string `yaml:"devices"`
}

// SLO are objectives for one request; 0 means none.
type SLO struct {
	TimeToFirstToken   model.Duration `yaml:"time_to_first_token"`
	TimePerOutputToken model.Duration `yaml:"time_per_output_token"`
	InterTokenLatency  model.Duration `yaml:"inter_token_latency"`
	RequestDuration    model.Duration `yaml:"request_duration"`
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
	maxLabelBytes   = 256
)

// DefaultSpec returns a Spec with every default set.
func DefaultSpec() Spec {
	return Spec{
		API:         openai.Chat,
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

// Devices are the cards configured to serve the target, by vendor.
func (t Target) Devices() map[string][]string { return t.spec.Devices }

// ReadFile reads a configuration file. Every target in it is good, or the error
// names the first that is not. The error holds no secret of the file.
func ReadFile(path string) ([]Target, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the configuration %s: %w", path, err)
	case len(data) > maxConfigBytes:
		return nil, fmt.Errorf("reading the configuration %s: more than %d bytes", path, maxConfigBytes)
	}
	targets, err := Parse(data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return targets, nil
}

// Parse reads a configuration's text. Relative file names in it are taken from
// dir.
func Parse(data []byte, dir string) ([]Target, error) {
	var file struct {
		Probes []entry `yaml:"probes"`
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, withoutValues(err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	written := readOutline(data)
	if i := written.empty(); i >= 0 {
		return nil, fmt.Errorf("%s: empty", written.name(i))
	}
	targets := make([]Target, 0, len(file.Probes))
	for i, e := range file.Probes {
		if e.err != nil {
			return nil, fmt.Errorf("%s: %w", written.name(i), withoutValues(e.err))
		}
		t, err := e.spec.Validate(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", written.name(i), err)
		}
		targets = append(targets, t)
	}
	return targets, Distinct(targets)
}

// Distinct returns an error when two targets have one name.
func Distinct(targets []Target) error {
	seen := make(map[string]bool, len(targets))
	for _, t := range targets {
		if seen[t.Name()] {
			return fmt.Errorf("two probes are named %q", t.Name())
		}
		seen[t.Name()] = true
	}
	return nil
}

// Validate returns the target that a Spec describes, with file names taken from
// dir and files read, or what is wrong with it. It makes the file names in what
// s.HTTP points to relative to dir, so it is called once for a Spec.
func (s Spec) Validate(dir string) (Target, error) {
	base, err := openai.ParseBaseURL(s.URL)
	if err != nil {
		return Target{}, fmt.Errorf("url: %w", err)
	}
	if s.Name == "" {
		s.Name = hostPort(base)
	}
	s.HTTP.SetDirectory(dir)
	if err := s.check(); err != nil {
		return Target{}, err
	}
	if err := s.checkKinds(); err != nil {
		return Target{}, err
	}
	t := Target{spec: s, base: base, prompt: s.Prompt}
	switch {
	case s.PromptFile != "":
		if t.prompt, err = readPrompt(config.JoinDir(dir, s.PromptFile)); err != nil {
			return Target{}, err
		}
	case s.Prompt == "" && s.RandomInputTokens == 0:
		t.prompt = DefaultPrompt
	}
	if _, err := t.client(); err != nil {
		return Target{}, fmt.Errorf("http: %w", err)
	}
	return t, nil
}

// client makes the target's HTTP client; it fails when a file it names is not there.
func (t Target) client() (*openai.Client, error) {
	return openai.NewClient(openai.Config{BaseURL: t.base.String(), HTTP: t.spec.HTTP, UserAgent: "accelerator_exporter"})
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (s Spec) check() error {
	prompts := 0
	for _, set := range []bool{s.Prompt != "", s.PromptFile != "", s.RandomInputTokens != 0} {
		if set {
			prompts++
		}
	}
	switch {
	case !isLabel(s.Name):
		return errors.New("name: must be 1 to 256 bytes of printable text")
	case s.Model != "" && !isLabel(s.Model):
		return errors.New("model: must be at most 256 bytes of printable text")
	case s.API != openai.Chat && s.API != openai.Completions:
		return fmt.Errorf("api: must be %s or %s", openai.Chat, openai.Completions)
	case time.Duration(s.Interval) < minInterval:
		return fmt.Errorf("interval: must be at least %s", minInterval)
	case s.Timeout <= 0:
		return errors.New("timeout: must be more than 0")
	case s.IdleTimeout <= 0:
		return errors.New("idle_timeout: must be more than 0")
	case s.MaxTokens < 1 || s.MaxTokens > maxTokens:
		return fmt.Errorf("max_tokens: must be 1 to %d", maxTokens)
	case s.RandomInputTokens < 0 || s.RandomInputTokens > maxRandomTokens:
		return fmt.Errorf("random_input_tokens: must be 1 to %d", maxRandomTokens)
	case prompts > 1:
		return errors.New("at most one of prompt, prompt_file and random_input_tokens may be set")
	}
	for vendor, devices := range s.Devices {
		for _, device := range devices {
			if !isLabel(vendor) || !isLabel(device) {
				return errors.New("devices: must be lists of device names by vendor")
			}
		}
	}
	if s.HTTP.HTTPHeaders != nil {
		for name := range s.HTTP.HTTPHeaders.Headers {
			if http.CanonicalHeaderKey(name) == "X-Request-Id" {
				return errors.New("http_headers: X-Request-Id is the probe's own")
			}
		}
	}
	if err := s.HTTP.Validate(); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabelBytes || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func readPrompt(path string) (string, error) {
	f, err := open(path)
	if err != nil {
		return "", fmt.Errorf("prompt_file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPromptBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("prompt_file: %w", err)
	case len(data) == 0 || len(data) > maxPromptBytes || !utf8.Valid(data):
		return "", fmt.Errorf("prompt_file: %s must be 1 byte to 1 MiB of UTF-8 text", path)
	}
	return string(data), nil
}
