package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Metrics are what is sampled during a run beside the requests.
type Metrics struct {
	Exporter     string                  // URL of accelerator_exporter's metrics, empty for none
	ExporterHTTP config.HTTPClientConfig // how to reach it: never with what the endpoint is given
	// Server is the URL of the server's own metrics, empty for /metrics beside the endpoint if there, "off" for none.
	Server string
	HTTP   config.HTTPClientConfig // for the server's; the endpoint's own
}

const samplePeriod = time.Second

// source is sampled during a run, by one goroutine at a time.
type source struct {
	kind     runlog.Source
	read     func(ctx context.Context) ([]runlog.Series, error)
	failed   int
	firstErr error
}

// openSources reads every source once. One that was asked for must answer.
func (s *Session) openSources(ctx context.Context) error {
	m := s.cfg.Metrics
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if m.Exporter != "" {
		if err := s.openSource(ctx, runlog.SourceExporter, m.Exporter, m.ExporterHTTP); err != nil {
			return fmt.Errorf("--exporter: %w", err)
		}
	}
	if m.Server == "off" {
		return nil
	}
	base, _, err := openai.ParseEndpoint(s.cfg.Run.URL)
	if err != nil {
		return err
	}
	url := cmp.Or(m.Server, base.JoinPath("metrics").String())
	if err := s.openSource(ctx, runlog.SourceServer, url, m.HTTP); err != nil && m.Server != "" {
		return fmt.Errorf("--server-metrics: %w", err)
	}
	return nil
}

func (s *Session) openSource(ctx context.Context, kind runlog.Source, url string, http config.HTTPClientConfig) error {
	fromExporter := kind == runlog.SourceExporter
	wants := func(name string) bool { return forReport(name) && ofExporter(name) == fromExporter }
	page, err := newPage(url, http, wants)
	if err != nil {
		return err
	}
	series, err := page.read(ctx)
	if err != nil {
		return err
	}
	for _, one := range series {
		if one.Name == cacheConfig {
			s.blockSize, _ = strconv.Atoi(one.Labels["block_size"])
		}
	}
	s.sources = append(s.sources, &source{kind: kind, read: page.read})
	return nil
}

// startSampling takes a sample of every source, so that the server's counters cover all requests of a step, and then
// one a second until the returned function is called, which takes the last.
func (s *Session) startSampling(ctx context.Context, step int) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	err := s.sample(ctx, step)
	go func() {
		tick := time.NewTicker(samplePeriod)
		defer tick.Stop()
		for err == nil {
			select {
			case <-tick.C:
				err = s.sample(ctx, step)
			case <-ctx.Done():
				ended <- s.sample(context.WithoutCancel(ctx), step)
				return
			}
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// sample takes a sample of every source and writes it. What fails to be read is counted, unless ctx was withdrawn.
func (s *Session) sample(ctx context.Context, step int) error {
	for _, o := range s.sources {
		series, err := o.read(ctx)
		if err == nil {
			err = s.write(runlog.Record{Sample: &runlog.Sample{Step: step, At: s.clock.now(), Source: o.kind, Series: series}})
			if err != nil {
				return err
			}
		} else if !errors.Is(ctx.Err(), context.Canceled) {
			o.firstErr = cmp.Or(o.firstErr, err)
			o.failed++
		}
	}
	return nil
}

// readSelf returns the CPU time of this process, named as Go programs export it.
func readSelf(context.Context) ([]runlog.Series, error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return nil, fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	return []runlog.Series{{Name: "process_cpu_seconds_total", Value: cpu.Seconds()}}, nil
}

const (
	scrapeTimeout = 5 * time.Second
	maxPage       = 16 << 20 // bytes
	userAgent     = "accelbench"
)

// cacheConfig is the series of vLLM whose label block_size is that of its prefix cache.
const cacheConfig = "vllm:cache_config_info"

// reportNames are the series that a report needs: of accelerator_exporter, and of vLLM,
// old and new, and servers that use its names without the prefix, such as MindIE.
var reportNames = []string{
	"accelerator_info",
	"accelerator_utilization_ratio",
	"accelerator_power_watts",
	"accelerator_temperature_celsius",
	"accelerator_memory_used_bytes",
	"accelerator_probe_target_device_info",
	"accelerator_collector_last_success_timestamp_seconds",

	"num_requests_running",
	"num_requests_waiting",
	"kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc",
	"prefix_cache_queries", "gpu_prefix_cache_queries",
	"prefix_cache_hits", "gpu_prefix_cache_hits",
	"spec_decode_num_drafts", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens",
	"time_to_first_token_seconds_sum", "time_to_first_token_seconds_count",
}

// forReport reports whether a report needs a series. Old prometheus_client leaves out _total.
func forReport(name string) bool {
	return name == cacheConfig || slices.Contains(reportNames, strings.TrimSuffix(strings.TrimPrefix(name, "vllm:"), "_total"))
}

func ofExporter(name string) bool { return strings.HasPrefix(name, "accelerator_") }

type page struct {
	url    *url.URL
	shown  string // the URL as it may be repeated: a query may hold a secret
	client *http.Client
	wants  func(name string) bool // which series are kept
}

// newPage does not connect. No error repeats any part of the URL's query.
func newPage(address string, cfg config.HTTPClientConfig, wants func(name string) bool) (*page, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("reading the URL of metrics: not of the form http://host:port/metrics")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	cfg.FollowRedirects = false
	client, err := config.NewClientFromConfig(cfg, userAgent, config.WithUserAgent(userAgent), config.WithKeepAlivesDisabled())
	if err != nil {
		return nil, fmt.Errorf("reading the configuration for metrics: %w", err)
	}
	place := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return &page{u, place.String(), client, wants}, nil
}

// ReadExporter reads the page of accelerator_exporter at a URL once and returns its series, ordered by name.
func ReadExporter(ctx context.Context, address string, cfg config.HTTPClientConfig) ([]runlog.Series, error) {
	p, err := newPage(address, cfg, ofExporter)
	if err != nil {
		return nil, err
	}
	return p.read(ctx)
}

// read returns the series that are kept, ordered by name. It fails for the metrics of another
// program. No text of the page gets into an error.
func (p *page) read(ctx context.Context) (all []runlog.Series, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading %s: %w", p.shown, err)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	// The text format only, and not compressed: that would cost the machine that is being measured.
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,text/plain;q=0.5")
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := p.client.Do(req)
	if err != nil {
		if where, ok := errors.AsType[*url.Error](err); ok {
			err = where.Err // without the URL, whose query may hold a secret
		}
		return nil, err
	}
	defer resp.Body.Close()
	if status := resp.StatusCode; status != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d %s", status, http.StatusText(status))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(http.MaxBytesReader(nil, resp.Body, maxPage))
	if _, ok := errors.AsType[expfmt.ParseError](err); ok {
		return nil, errors.New("it is no page of metrics in the text format")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("it is longer than %d MiB", maxPage>>20)
	}
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !p.wants(name) && !p.wants(name+"_sum") })
	if len(families) == 0 {
		return nil, errors.New("there are metrics, but none of those expected: is it the right URL?")
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, slices.Collect(maps.Values(families))...)
	if err != nil {
		return nil, err
	}
	for _, s := range samples {
		one := runlog.Series{Name: string(s.Metric[model.MetricNameLabel]), Value: float64(s.Value), Labels: map[string]string{}}
		for name, value := range s.Metric {
			if name != model.MetricNameLabel {
				one.Labels[string(name)] = string(value)
			}
		}
		if p.wants(one.Name) && !math.IsNaN(one.Value) && !math.IsInf(one.Value, 0) {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b runlog.Series) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
