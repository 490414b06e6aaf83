package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// repeatedFlag is a flag's value that names the flag in its errors. Given twice, the last counts, as with vLLM's tool;
// kingpin alone would refuse it. A list grows.
type repeatedFlag struct {
	kingpin.Value
	name  string
	given bool
}

func acceptRepeats(c *kingpin.CmdClause) {
	for _, f := range c.Model().Flags {
		c.GetFlag(f.Name).SetValue(&repeatedFlag{Value: f.Value, name: f.Name})
	}
}

func (v *repeatedFlag) Set(text string) error {
	v.given = true
	if err := v.Value.Set(text); err != nil {
		return fmt.Errorf("--%s: %w", v.name, err)
	}
	return nil
}

// IsCumulative makes kingpin take the flag again.
func (v *repeatedFlag) IsCumulative() bool { return v.given }

// IsBoolFlag makes kingpin take the flag without a value.
func (v *repeatedFlag) IsBoolFlag() bool {
	flag, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && flag.IsBoolFlag()
}

// joinValues writes for kingpin what vLLM's argparse takes: several values of one flag, and a negative number.
func joinValues(args []string) []string {
	several := []string{"--goodput", "--header", "--metadata"}
	negative := regexp.MustCompile(`^-[0-9.]+$`)
	var out []string
	flag := ""
	for _, word := range args {
		switch last := len(out) - 1; {
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(word, "=")
			word = strings.ReplaceAll(name, "_", "-") + strings.TrimPrefix(word, name)
			flag = word
		case negative.MatchString(word) && last >= 0 && out[last] == flag:
			out[last] += "=" + word
			continue
		case slices.Contains(several, flag) && out[last] != flag && strings.ContainsAny(word, ":="):
			out = append(out, flag)
		}
		out = append(out, word)
	}
	return out
}

type parsedFlag func(text string) error

func (p parsedFlag) Set(text string) error { return p(text) }

func (p parsedFlag) String() string { return "" }

func parsed[T any](into *T, parse func(string) (T, error)) parsedFlag {
	return func(text string) (err error) {
		*into, err = parse(text)
		return err
	}
}

// appended is a value of which each time that the flag is given adds one to a list.
func appended[T any](list *[]T, parse func(string) (T, error)) parsedFlag {
	return func(text string) error {
		x, err := parse(text)
		*list = append(*list, x)
		return err
	}
}

// listOf reads parts with commas between, each by parse.
func listOf[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(text string) ([]T, error) {
		var list []T
		for part := range strings.SplitSeq(text, ",") {
			x, err := parse(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return list, nil
	}
}

func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("unknown %q: use one of %s", text, strings.Join(words, ", "))
		}
		return text, nil
	}
}

func parseSeconds(text string) (time.Duration, error) { return time.ParseDuration(text + "s") }

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no whole number above 0", text)
	}
	return n, nil
}

// parseRate reads requests a second, or inf.
func parseRate(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0) {
		return 0, fmt.Errorf("%q is no number above 0", text)
	}
	return x, nil
}

// parseShare reads 5%, from least to most per cent.
func parseShare(least, most float64) func(string) (float64, error) {
	return func(text string) (float64, error) {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || !(percent >= least && percent <= most) {
			return 0, fmt.Errorf("%q is no share from %g%% to %g%%, such as 5%%", text, least, most)
		}
		return percent / 100, nil
	}
}

func parsePercentile(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && !(x > 0 && x < 100) {
		err = fmt.Errorf("%g is not between 0 and 100", x)
	}
	return x, err
}

// rangeRatio spreads the lengths of random prompts and answers.
type rangeRatio struct{ Input, Output float64 }

// parseRangeRatio reads a number, or vLLM's {"input": 0.5, "output": 0}.
func parseRangeRatio(text string) (rangeRatio, error) {
	var r rangeRatio
	x, err := strconv.ParseFloat(text, 64)
	if err == nil {
		r = rangeRatio{x, x}
	} else {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil || !(r.Input >= 0 && r.Input < 1 && r.Output >= 0 && r.Output < 1) {
		return r, fmt.Errorf(`%q is no number from 0 to below 1, nor {"input": 0.5, "output": 0}`, text)
	}
	return r, nil
}

// Flags of vLLM's tool, with a value and without, that change neither the load nor the figures, as the server counts the
// tokens and every request is in traces.jsonl. Those that would change the load and are not built are unknown flags.
const (
	vllmValues   = "tokenizer tokenizer-mode label request-id-prefix timeline-itl-thresholds"
	vllmSwitches = "trust-remote-code skip-tokenizer-init disable-tqdm profile no-stream enable-multimodal-chat " +
		"custom-ensure-client-side-data save-detailed plot-timeline plot-dataset-stats"
)

// addIgnored adds flags of another tool without effect here, with a value and without; ignored gets those that are given.
func addIgnored(c *kingpin.CmdClause, values, switches string, ignored *[]string) {
	for _, name := range strings.Fields(values + " " + switches) {
		f := c.Flag(name, "").Hidden().PreAction(func(*kingpin.ParseContext) error {
			*ignored = append(*ignored, "--"+name)
			return nil
		})
		if slices.Contains(strings.Fields(values), name) {
			f.String()
		} else {
			f.Bool()
		}
	}
}

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
