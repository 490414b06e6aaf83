package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Spec is one probe as a user writes it, in the file or by flags.
type Spec struct {
	Name     string         `yaml:"name"`  // the label "target"; by default the URL's host:port
	URL      string         `yaml:"url"`   // base of the endpoint, with or without /v1, or its API's whole URL
	API      openai.API     `yaml:"api"`   // by default what the URL names, else chat
	Model    string         `yaml:"model"` // by default the first of /v1/models
	Interval model.Duration `yaml:"interval"`
	// Timeout bounds a whole request, IdleTimeout the silence after the first text.
	Timeout     model.Duration `yaml:"timeout"`
	IdleTimeout model.Duration `yaml:"idle_timeout"`
	MaxTokens   int            `yaml:"max_tokens"`
	// At most one of Prompt, PromptFile and RandomInputTokens is set.
	Prompt            string         `yaml:"prompt"`
	PromptFile        string         `yaml:"prompt_file"`
	RandomInputTokens int            `yaml:"random_input_tokens"`
	CacheFriendly     bool           `yaml:"cache_friendly"` // each prompt is the same: a prefix cache may answer
	ExtraBody         map[string]any `yaml:"extra_body"`     // more members of each request's body
	Expect            string         `yaml:"expect"`         // a regular expression that the text of an answer has to match
	ExpectSame        bool           `yaml:"expect_same"`    // counts answers other than the first
	// UnhealthyAfter failures in a row make a target failing, HealthyAfter successes end it.
	UnhealthyAfter int                     `yaml:"unhealthy_after"`
	HealthyAfter   int                     `yaml:"healthy_after"`
	HTTP           config.HTTPClientConfig `yaml:"http"`
	SLO            SLO                     `yaml:"slo"`
	// Devices are the cards that serve the target, by vendor, where the listening process does not show them.
	Devices map[string][]string `yaml:"devices"`
}

// SLO are objectives for one request; 0 means none.
type SLO struct {
	TimeToFirstToken   model.Duration `yaml:"time_to_first_token"`
	TimePerOutputToken model.Duration `yaml:"time_per_output_token"`
	InterTokenLatency  model.Duration `yaml:"inter_token_latency"`
	RequestDuration    model.Duration `yaml:"request_duration"`
}

// DefaultPrompt asks for an answer of some length in a few tokens.
const DefaultPrompt = "You are answering a health check of a language model service. " +
	"In a few plain sentences, describe how a letter travels from one town to another, step by step, " +
	"until whoever asked has read enough."

// Limits of a Spec: a probe is a sample of what users get, not a load.
const (
	minInterval = 100 * time.Millisecond
	maxTokens   = 1 << 17 // of an answer, and of a prompt of random words
)

// DefaultSpec returns a Spec with every default set.
func DefaultSpec() Spec {
	return Spec{
		Interval:       model.Duration(30 * time.Second),
		Timeout:        model.Duration(2 * time.Minute),
		IdleTimeout:    model.Duration(30 * time.Second),
		MaxTokens:      64,
		UnhealthyAfter: 3,
		HealthyAfter:   1,
		HTTP:           config.DefaultHTTPClientConfig,
	}
}

// Target is a Spec that was found good, with all that it leaves out.
type Target struct {
	Spec
	Base   *url.URL       // of the endpoint; it holds no secret
	prompt string         // "" for random words
	expect *regexp.Regexp // nil for none
	extra  map[string]json.RawMessage
}

// Validate returns the target that a Spec describes, with file names taken from dir, or all that is wrong with it, each
// as "field: what". It makes the file names in what s.HTTP points to relative to dir, so it is called once for a Spec.
func (s Spec) Validate(dir string) (Target, []error) {
	s.HTTP.SetDirectory(dir)
	t := Target{prompt: s.Prompt}
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	s.check(refuse)
	base, api, err := openai.ParseEndpoint(s.URL)
	if err == nil && s.API != "" && api != "" && api != s.API {
		err = fmt.Errorf("ends in the path of %s, but api is %s: leave one of them out", api, s.API)
	}
	refuse(err != nil, "url: %w", err)
	if err == nil {
		s.API = cmp.Or(s.API, api, openai.Chat)
		s.Name = cmp.Or(s.Name, openai.HostPort(base))
	}
	switch {
	case s.PromptFile != "":
		text, err := readBounded(config.JoinDir(dir, s.PromptFile))
		refuse(err != nil, "prompt_file: %w", err)
		t.prompt = string(text)
	case s.Prompt == "" && s.RandomInputTokens == 0:
		t.prompt = DefaultPrompt
	}
	t.readAnswerChecks(&s, refuse)
	if t.Spec, t.Base = s, base; len(wrong) == 0 {
		_, err = t.client(nil)
		refuse(err != nil, "http: %w", err)
	}
	return t, wrong
}

// client makes the target's HTTP client, with connections of dial, nil for TCP; it fails for want of a TLS file.
func (t Target) client(dial config.DialContextFunc) (*openai.Client, error) {
	return openai.NewClient(openai.Config{BaseURL: t.Base.String(), HTTP: t.HTTP, UserAgent: "accelerator_exporter", Dial: dial})
}

