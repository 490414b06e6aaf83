package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/telemetry"
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

// sampler is one source and what became of it.
type sampler struct {
	*telemetry.Sampler
	name string

	mu     sync.Mutex
	failed int
	first  error // the first failure
}

// openSamplers checks every source once. One that was asked for must answer.
func (r *run) openSamplers(ctx context.Context) error {
	r.samplers = []*sampler{{Sampler: telemetry.Self(0), name: "this program"}}
	if url := r.cfg.Metrics.Exporter; url != "" {
		s, err := openSampler(ctx, telemetry.Config{URL: url, Source: runlog.SourceExporter, HTTP: r.cfg.Metrics.ExporterHTTP})
		if errors.Is(err, telemetry.ErrUnauthorized) {
			err = fmt.Errorf("%w: see --exporter-http-config and --exporter-credentials-file", err)
		}
		if err != nil {
			return fmt.Errorf("--exporter: %w", err)
		}
		r.samplers = append(r.samplers, &sampler{Sampler: s, name: "the exporter"})
	}
	s, err := r.serverMetrics(ctx)
	if s != nil {
		r.samplers = append(r.samplers, &sampler{Sampler: s, name: "the server's metrics"})
	}
	return err
}

func openSampler(ctx context.Context, cfg telemetry.Config) (*telemetry.Sampler, error) {
	s, err := telemetry.New(cfg)
	if err != nil {
		return nil, err
	}
	return s, s.Check(ctx)
}

// serverMetrics is nil where there are none and none were asked for: an endpoint
// need not have any.
func (r *run) serverMetrics(ctx context.Context) (*telemetry.Sampler, error) {
	url := r.cfg.Metrics.Server
	if url == ServerOff {
		return nil, nil
	}
	asked := url != ""
	if !asked {
		base, err := openai.ParseBaseURL(r.cfg.Client.BaseURL)
		if err != nil {
			return nil, err
		}
		url = base.JoinPath("metrics").String()
	}
	s, err := openSampler(ctx, telemetry.Config{URL: url, Source: runlog.SourceServer, HTTP: r.cfg.Metrics.HTTP})
	switch {
	case err == nil:
		return s, nil
	case asked:
		return nil, fmt.Errorf("--server-metrics: %w", err)
	}
	return nil, nil
}

// firstSampleTimeout bounds the samples before a step: a source that hangs must not
// keep the load waiting.
const firstSampleTimeout = 2 * time.Second

// sampleOnce takes a sample of every source before the first request of a step, so that
// the server's counters cover all of its requests.
func (r *run) sampleOnce(ctx context.Context, step int) []runlog.Record {
	ctx, cancel := context.WithTimeout(ctx, firstSampleTimeout)
	defer cancel()
	taken := make([]runlog.Record, len(r.samplers))
	var sampling sync.WaitGroup
	for i, s := range r.samplers {
		sampling.Go(func() {
			switch sample, err := s.Sample(ctx); {
			case err == nil:
				sample.Step = step
				taken[i].Sample = &sample
			case !errors.Is(ctx.Err(), context.Canceled): // else the user withdrew the run
				s.fail(err)
			}
		})
	}
	sampling.Wait()
	return slices.DeleteFunc(taken, func(r runlog.Record) bool { return r.Sample == nil })
}

// keepSampling keeps samples of every source until the returned function is called,
// which waits for the last ones.
func (r *run) keepSampling(ctx context.Context, step int) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	errs := make([]error, len(r.samplers))
	for i, s := range r.samplers {
		running.Go(func() {
			errs[i] = s.Run(ctx, func(sample runlog.Sample) error {
				sample.Step = step
				return r.write(runlog.Record{Sample: &sample})
			}, s.fail)
		})
	}
	return func() error {
		cancel()
		running.Wait()
		return cmp.Or(errs...)
	}
}

func (s *sampler) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == 0 {
		s.first = err
	}
	s.failed++
}

// noteFailedSamples notes which sources did not always answer.
func (r *run) noteFailedSamples() {
	for _, s := range r.samplers {
		s.mu.Lock()
		if s.failed > 0 {
			r.note("%s could not be sampled %d of the times it was to be; at first: %v", s.name, s.failed, s.first)
		}
		s.mu.Unlock()
	}
}
