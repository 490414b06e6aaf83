package telemetry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// A step of 2.5 s sampled every second is seen twice within, and at its end: without
// the last look, the counters' rise would miss half a second.
func TestRunCoversTheStepToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var looks []time.Duration
		s := &Sampler{source: runlog.SourceServer, interval: time.Second, read: func(ctx context.Context) (reading, error) {
			return reading{at: time.Now()}, ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		err := s.Run(ctx, func(sample runlog.Sample) error {
			looks = append(looks, sample.At.Sub(start))
			return nil
		}, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond}
		if diff := cmp.Diff(want, looks); diff != "" {
			t.Errorf("looks (-want +got):\n%s", diff)
		}
	})
}

// A server that cannot be scraped for a while must not cost the samples after it.
func TestRunGoesOnAfterAFailedScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("connection refused")
		n, taken := 0, 0
		s := &Sampler{source: runlog.SourceServer, interval: time.Second, read: func(context.Context) (reading, error) {
			if n++; n == 1 || n == 2 {
				return reading{}, broken
			}
			return reading{}, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var failures []error
		err := s.Run(ctx, func(runlog.Sample) error { taken++; return nil },
			func(err error) { failures = append(failures, err) })
		if err != nil || taken != 2 || len(failures) != 2 || !errors.Is(failures[0], broken) {
			t.Errorf("Run = %v with %d samples and failures %v, want 2 samples and 2 failures", err, taken, failures)
		}
	})
}

// A log that cannot be written ends the sampling, and says why.
func TestRunEndsWhenSamplesCannotBeKept(t *testing.T) {
	full := errors.New("no space left on device")
	err := Self(time.Millisecond).Run(t.Context(), func(runlog.Sample) error { return full },
		func(err error) { t.Error(err) })
	if !errors.Is(err, full) {
		t.Errorf("Run = %v, want %v", err, full)
	}
}

// The scrape that the end of a step cuts short is no failure worth a line.
func TestRunDoesNotReportTheCutScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		s := &Sampler{source: runlog.SourceServer, interval: time.Second, read: func(ctx context.Context) (reading, error) {
			select {
			case <-ctx.Done():
				return reading{}, ctx.Err()
			case <-time.After(2 * time.Second):
				return reading{}, nil
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := s.Run(ctx, func(runlog.Sample) error { taken++; return nil }, func(err error) { t.Error(err) })
		if err != nil || taken != 1 {
			t.Errorf("Run = %v with %d samples, want the last one alone", err, taken)
		}
	})
}

// An exporter shows the same between two polls of its cards: a log of an hour must
// not say it 3,600 times. One that does not tell its polls may show anything.
func TestRunKeepsWhatIsNew(t *testing.T) {
	for name, tt := range map[string]struct {
		series func(second int) []runlog.Series
		want   int
	}{
		"polled every 3 s": {func(second int) []runlog.Series {
			return []runlog.Series{
				{Name: lastPoll, Labels: map[string]string{"collector": "metax"}, Value: float64(second / 3)},
				{Name: "accelerator_power_watts", Labels: map[string]string{"device": "0"}, Value: 300},
			}
		}, 4},
		"polls not told": {func(int) []runlog.Series { return []runlog.Series{{Name: "accelerator_power_watts", Value: 300}} }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, taken := 0, 0
				s := &Sampler{source: runlog.SourceExporter, interval: time.Second, read: func(context.Context) (reading, error) {
					n++
					return reading{series: tt.series(n)}, nil
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
				defer cancel()
				err := s.Run(ctx, func(runlog.Sample) error { taken++; return nil }, func(err error) { t.Error(err) })
				if err != nil || n != 10 || taken != tt.want {
					t.Errorf("Run = %v with %d of %d samples, want %d of 10", err, taken, n, tt.want)
				}
			})
		})
	}
}

// The report's "cores used by the load generator" is the rise of this counter.
func TestSelfCountsThisProcess(t *testing.T) {
	values := func() map[string]float64 {
		sample, err := Self(0).Sample(t.Context())
		if err != nil || sample.Source != runlog.SourceClient {
			t.Fatalf("Sample = %+v, %v", sample, err)
		}
		v := map[string]float64{}
		for _, s := range sample.Series {
			v[s.Name] = s.Value
		}
		return v
	}
	before := values()
	for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); { //nolint:revive // burns CPU
	}
	after := values()
	if used := after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]; used <= 0 || used > 60 {
		t.Errorf("20 ms of work used %g s of CPU", used)
	}
	if rss := after["process_resident_memory_bytes"]; rss < 1<<20 || rss > 1<<36 {
		t.Errorf("resident memory %g bytes", rss)
	}
}
