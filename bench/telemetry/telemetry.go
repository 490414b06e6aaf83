// Package telemetry samples what other programs say of themselves while a load
// test runs: the cards, by accelerator_exporter, and the model server, by its own
// metrics. It also samples the load generator itself.
package telemetry

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	scrapeTime = 5 * time.Second // for one scrape, all in all
	period     = time.Second
)

// Config says what to sample, and how often.
type Config struct {
	// URL is where the metrics are, such as http://127.0.0.1:10068/metrics. The
	// path is /metrics where it has none. It must hold no user name or password.
	URL string
	// Source is runlog.SourceExporter or runlog.SourceServer: it decides which
	// series are kept.
	Source runlog.Source
	// HTTP holds credentials, TLS, proxy and headers. Redirects are never
	// followed, whatever it says.
	HTTP config.HTTPClientConfig
	// Interval is the time from one sample to the next, 1 s when 0.
	Interval time.Duration
}

// Sampler takes samples of one source. It may be used from several goroutines
// at once.
type Sampler struct {
	place    string // as it may be repeated
	source   runlog.Source
	interval time.Duration
	read     func(ctx context.Context) (reading, error)
}

// reading is what one look at a source gave.
type reading struct {
	at     time.Time
	series []runlog.Series
	// known is true when something was there that only this kind of source has.
	known bool
}

// New returns a sampler for cfg. It fails for a URL or an HTTP configuration
// that cannot be used, and does not connect. No error holds a secret.
func New(cfg Config) (*Sampler, error) {
	u, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	s := &Sampler{place: shown(u), source: cfg.Source, interval: cfg.Interval}
	switch cfg.Source {
	case runlog.SourceExporter, runlog.SourceServer:
	default:
		return nil, fmt.Errorf("sampling %s: unknown source %q", s.place, cfg.Source)
	}
	switch {
	case s.interval < 0:
		return nil, fmt.Errorf("sampling %s: the interval must be more than 0", s.place)
	case s.interval == 0:
		s.interval = period
	}
	t, err := newTarget(u, cfg)
	if err != nil {
		return nil, fmt.Errorf("sampling %s: %w", s.place, err)
	}
	s.read = t.scrape
	return s, nil
}

// Placement reads the page of accelerator_exporter at cfg.URL once and returns the
// series that say where cards and their processes are, ordered by name. It takes 5 s at
// most, and less where ctx ends. Source and Interval of cfg are without effect. No error
// holds a secret.
func Placement(ctx context.Context, cfg Config) ([]runlog.Series, error) {
	u, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.Source = runlog.SourceExporter
	t, err := newTarget(u, cfg)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown(u), err)
	}
	t.choice = placementChoice()
	r, err := t.scrape(ctx)
	switch {
	case err != nil:
		return nil, err
	case !r.known:
		return nil, fmt.Errorf("reading %s: metrics are there, but none of accelerator_exporter's: is it the right URL?", shown(u))
	}
	return r.series, nil
}

// Self returns a sampler of this process, every interval (1 s when 0):
// process_cpu_seconds_total, process_resident_memory_bytes (Linux), and
// go_gc_duration_seconds_sum and _count, the pauses of the garbage collector.
func Self(interval time.Duration) *Sampler {
	if interval <= 0 {
		interval = period
	}
	return &Sampler{
		source:   runlog.SourceClient,
		interval: interval,
		read: func(context.Context) (reading, error) {
			return reading{at: time.Now(), series: selfSeries(), known: true}, nil
		},
	}
}

// Check takes one sample and says what is wrong with the source, so that a wrong
// URL is told before the run. An exporter that sees no card yet is good.
func (s *Sampler) Check(ctx context.Context) error {
	r, err := s.read(ctx)
	switch {
	case err != nil:
		return err
	case !r.known && s.source == runlog.SourceExporter:
		return fmt.Errorf("sampling %s: metrics are there, but none of accelerator_exporter's: is it the right URL?", s.place)
	case !r.known:
		return fmt.Errorf("sampling %s: metrics are there, but none of a model server's: is it the right URL?", s.place)
	}
	return nil
}

// Sample takes one sample. It takes 5 s at most, and less where ctx ends. Its Step is left to the caller,
// and its Series may be empty: an exporter whose cards are stale tells none.
func (s *Sampler) Sample(ctx context.Context) (runlog.Sample, error) {
	r, err := s.read(ctx)
	if err != nil {
		return runlog.Sample{}, err
	}
	return runlog.Sample{At: r.at, Source: s.source, Series: r.series}, nil
}

// Run takes a sample every interval, the first an interval from now, and one more
// when ctx is over, so that counters cover a step to its end; that last one makes
// Run end up to 5 s after ctx. The sample before a step's first request is the
// caller's, see [Sampler.Sample]. take gets each sample, failed why one could not
// be taken; a scrape that failed ends nothing. Of an exporter that tells when it
// polled its cards, samples that show nothing new are left out. Run returns nil, or
// the error of take that ended it.
func (s *Sampler) Run(ctx context.Context, take func(runlog.Sample) error, failed func(error)) error {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	take = newsOnly(take)
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			continue
		}
		sample, err := s.Sample(ctx)
		switch {
		case err == nil:
			if err := take(sample); err != nil {
				return err
			}
		case ctx.Err() == nil: // else cut short; the last sample follows
			failed(err)
		}
	}
	last, err := s.Sample(context.WithoutCancel(ctx))
	if err != nil {
		failed(err)
		return nil
	}
	return take(last)
}

// newsOnly passes over samples of polled cards that are as the one before: the
// exporter shows the same until its next poll.
func newsOnly(take func(runlog.Sample) error) func(runlog.Sample) error {
	same := func(a, b runlog.Series) bool {
		return a.Name == b.Name && a.Value == b.Value && maps.Equal(a.Labels, b.Labels)
	}
	var before []runlog.Series
	return func(sample runlog.Sample) error {
		polled := slices.ContainsFunc(sample.Series, func(s runlog.Series) bool { return s.Name == lastPoll })
		if polled && slices.EqualFunc(sample.Series, before, same) {
			return nil
		}
		before = sample.Series
		return take(sample)
	}
}

// shown is a URL as it may be repeated: a query may hold a secret.
func shown(u *url.URL) string {
	place := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return place.String()
}