func (s *Spec) check(refuse func(bad bool, format string, args ...any)) {
	twoPrompts := s.Prompt != "" && s.PromptFile != "" || s.RandomInputTokens != 0 && s.Prompt+s.PromptFile != ""
	refuse(s.Name != "" && !openai.IsName(s.Name), "name: must be 1 to 200 bytes of printable text")
	refuse(s.Model != "" && !openai.IsName(s.Model), "model: must be at most 200 bytes of printable text")
	refuse(s.API != "" && s.API != openai.Chat && s.API != openai.Completions, "api: must be %s or %s", openai.Chat, openai.Completions)
	refuse(time.Duration(s.Interval) < minInterval, "interval: must be at least %s", minInterval)
	refuse(s.Timeout <= 0, "timeout: must be more than 0")
	refuse(s.IdleTimeout <= 0, "idle_timeout: must be more than 0")
	refuse(s.MaxTokens < 1 || s.MaxTokens > maxTokens, "max_tokens: must be 1 to %d", maxTokens)
	refuse(s.RandomInputTokens < 0 || s.RandomInputTokens > maxTokens, "random_input_tokens: must be 1 to %d", maxTokens)
	refuse(s.UnhealthyAfter < 1 || s.HealthyAfter < 1, "unhealthy_after, healthy_after: must be at least 1")
	refuse(twoPrompts, "prompt: at most one of prompt, prompt_file and random_input_tokens may be set")
}

// CheckFiles returns which files with credentials cannot be read now: they are read for each request, and may come.
func (t Target) CheckFiles() []error {
	var files []string
	h := t.HTTP
	if h.Authorization != nil {
		files = append(files, h.Authorization.CredentialsFile)
	}
	if h.BasicAuth != nil {
		files = append(files, h.BasicAuth.UsernameFile, h.BasicAuth.PasswordFile)
	}
	if h.OAuth2 != nil {
		files = append(files, h.OAuth2.ClientSecretFile)
	}
	if h.HTTPHeaders != nil {
		for _, name := range slices.Sorted(maps.Keys(h.HTTPHeaders.Headers)) {
			files = append(files, h.HTTPHeaders.Headers[name].Files...)
		}
	}
	var all []error
	for _, path := range files {
		if _, err := os.ReadFile(path); err != nil && path != "" {
			all = append(all, fmt.Errorf("http: %w", err))
		}
	}
	return all
}

// File is what a configuration file holds.
type File struct {
	Targets    []Target
	Unreadable []error // files that requests need: no mistake in the configuration, since they may come

	path  string
	lines map[string]int // of Targets, by name
}

// At is an error of a target of the file, with its place.
func (f File) At(t Target, err error) error {
	return fmt.Errorf("%s:%d: %w", f.path, f.lines[t.Name], err)
}

// readBounded reads a file of at most 1 MiB.
func readBounded(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if len(text) > 1<<20 {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return text, err
}

// ReadFile reads a configuration file. Relative file names in it are taken from its folder. Its error is a line for
// each mistake, and repeats no value but names and hosts: it might be a secret.
func ReadFile(path string) (File, error) {
	text, err := readBounded(path)
	if err != nil {
		return File{}, fmt.Errorf("reading the configuration: %w", err)
	}
	var written struct {
		Probes []Spec `yaml:"probes"`
	}
	var nodes struct {
		Probes []yaml.Node `yaml:"probes"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err = decoder.Decode(&written)
	_ = yaml.Unmarshal(text, &nodes) // which fails where that does
	switch {
	case errors.Is(err, io.EOF), err == nil && written.Probes == nil:
		return File{}, fmt.Errorf("%s:1: probes: is missing, such as probes: [{url: http://127.0.0.1:8000}]", path)
	case err != nil:
		return File{}, yamlError(path, err, nodes.Probes)
	}
	file := File{path: path, lines: map[string]int{}}
	var all []error
	for i, spec := range written.Probes {
		line := nodes.Probes[i].Line
		t, wrong := spec.Validate(filepath.Dir(path))
		if first := file.lines[t.Name]; first > 0 && len(wrong) == 0 {
			wrong = []error{fmt.Errorf("name: two probes are named %.40q, the first in line %d: give each its own", t.Name, first)}
		}
		for _, err := range wrong {
			all = append(all, fmt.Errorf("%s:%d: %w", path, line, err))
		}
		if len(wrong) > 0 {
			continue
		}
		file.Targets = append(file.Targets, t)
		file.lines[t.Name] = line
		for _, err := range t.CheckFiles() {
			file.Unreadable = append(file.Unreadable, file.At(t, err))
		}
	}
	return file, errors.Join(all...)
}

type plainSpec Spec

// UnmarshalYAML implements yaml's interface that keeps the decoder strict. What is not written has its default.
func (s *Spec) UnmarshalYAML(unmarshal func(any) error) error {
	*s = DefaultSpec()
	return unmarshal((*plainSpec)(s))
}

var quotedInYAML = regexp.MustCompile("(?s)`.*`|\".*\"|'.*'")

// yamlError is an error of the YAML library, a line for each mistake, without the values
// that it quotes and the types of this program. The error of a type that unmarshals itself, such as a duration, has
// neither field nor line, so each field of the probes is decoded alone to find it.
func yamlError(path string, err error, probes []yaml.Node) error {
	var texts []string
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts, probes = typed.Errors, nil
	}
	for _, probe := range probes {
		for field := range slices.Chunk(probe.Content, 2) {
			alone := yaml.Node{Kind: yaml.MappingNode, Content: field}
			if err := alone.Decode(new(plainSpec)); err != nil {
				texts = append(texts, fmt.Sprintf("line %d: %s: %v", field[1].Line, field[0].Value, err))
			}
		}
	}
	if texts == nil {
		texts = []string{err.Error()}
	}
	var all []error
	for _, text := range texts {
		text = quotedInYAML.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), "…")
		text, _, _ = strings.Cut(text, " in type ")
		text, _, _ = strings.Cut(text, " into ")
		place := path + ": "
		if rest, ok := strings.CutPrefix(text, "line "); ok { // a number follows
			place, text = path+":", rest
		}
		all = append(all, errors.New(place+text))
	}
	return errors.Join(all...)
}
