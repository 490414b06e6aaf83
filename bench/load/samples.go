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
	Exporter     string                  // URL of accelerator_exporter's metrics, empty for none
	ExporterHTTP config.HTTPClientConfig // how to reach it: never with what the endpoint is given
	// Server is the URL of the model server's own metrics. Empty is /metrics beside the
	// endpoint, if it answers there; "off" is none.
	Server string
	HTTP   config.HTTPClientConfig // for the server's; the endpoint's own
}

const samplePeriod = time.Second

// source is sampled during a run, by one goroutine at a time.
type source struct {
	kind   runlog.Source
	read   func(ctx context.Context) ([]runlog.Series, error)
	failed int

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
