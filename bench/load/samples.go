package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
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
	// beside the endpoint, if it answers there; "off" is none.
	Server string
	HTTP   config.HTTPClientConfig // for the server's; the endpoint's own
}

const (
	serverOff    = "off"
	samplePeriod = time.Second
)

// source is sampled during a run, by one goroutine at a time.
type source struct {
	kind   runlog.Source
	read   func(ctx context.Context) ([]runlog.Series, error)
	failed int
	first  error // the first failure
}

// openSources checks every source once. One that was asked for must answer; a server
// need not have metrics.
func (s *Session) openSources(ctx context.Context) error {
	m := s.cfg.Metrics
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if m.Exporter != "" {
		if err := s.openSource(ctx, runlog.SourceExporter, m.Exporter, m.ExporterHTTP); err != nil {
			return fmt.Errorf("--exporter: %w", err)
		}
	}
	switch m.Server {
	case serverOff:
		return nil
	case "":
		base, _, err := openai.ParseEndpoint(s.cfg.Run.URL)
		if err != nil {
			return err
		}
		_ = s.openSource(ctx, runlog.SourceServer, base.JoinPath("metrics").String(), m.HTTP)
		return nil
	}
	if err := s.openSource(ctx, runlog.SourceServer, m.Server, m.HTTP); err != nil {
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

// startSampling takes a sample of every source, so that the server's counters cover all
// requests of a step, and keeps sampling until the returned function is called.
func (s *Session) startSampling(ctx context.Context, step int) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	err := s.sample(ctx, step)
	go func() { over <- s.follow(ctx, step) }()
	return func() error {
		cancel()
		return cmp.Or(err, <-over)
	}
}

// follow takes samples every second and last ones when ctx is over.
func (s *Session) follow(ctx context.Context, step int) error {
	tick := time.NewTicker(samplePeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.sample(ctx, step); err != nil {
				return err
			}
		case <-ctx.Done():
			return s.sample(context.WithoutCancel(ctx), step)
		}
	}
}

// sample takes a sample of every source and writes it. What fails to be read is counted,
// unless ctx was withdrawn.
func (s *Session) sample(ctx context.Context, step int) error {
	for _, o := range s.sources {
		series, err := o.read(ctx)
		if err == nil {
			err = s.write(runlog.Record{Sample: &runlog.Sample{Step: step, At: s.now(), Source: o.kind, Series: series}})
			if err != nil {
				return err
			}
		} else if !errors.Is(ctx.Err(), context.Canceled) {
			o.first = cmp.Or(o.first, err)
			o.failed++
		}
	}
	return nil
}

// noteFailedSamples notes which sources did not always answer.
func (s *Session) noteFailedSamples() {
	for _, o := range s.sources {
		if o.failed > 0 {
			s.note("%d samples of the %s's metrics failed; the first: %v", o.failed, o.kind, o.first)
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
