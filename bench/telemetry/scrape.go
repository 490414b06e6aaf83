package telemetry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/gunzip"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	maxBody   = 16 << 20 // bytes of a response, decompressed
	userAgent = "accelbench"
	// The text format only: a protobuf or OpenMetrics answer is not understood.
	accept = "text/plain;version=0.0.4;q=1,text/plain;q=0.5"
)

// ErrUnauthorized is the error of a source that wants credentials, or other ones.
var ErrUnauthorized = errors.New("credentials are missing or wrong")

// target is a place with metrics.
type target struct {
	url     *url.URL
	http    config.HTTPClientConfig
	client  *http.Client
	timeout time.Duration
	choice  choice
	sent    credential.Sent // what went out, and must not be kept
}

func newTarget(u *url.URL, cfg Config) (*target, error) {
	t := &target{url: u, http: cfg.HTTP, timeout: scrapeTime, choice: choiceOf(cfg.Source)}
	rt, err := newTransport(cfg.HTTP, &t.sent)
	if err != nil {
		return nil, err
	}
	t.client = &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t, nil
}

// parseURL reads the place of metrics. No error repeats any part of s: it may
// hold a secret.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, errors.New("reading the URL of metrics: not of the form http://host:port/metrics")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("reading the URL of metrics: it must start with http:// or https://")
	case u.User != nil:
		return nil, errors.New("reading the URL of metrics: it must not hold a user name or password")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("reading the URL of metrics: it has no host")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	u.Fragment = ""
	return u, nil
}

func newTransport(cfg config.HTTPClientConfig, sent *credential.Sent) (http.RoundTripper, error) {
	// A connection for each scrape leaves none idle between two, and its deadline
	// bounds the asking for a token too, which is done without a context.
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		until := time.Now().Add(scrapeTime)
		conn, err := (&net.Dialer{Deadline: until}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(until); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
	files := &transport.Files{Sent: func(_ context.Context, secret string) { sent.Keep(secret) }}
	return transport.New(cfg, transport.Options{Files: files, Dial: dial, DialToken: dial, UserAgent: userAgent})
}

// scrape asks for the metrics once and keeps what was chosen of them.
func (t *target) scrape(ctx context.Context) (reading, error) {
	limit := t.timeout
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := t.get(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: t.sent.Note}))
	secrets := slices.Concat(credential.OfConfig(&t.http), credential.OfURL(t.url), t.sent.Values())
	switch {
	case err == nil:
		r.series = withoutSecrets(r.series, secrets)
		return r, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("not over after %s", limit.Round(time.Millisecond))
	case !errors.Is(err, ErrUnauthorized): // any other may have text of the source in it
		text := plaintext.Brief(err.Error())
		if credential.In(text, secrets) {
			text = credential.Hidden
		}
		err = errors.New(text)
	}
	return reading{}, fmt.Errorf("sampling %s: %w", shown(t.url), err)
}

// withoutSecrets leaves out the series with a label that repeats a secret: a log keeps
// labels.
func withoutSecrets(all []runlog.Series, secrets []string) []runlog.Series {
	asked := map[string]bool{} // series share most values
	return slices.DeleteFunc(all, func(s runlog.Series) bool {
		for _, value := range s.Labels {
			repeats, known := asked[value]
			if !known {
				repeats = credential.In(value, secrets)
				asked[value] = repeats
			}
			if repeats {
				return true
			}
		}
		return false
	})
}

func (t *target) get(ctx context.Context) (reading, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return reading{}, errors.New("the URL cannot be used")
	}
	req.Header.Set("Accept", accept)
	// Compressing would cost the machine that is being measured.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := t.client.Do(req)
	if err != nil {
		var where *url.Error
		if errors.As(err, &where) {
			err = where.Err // without the URL: its query may hold a secret
		}
		return reading{}, err
	}
	defer resp.Body.Close()
	at := time.Now()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return reading{}, fmt.Errorf("redirect not followed (HTTP status %d): give the URL it leads to", resp.StatusCode)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return reading{}, fmt.Errorf("%w (HTTP status %d %s)", ErrUnauthorized, resp.StatusCode, http.StatusText(resp.StatusCode))
	case resp.StatusCode == http.StatusBadRequest && t.url.Scheme == "http":
		return reading{}, errors.New("HTTP status 400 Bad Request: does it want https?")
	case resp.StatusCode != http.StatusOK:
		return reading{}, fmt.Errorf("HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	if err := checkType(resp.Header.Get("Content-Type")); err != nil {
		return reading{}, err
	}
	body, err := bounded(resp)
	if err != nil {
		return reading{}, err
	}
	series, known, err := parse(body, t.choice)
	if errors.As(err, new(*http.MaxBytesError)) {
		err = fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	}
	return reading{at: at, series: series, known: known}, err
}

// checkType refuses what is plainly something else than text metrics. A server
// that names no type, or one of its own, is given the chance.
func checkType(contentType string) error {
	switch kind, _, _ := mime.ParseMediaType(contentType); kind {
	case "text/html", "application/json", "application/vnd.google.protobuf":
		return fmt.Errorf("the response is %s, not metrics as text", kind)
	}
	return nil
}

// bounded is the body of resp, decompressed, which fails with http.MaxBytesError where
// it grows too large.
func bounded(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return http.MaxBytesReader(nil, resp.Body, maxBody), nil
	case "gzip", "x-gzip":
		z, err := gunzip.NewReader(bufio.NewReader(resp.Body))
		if err != nil {
			return nil, fmt.Errorf("decompressing the response: %w", err)
		}
		return http.MaxBytesReader(nil, io.NopCloser(z), maxBody), nil
	default:
		return nil, fmt.Errorf("the response is encoded as %.20q, which was not asked for", encoding)
	}
}
