package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// polled says when the exporter last asked a vendor's tool, in seconds after noon.
func polled(vendor string, since float64) runlog.Series {
	return runlog.Series{
		Name: "accelerator_collector_last_success_timestamp_seconds", Labels: map[string]string{"collector": vendor},
		Value: float64(noon.Unix()) + since,
	}
}

// TestCardsByPoll holds that a step of 10 s counts what was polled inside it, at the
// time of the poll and once: a scrape may show what is 10 s old.
func TestCardsByPoll(t *testing.T) {
	type scrape struct{ at, poll, watts float64 }
	for name, tt := range map[string]struct {
		scrapes []scrape
		watts   Gauge
		joules  *float64
	}{
		"polled before the step": {
			[]scrape{{-1, -4, 50}, {2, -4, 50}, {10, -4, 50}},
			Gauge{},
			nil,
		},
		"polled once": {
			[]scrape{{-1, -4, 50}, {5, -4, 50}, {7, 6, 300}, {10, 6, 300}},
			Gauge{},
			nil,
		},
		"polled twice": {
			[]scrape{{-1, -6, 50}, {3, 2, 200}, {4, 2, 200}, {10, 8, 300}},
			Gauge{2, 250, 300},
			nil,
		},
		// 100 W until 2 s, 200 W on the mean until 6 s, 300 W to the end. The scrape at
		// 5 s and that at 11 s show nothing of the step that is new.
		"polled enough": {
			[]scrape{{-1, -2, 50}, {3, 2, 100}, {5, 2, 100}, {7, 6, 300}, {9.5, 9, 300}, {11, 10.5, 50}}, Gauge{3, 220, 300}, new(2200.0),
		},
		"polled in the first half alone": {
			[]scrape{{1, 1, 100}, {2, 2, 100}, {10, 5, 100}},
			Gauge{3, 100, 100},
			nil,
		},
		"a clock ahead of ours": { // a poll is never after the scrape that showed it
			[]scrape{{1, 100, 100}, {5, 200, 100}, {9, 300, 100}}, Gauge{3, 100, 100}, new(1000.0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{Percentiles: []float64{50}}, tenSeconds(t, "a", func(l *memlog) {
				for _, c := range tt.scrapes {
					l.sample(0, time.Duration(c.at*1e9), runlog.SourceExporter, of("0", "power_watts", c.watts),
						of("0", "info", 1, "name", "C500"), polled("metax", c.poll), polled("ascend", 5))
				}
			}))
			want := []Card{{Vendor: "metax", Device: "0", Name: "C500", Watts: tt.watts}}
			if diff := cmp.Diff(want, s.Cards, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.joules, s.Joules, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
				t.Errorf("joules (-want +got):\n%s", diff)
			}
		})
	}
}

// TestServing holds whose energy a token costs: that of the cards of this endpoint,
// http://server:8000, where the exporter probes more than one.
func TestServing(t *testing.T) {
	serves := func(target string, cards ...string) (all []runlog.Series) {
		for _, card := range cards {
			all = append(all, of(card, "probe_target_device_info", 1, "target", target))
		}
		return all
	}
	for name, tt := range map[string]struct {
		url     string
		info    []runlog.Series
		serve   string // cards
		joules  *float64
		assumed string
	}{
		"no target is told":          {info: nil, joules: new(70.0)},
		"by host and port":           {info: append(serves("server:8000", "0", "1"), serves("server:8001", "2")...), serve: "01", joules: new(30.0)},
		"one target by a name":       {info: serves("chat", "1"), serve: "1", joules: new(20.0), assumed: "chat"},
		"one target by another host": {info: serves("127.0.0.1:8000", "1"), serve: "1", joules: new(20.0), assumed: "127.0.0.1:8000"},
		"the port of https": {
			url: "https://server/llm", info: append(serves("server:443", "0"), serves("server:8000", "2")...), serve: "0", joules: new(10.0),
		},
		"others alone": {
			info: append(append(serves("a", "0"), serves("b", "1")...), append(serves("c", "2"), serves("d", "2")...)...),
		},
		"a card that is not there": {
			info: serves("server:8000", "0", "9"), serve: "0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := tenSeconds(t, "a", func(l *memlog) {
				for _, at := range []time.Duration{0, 10 * time.Second} {
					l.sample(0, at, runlog.SourceExporter, append(tt.info,
						of("0", "power_watts", 1), of("1", "power_watts", 2), of("2", "power_watts", 4))...)
				}
			})
			if tt.url != "" {
				log.run.URL = tt.url
			}
			s := stepOf(t, Options{Percentiles: []float64{50}}, log)
			got := ""
			for _, c := range s.Cards {
				if c.Serves {
					got += c.Device
				}
			}
			if got != tt.serve || len(s.Cards) != 3 {
				t.Errorf("cards %q of %d serve, want %q of 3", got, len(s.Cards), tt.serve)
			}
			if s.AssumedTarget != tt.assumed {
				t.Errorf("assumed target %q, want %q", s.AssumedTarget, tt.assumed)
			}
			if diff := cmp.Diff(tt.joules, s.Joules, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("joules (-want +got):\n%s", diff)
			}
		})
	}
}
