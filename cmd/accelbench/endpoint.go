package main

import (
	"cmp"
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
)

// apiKeyVariable is where vLLM's own benchmark takes the key from.
const apiKeyVariable = "OPENAI_API_KEY"

// endpointFlags say where the endpoint is and how to talk to it.
type endpointFlags struct {
	url, host, path, backend, api string
	port                          int
	model, served                 string
	ready                         time.Duration
	apiKeyFile, httpConfig        string
	headers                       map[string]string
	insecure, unchecked           bool
}

func (e *endpointFlags) register(c flagSet) {
	c.Flag("url", "URL of the endpoint: its base, such as http://127.0.0.1:8000, or the full path of its API.").StringVar(&e.url)
	c.Flag("host", "Host of the endpoint, without --url.").Default("127.0.0.1").StringVar(&e.host)
	c.Flag("port", "Port of the endpoint, without --url.").Default("8000").IntVar(&e.port)
	c.Flag("endpoint", "Path of the API below the URL: /v1/completions or /v1/chat/completions.").StringVar(&e.path)
	bind(c.Flag("backend", "Name of the API in vLLM: vllm and openai are completions, openai-chat is chat."),
		known(&e.backend, "vllm", "openai", "openai-chat"))
	bind(c.Flag("api", "API to use: chat or completions. Default: that of the URL or the backend, else chat; completions on a command line of vLLM's tool."),
		known(&e.api, string(openai.Chat), string(openai.Completions)))
	c.Flag("model", "Model to ask for. Default: the first that the server lists.").StringVar(&e.model)
	c.Flag("served-model-name", "Model to ask for where --model is the path of its files.").StringVar(&e.served)
	bind(c.Flag("api-key-file", "File with the API key. Default: the environment's OPENAI_API_KEY."), filename(&e.apiKeyFile))
	bind(c.Flag("http-config", "YAML file with Prometheus' HTTP client configuration: TLS, client certificate, proxy, OAuth 2."), filename(&e.httpConfig))
	bind(c.Flag("header", "HTTP header to send, KEY=VALUE; repeatable."), secret(pairs(&e.headers)))
	c.Flag("insecure", "Do not verify the server's certificate.").BoolVar(&e.insecure)
	bind(c.Flag("ready-timeout", "Maximum time to wait for a server that does not list its models yet, such as 10m. Default: none."), duration(&e.ready))
	c.Flag("unchecked", "Skip the check that the server is up and serves the model, if --model names one.").BoolVar(&e.unchecked)
}

// address is the base URL and the API that the flags name together: the API by the path
// of the URL, else by --api, else by vLLM's name for it.
func (e *endpointFlags) address() (base string, api openai.API, err error) {
	url := cmp.Or(e.url, "http://"+net.JoinHostPort(e.host, strconv.Itoa(e.port)))
	if !strings.Contains(url, "://") && !strings.ContainsAny(url, "@ ") { // what has an @ may hold a secret
		return "", "", fmt.Errorf("the endpoint has no scheme: http://%s ?", url)
	}
	base, api, err = openai.ParseEndpoint(strings.TrimRight(url, "/") + e.path)
	if err != nil {
		return "", "", fmt.Errorf("reading the endpoint's URL: %w", err)
	}
	switch named := openai.API(e.api); {
	case api != "":
	case named == openai.Completions, named == openai.Chat:
		api = named
	case named != "":
		err = fmt.Errorf("no API is called %q (known: chat, completions)", e.api)
	default:
		api, err = backendAPI(e.backend)
	}
	return base, api, err
}

// setModel says what model is asked for; the server's first if no flag does.
func (e *endpointFlags) setModel(run *runlog.Run) {
	run.Model = e.model
	if e.served != "" {
		run.Model, run.ModelPath = e.served, e.model
	}
}

// http is the HTTP client's configuration: the file's, and the flags' in it.
func (e *endpointFlags) http() (config.HTTPClientConfig, error) {
	c, err := httpFlags{file: e.httpConfig, insecure: e.insecure}.config("--http-config")
	if err != nil {
		return c, err
	}
	if err := e.addHeaders(&c); err != nil {
		return c, usage(err)
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
		if strings.EqualFold(name, "Connection") && e.closesConnections() {
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

// closesConnections reports whether --header Connection=close asks for a connection for
// each request.
func (e *endpointFlags) closesConnections() bool {
	for name, text := range e.headers {
		if strings.EqualFold(name, "Connection") && strings.EqualFold(text, "close") {
			return true
		}
	}
	return false
}

// client is how to reach the endpoint, over connections that are kept as a
// production client keeps them.
func (e *endpointFlags) client(base string) (openai.Config, error) {
	http, err := e.http()
	if err != nil {
		return openai.Config{}, err
	}
	cfg := openai.Config{
		BaseURL: base, HTTP: http, KeepAlive: !e.closesConnections(), UserAgent: "accelbench/" + version.Version,
	}
	_, err = openai.NewClient(cfg) // says what is wrong before anything is made
	return cfg, err
}
