package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	scrapeTimeout = 5 * time.Second
	maxPage       = 16 << 20 // bytes
	maxLabel      = 4096     // bytes of a label's value: a list of CPUs is as long as the machine is large
	userAgent     = "accelbench"
)

// ErrUnauthorized is the error of a page that wants credentials, or other ones.
var ErrUnauthorized = errors.New("credentials are missing or wrong")

// page is where metrics are.
type page struct {
	url    *url.URL
	client *http.Client
	kind   runlog.Source
	names  map[string]bool // of the series that are kept
}

// newPage does not connect. No error repeats any part of the URL's query: it may hold a
// secret.
func newPage(address string, cfg config.HTTPClientConfig, kind runlog.Source, names map[string]bool) (*page, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("reading the URL of metrics: not of the form http://host:port/metrics")
	case u.User != nil:
		return nil, errors.New("reading the URL of metrics: it must not hold a user name or password")
	case u.Path == "" || u.Path == "/":
		u.Path = "/metrics"
	}
	cfg.FollowRedirects = false
	client, err := config.NewClientFromConfig(cfg, userAgent, config.WithUserAgent(userAgent), config.WithKeepAlivesDisabled())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown(u), err)
	}
	return &page{u, client, kind, names}, nil
}

// ReadPlacement reads the page of accelerator_exporter at a URL once and returns the
// series that say where cards and their processes are, ordered by name.
func ReadPlacement(ctx context.Context, address string, cfg config.HTTPClientConfig) ([]runlog.Series, error) {
	p, err := newPage(address, cfg, runlog.SourceExporter, placementNames)
	if err != nil {
		return nil, err
	}
	return p.read(ctx)
}

// read returns the series that are kept, ordered by name; none of an exporter that sees
// no card. It fails for the metrics of another program. No text of the page gets into an
// error.
func (p *page) read(ctx context.Context) ([]runlog.Series, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	families, err := p.get(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.New("it took too long")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown(p.url), err)
	}
	known := false
	var wanted []*dto.MetricFamily
	for name, family := range families {
		known = known || p.kind == runlog.SourceExporter && strings.HasPrefix(name, "accelerator_")
		if p.wants(name) {
			wanted = append(wanted, family)
		}
	}
	if !known && len(wanted) == 0 {
		return nil, fmt.Errorf("reading %s: metrics are there, but none of the %s's: is it the right URL?", shown(p.url), p.kind)
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, wanted...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown(p.url), err)
	}
	var series []runlog.Series
	for _, s := range samples {
		if one, ok := p.series(s); ok {
			series = append(series, one)
		}
	}
	slices.SortStableFunc(series, func(a, b runlog.Series) int { return strings.Compare(a.Name, b.Name) })
	return series, nil
}

// wants reports whether a series of a family is kept; a histogram has three kinds.
func (p *page) wants(family string) bool {
	name := baseName(family)
	return p.names[name] || p.names[name+"_sum"]
}

// series is a sample as the log keeps it, false for one that no report can use.
func (p *page) series(s *model.Sample) (runlog.Series, bool) {
	one := runlog.Series{Name: string(s.Metric[model.MetricNameLabel]), Value: float64(s.Value)}
	if math.IsNaN(one.Value) || math.IsInf(one.Value, 0) || !p.names[baseName(one.Name)] {
		return one, false
	}
	for name, value := range s.Metric {
		if !keptLabels[string(name)] || len(value) > maxLabel {
			continue
		}
		if one.Labels == nil {
			one.Labels = map[string]string{}
		}
		one.Labels[string(name)] = string(value)
	}
	return one, true
}

func (p *page) get(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	// The text format only, and not compressed: that would cost the machine that is
	// being measured.
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,text/plain;q=0.5")
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := p.client.Do(req)
	if err != nil {
		var where *url.Error
		if errors.As(err, &where) {
			err = where.Err // without the URL, whose query may hold a secret
		}
		return nil, err
	}
	defer resp.Body.Close()
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400:
		return nil, fmt.Errorf("redirect not followed (HTTP status %d): give the URL it leads to", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%w (HTTP status %d %s)", ErrUnauthorized, status, http.StatusText(status))
	case status != http.StatusOK:
		return nil, fmt.Errorf("HTTP status %d %s", status, http.StatusText(status))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(http.MaxBytesReader(nil, resp.Body, maxPage))
	var at expfmt.ParseError
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, fmt.Errorf("the response is larger than %d MiB", maxPage>>20)
	case errors.As(err, &at):
		return nil, fmt.Errorf("line %d is not metrics in the text format", at.Line)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the response was cut")
	}
	return families, err
}

// shown is a URL as it may be repeated: a query may hold a secret.
func shown(u *url.URL) string {
	place := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return place.String()
}
