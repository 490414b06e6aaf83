package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// apiKeyVariable is where vLLM's own tool takes the key from.
const apiKeyVariable = "OPENAI_API_KEY"

// endpointFlags say where the endpoint is and how to talk to it.
type endpointFlags struct {
	baseURL, host, path    string
	port                   int
	served                 string
	apiKeyFile, httpConfig string
	headers                map[string]string
	insecure               bool
	closes                 bool // --header Connection=close: a connection for each request
}

func (e *endpointFlags) register(c *kingpin.CmdClause, cfg *load.Config) {
	e.headers = map[string]string{}
	c.Flag("base-url", "URL of the server. Default: of --host and --port.").PlaceHolder("URL").StringVar(&e.baseURL)
	c.Flag("host", "Host of the server.").Default("127.0.0.1").StringVar(&e.host)
	c.Flag("port", "Port of the server.").Default("8000").IntVar(&e.port)
	c.Flag("endpoint", "Path of the API. Default: that of --backend.").PlaceHolder("PATH").StringVar(&e.path)
	c.Flag("backend", "API: vllm, openai (completions), openai-chat.").Default("openai").EnumVar(&cfg.Run.Backend, "vllm", "openai", "openai-chat")
	c.Flag("model", "Model to request. Default: the server's first.").PlaceHolder("NAME").StringVar(&cfg.Run.Model)
	c.Flag("served-model-name", "").Hidden().StringVar(&e.served)
	c.Flag("api-key-file", "File with the key. Default: $OPENAI_API_KEY.").PlaceHolder("FILE").StringVar(&e.apiKeyFile)
	c.Flag("http-config", "Prometheus' HTTP client configuration.").PlaceHolder("FILE").StringVar(&e.httpConfig)
	c.Flag("header", "HTTP header to send; repeatable.").PlaceHolder("K=V").StringMapVar(&e.headers)
	c.Flag("insecure", "Do not verify the server's certificate.").BoolVar(&e.insecure)
	c.Flag("ready-check-timeout-sec", "").Hidden().Default("0").SetValue(parsed(&cfg.Ready, parseSeconds))
}

// address is the base URL and the API: that of the URL's path, else the backend's.
func (e *endpointFlags) address(backend string) (base string, api openai.API, err error) {
	url := cmp.Or(e.baseURL, "http://"+net.JoinHostPort(e.host, strconv.Itoa(e.port)))
	u, api, err := openai.ParseEndpoint(strings.TrimRight(url, "/") + e.path)
	if err != nil {
		return "", "", fmt.Errorf("reading the endpoint's URL: %w", err)
	}
	if api == "" && e.path != "" {
		return "", "", usage(fmt.Errorf("--endpoint %s is no path of the API: give /v1/completions or /v1/chat/completions", e.path))
	}
	if api == "" && backend == "openai-chat" {
		return u.String(), openai.Chat, nil
	}
	return u.String(), cmp.Or(api, openai.Completions), nil
}

// http is the HTTP client's configuration: the file's, and the flags' in it.
func (e *endpointFlags) http() (config.HTTPClientConfig, error) {
	c, err := loadHTTP("--http-config", e.httpConfig)
	if err != nil {
		return c, err
	}
	if e.insecure {
		c.TLSConfig.InsecureSkipVerify = true
	}
	key := os.Getenv(apiKeyVariable)
	switch {
	case e.apiKeyFile != "":
		c.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: e.apiKeyFile}
	case key != "" && c.Authorization == nil && c.BasicAuth == nil && c.OAuth2 == nil:
		c.Authorization = &config.Authorization{Type: "Bearer", Credentials: config.Secret(key)}
	}
	for name, text := range e.headers {
		text = strings.TrimSpace(text)
		switch {
		case strings.EqualFold(name, "Authorization"): // which must not follow to other hosts
			kind, credentials, _ := strings.Cut(text, " ")
			c.Authorization = &config.Authorization{Type: kind, Credentials: config.Secret(credentials)}
		case strings.EqualFold(name, "Connection") && strings.EqualFold(text, "close"):
			e.closes = true
		default:
			if c.HTTPHeaders == nil {
				c.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{}}
			}
			c.HTTPHeaders.Headers[name] = config.Header{Secrets: []config.Secret{config.Secret(text)}}
		}
	}
	if c.HTTPHeaders != nil {
		if err := c.HTTPHeaders.Validate(); err != nil {
			return c, usage(fmt.Errorf("--header: %w", err))
		}
	}
	return c, nil
}

// quotedText is what an error quotes of a configuration: it may be a secret.
var quotedText = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'")

// loadHTTP reads Prometheus' HTTP client configuration, the usual one where there is no file.
func loadHTTP(flag, path string) (config.HTTPClientConfig, error) {
	if path == "" {
		return config.DefaultHTTPClientConfig, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return config.HTTPClientConfig{}, fmt.Errorf("reading %s: %w", flag, err)
	}
	c, err := config.LoadHTTPConfig(string(text))
	if err != nil {
		inOneLine := strings.Join(strings.Fields(err.Error()), " ")
		return config.HTTPClientConfig{}, fmt.Errorf("reading %s %s: %s", flag, path, quotedText.ReplaceAllString(inOneLine, "…"))
	}
	c.SetDirectory(filepath.Dir(path))
	return *c, nil
}
