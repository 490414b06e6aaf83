package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/sweep"
)

// apiKeyVariable is where vLLM's own benchmark takes the key from.
const apiKeyVariable = "OPENAI_API_KEY"

// address is the base URL and the API that the flags name together. Completions
// are the default of vLLM's tool, chat is ours.
func (e *endpointFlags) address(vllm bool) (base string, api openai.API, err error) {
	url := e.url
	if e.positional.url != "" {
		if url != "" {
			return "", "", errors.New("two endpoints are given, one of them as --url")
		}
		url = e.positional.url
	}
	if url == "" {
		url = "http://" + net.JoinHostPort(e.host, strconv.Itoa(e.port))
	}
	if !strings.Contains(url, "://") && !strings.ContainsAny(url, "@ ") { // what has an @ may hold a secret
		return "", "", fmt.Errorf("the endpoint has no scheme: http://%s ?", url)
	}
	base, api, err = openai.ParseEndpoint(strings.TrimRight(url, "/") + e.path)
	if err != nil {
		return "", "", fmt.Errorf("reading the endpoint's URL: %w", err)
	}
	if api != "" {
		return base, api, nil
	}
	switch e.api {
	case string(openai.Completions), string(openai.Chat):
		return base, openai.API(e.api), nil
	case "", "openai": // evalscope's name for it
	default:
		return "", "", fmt.Errorf("no API is called %q (known: chat, completions)", e.api)
	}
	switch e.backend {
	case "":
		if vllm {
			return base, openai.Completions, nil
		}
		return base, openai.Chat, nil
	case "vllm", "openai", "vllm-rlhf", "lmdeploy", "sglang", "scalellm", "llama.cpp":
		return base, openai.Completions, nil
	case "openai-chat":
		return base, openai.Chat, nil
	}
	return "", "", fmt.Errorf("the backend %q asks for neither chat nor completions, or is not known (known: vllm, openai, openai-chat, sglang, lmdeploy, scalellm)", e.backend)
}

// modelName is the model that requests ask for, empty for the server's first.
func (e *endpointFlags) modelName() (string, error) {
	if _, err := os.Stat(e.positional.model); err == nil && e.positional.dataset == "" && strings.Contains(e.positional.model, ".json") {
		return "", fmt.Errorf("%s is a file: the model is missing between the URL and the data set", e.positional.model)
	}
	switch {
	case e.positional.model != "" && e.model != "":
		return "", errors.New("two models are given, one of them as --model")
	case e.positional.model != "":
		return e.positional.model, nil
	case e.served != "":
		return e.served, nil
	}
	return e.model, nil
}

// loraAssignment is empty where there are no modules to assign.
func (e *endpointFlags) loraAssignment() runlog.LoRAAssignment {
	if len(e.modules) == 0 {
		return ""
	}
	return runlog.LoRAAssignment(e.assignment)
}

// modelPath is the model's own name where it is served under another.
func (e *endpointFlags) modelPath() string {
	if e.served != "" {
		return e.model
	}
	return ""
}

// http is the HTTP client's configuration: the file's, and the flags' in it.
func (e *endpointFlags) http() (config.HTTPClientConfig, error) {
	c, err := httpFlags{file: e.httpConfig, insecure: e.insecure}.config("--http-config")
	if err != nil {
		return c, err
	}
	if err := e.addHeaders(&c); err != nil {
		return c, usageError{err}
	}
	switch {
	case e.apiKeyFile != "":
		if c.Authorization, err = bearer("--api-key-file", e.apiKeyFile); err != nil {
			return c, err
		}
	case os.Getenv(apiKeyVariable) != "" && c.Authorization == nil && c.BasicAuth == nil && c.OAuth2 == nil:
		c.Authorization = &config.Authorization{Type: "Bearer", Credentials: config.Secret(os.Getenv(apiKeyVariable))}
	}
	return c, nil
}

