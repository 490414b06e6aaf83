package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Metrics are what is sampled during a run beside the requests.
type Metrics struct {
	// Exporter is the URL of accelerator_exporter's metrics, empty for none.
	Exporter string
	// ExporterHTTP is how to reach it: never with what the endpoint is given.
	ExporterHTTP config.HTTPClientConfig
	// Server is the URL of the model server's own metrics. Empty is /metrics
	// beside the endpoint, if it answers there; [ServerOff] is none.
	Server string
	HTTP   config.HTTPClientConfig // for the server's; the endpoint's own
}

// ServerOff is the value of [Metrics.Server] for none.
const ServerOff = "off"

const (
	samplePeriod = time.Second
	// firstSampleTimeout bounds the samples before a step: a source that hangs must not
	// keep the load waiting.
	firstSampleTimeout = 2 * time.Second
)

// source is sampled during a run, by one goroutine at a time.
type source struct {
	kind   runlog.Source
	name   string // in notes
	read   func(ctx context.Context) ([]runlog.Series, error)
	failed int
	first  error // the first failure
}

// openSources checks every source once. One that was asked for must answer; a server
// need not have metrics.
func (s *Session) openSources(ctx context.Context) error {
	m := s.cfg.Metrics
	s.sources = []*source{{kind: runlog.SourceClient, name: "this program", read: readSelf}}
	if m.Exporter != "" {
		err := s.openSource(ctx, runlog.SourceExporter, "the exporter", m.Exporter, m.ExporterHTTP)
		if errors.Is(err, ErrUnauthorized) {
			return fmt.Errorf("--exporter: %w: see --exporter-http-config", err)
		}
		if err != nil {
			return fmt.Errorf("--exporter: %w", err)
		}
	}
	switch m.Server {
	case ServerOff:
		return nil
	case "":
		base, _, err := openai.ParseEndpoint(s.cfg.Client.BaseURL)
		if err != nil {
			return err
		}
		_ = s.openSource(ctx, runlog.SourceServer, "the server's metrics", base.JoinPath("metrics").String(), m.HTTP)
		return nil
	}
	if err := s.openSource(ctx, runlog.SourceServer, "the server's metrics", m.Server, m.HTTP); err != nil {
		return fmt.Errorf("--server-metrics: %w", err)
	}
	return nil
}

func (s *Session) openSource(ctx context.Context, kind runlog.Source, name, url string, http config.HTTPClientConfig) error {
	page, err := newPage(url, http, kind, reportNames)
	if err != nil {
		return err
	}
	if _, err := page.read(ctx); err != nil {
		return err
	}
	s.sources = append(s.sources, &source{kind: kind, name: name, read: page.read})
	return nil
}

// sample takes a sample of a step. Its failure is counted unless ctx was withdrawn.
func (o *source) sample(ctx context.Context, step int) (runlog.Sample, bool) {
	series, err := o.read(ctx)
	if err == nil {
		return runlog.Sample{Step: step, At: time.Now(), Source: o.kind, Series: series}, true
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		o.first = cmp.Or(o.first, err)
		o.failed++
	}
	return runlog.Sample{}, false
}

// startSampling takes a sample of every source, so that the server's counters cover all
// requests of a step, and keeps sampling until the returned function is called.
func (s *Session) startSampling(ctx context.Context, step int) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var first, all sync.WaitGroup
	errs := make([]error, len(s.sources))
	first.Add(len(s.sources))
	for i, o := range s.sources {
		all.Go(func() {
			errs[i] = o.follow(ctx, step, first.Done, func(sample runlog.Sample) error { return s.write(runlog.Record{Sample: &sample}) })
		})
	}
	first.Wait()
	return func() error {
		cancel()
		all.Wait()
		return cmp.Or(errs...)
	}
}

// follow takes a sample, calls begun, and takes one every second and a last one when ctx
// is over. An exporter shows the same until its next poll: what is not new is left out.
func (o *source) follow(ctx context.Context, step int, begun func(), keep func(runlog.Sample) error) error {
	var last []runlog.Series
	take := func(ctx context.Context) error {
		sample, ok := o.sample(ctx, step)
		if !ok || o.kind == runlog.SourceExporter && slices.EqualFunc(last, sample.Series, sameSeries) {
			return nil
		}
		last = sample.Series
		return keep(sample)
	}
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	soon, cancel := context.WithTimeout(ctx, firstSampleTimeout)
	err := take(soon)
	cancel()
	begun()
	for err == nil {
		select {
		case <-tick.C:
			err = take(ctx)
		case <-ctx.Done():
			return take(context.WithoutCancel(ctx))
		}
	}
	return err
}

func sameSeries(a, b runlog.Series) bool {
	return a.Name == b.Name && a.Value == b.Value && maps.Equal(a.Labels, b.Labels)
}

// noteFailedSamples notes which sources did not always answer.
func (s *Session) noteFailedSamples() {
	for _, o := range s.sources {
		if o.failed > 0 {
			s.note("%s could not be sampled %d of the times it was to be; at first: %v", o.name, o.failed, o.first)
		}
	}
}

// readSelf returns the CPU time of this process, under the name that Go programs export
// it by.
func readSelf(context.Context) ([]runlog.Series, error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return nil, fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	return []runlog.Series{{Name: "process_cpu_seconds_total", Value: cpu.Seconds()}}, nil
}