// addHeaders adds what --header gives. Authorization is no header like others: it
// must not follow to other hosts.
func (e *endpointFlags) addHeaders(c *config.HTTPClientConfig) error {
	for name, text := range e.headers {
		if strings.EqualFold(name, "Authorization") {
			kind, credentials, _ := strings.Cut(text, " ")
			c.Authorization = &config.Authorization{Type: kind, Credentials: config.Secret(strings.TrimSpace(credentials))}
			continue
		}
		if c.HTTPHeaders == nil {
			c.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{}}
		}
		c.HTTPHeaders.Headers[name] = config.Header{Secrets: []config.Secret{config.Secret(text)}}
	}
	if c.HTTPHeaders == nil {
		return nil
	}
	if err := c.HTTPHeaders.Validate(); err != nil {
		return fmt.Errorf("--header: %w", err)
	}
	return nil
}

// client is how to reach the endpoint, over connections that are kept as a
// production client keeps them.
func (e *endpointFlags) client(base string) (openai.Config, error) {
	http, err := e.http()
	if err != nil {
		return openai.Config{}, err
	}
	cfg := openai.Config{BaseURL: base, HTTP: http, KeepAlive: true, UserAgent: "accelbench/" + version.Version}
	_, err = openai.NewClient(cfg) // says what is wrong before anything is made
	return cfg, err
}

// config is what every request asks beside its prompt.
func (a *askFlags) config(idle time.Duration, api openai.API) (sweep.Ask, error) {
	if strings.ContainsFunc(a.idPrefix, func(r rune) bool { return r < '!' || r > '~' }) {
		return sweep.Ask{}, errors.New("--request-id-prefix must be of letters, digits and signs: it goes into a header")
	}
	extra, err := a.extraBody()
	if err == nil {
		err = a.addLogprobs(extra, api)
	}
	return sweep.Ask{
		IdleTimeout: idle, IgnoreEOS: a.ignoreEOS, ContinuousUsage: a.continuousUsage, Extra: extra, RequestIDPrefix: a.idPrefix,
	}, err
}

// addLogprobs asks for the alternatives to each token, as the API calls it.
func (a *askFlags) addLogprobs(extra map[string]json.RawMessage, api openai.API) error {
	switch {
	case !a.logprobsSet:
		return nil
	case a.logprobs < 0:
		return errors.New("--logprobs must not be negative")
	case api == openai.Completions:
		extra["logprobs"] = json.RawMessage(strconv.Itoa(a.logprobs))
	default:
		extra["logprobs"], extra["top_logprobs"] = json.RawMessage("true"), json.RawMessage(strconv.Itoa(a.logprobs))
	}
	return nil
}

// jsonNumber is a number as JSON has it: as it was given, or where JSON does not
// write it so, as in .5, by its value. NaN and Inf are refused.
func jsonNumber(text string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return nil, err
	case json.Valid([]byte(text)):
		return json.RawMessage(text), nil
	}
	return json.Marshal(n)
}

// extraBody are the members that are added to every request.
func (a *askFlags) extraBody() (map[string]json.RawMessage, error) {
	extra := map[string]json.RawMessage{}
	if a.extra != "" {
		if err := json.Unmarshal([]byte(a.extra), &extra); err != nil {
			return nil, errors.New("--extra-body is no JSON object")
		}
	}
	for name, text := range a.sampling {
		if *text == "" {
			continue
		}
		number, err := jsonNumber(*text)
		if err != nil {
			return nil, fmt.Errorf("--%s %q is no number", name, *text)
		}
		extra[strings.ReplaceAll(name, "-", "_")] = number
	}
	if a.chatTemplate != "" {
		extra["chat_template_kwargs"] = json.RawMessage(a.chatTemplate)
	}
	if len(a.stop) > 0 {
		list, err := json.Marshal(a.stop)
		if err != nil {
			return nil, err
		}
		extra["stop"] = list
	}
	if err := openai.CheckExtra(extra); err != nil {
		return nil, fmt.Errorf("--extra-body: %w", err)
	}
	return extra, nil
}
