package result

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// tenSeconds is a step of two users from noon to 10 s after it, with 20 answers
// of 1,000 prompt tokens in all, whose log also holds what sample adds.
func tenSeconds(host string, sample func(*memlog)) *memlog {
	step := closed(2, 20)
	requests := slices.Concat(everySecond(10, time.Second), everySecond(10, time.Second))
	for i := range requests {
		requests[i].Trace.Usage.PromptTokens = 50
	}
	log := newMemlog(host)
	log.begin(step, requests)
	sample(log)
	log.end(step, requests, runlog.StopRequests)
	return log.ended()
}

// ofCard is a series of a card.
func ofCard(device, name string, value float64, labels ...string) runlog.Series {
	s := runlog.Series{Name: "accelerator_" + name, Value: value, Labels: map[string]string{"vendor": "metax", "device": device}}
	for i := 0; i < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	return s
}

func TestCards(t *testing.T) {
	log := tenSeconds("a", func(l *memlog) {
		for _, s := range []struct{ at, watts float64 }{{-2, 100}, {2, 100}, {6, 300}, {8, 300}} {
			l.sample(0, time.Duration(s.at*1e9), runlog.SourceExporter,
				ofCard("10", "info", 1, "name", "MXC500"), ofCard("10", "power_watts", s.watts),
				ofCard("10", "utilization_ratio", 0.5), ofCard("10", "temperature_celsius", 40, "sensor", "chip"),
				ofCard("10", "temperature_celsius", 90, "sensor", "hotspot"),
				ofCard("10", "memory_used_bytes", 10, "type", "hbm"), ofCard("10", "memory_used_bytes", 5, "type", "ddr"),
				ofCard("2", "power_watts", 50), ofCard("10", "probe_target_device_info", 1, "target", "server:8000"))
		}
	})
	// From noon to 2 s 100 W, to 6 s 200 W on the mean, to 10 s 300 W: 2,200 J.
	want := []Card{
		{Vendor: "metax", Device: "2", Watts: Gauge{3, 50, 50}},
		{
			Vendor: "metax", Device: "10", Name: "MXC500", Serves: true,
			Utilization: Gauge{3, 0.5, 0.5}, Watts: Gauge{3, 220, 300}, Celsius: Gauge{3, 40, 40},
			MemoryUsed: Gauge{3, 15, 15},
		},
	}
	// Another machine looked at the same cards: they are not twice as many.
	other := tenSeconds("b", func(l *memlog) {
		l.sample(0, 3*time.Second, runlog.SourceExporter, ofCard("2", "power_watts", 70))
	})
	s := stepOf(t, Options{}, log, other)
	equal(t, "cards", want, s.Cards, cmpopts.EquateApprox(1e-12, 0), cmpopts.IgnoreUnexported(Card{}))
	equal(t, "joules", 2200.0, orZero(s.Joules), cmpopts.EquateApprox(1e-12, 0))
}

// TestCardsByPoll holds that a step of 10 s counts what was polled inside it, at the
// time of the poll and once: a scrape may show what is 10 s old.
func TestCardsByPoll(t *testing.T) {
	type scrape struct{ at, poll, watts float64 }
	for name, tt := range map[string]struct {
		scrapes []scrape
		watts   Gauge
		joules  float64
	}{
		"polled once":  {[]scrape{{-1, -4, 50}, {5, -4, 50}, {7, 6, 300}, {10, 6, 300}}, Gauge{}, 0},
		"polled twice": {[]scrape{{-1, -6, 50}, {3, 2, 200}, {4, 2, 200}, {10, 8, 300}}, Gauge{2, 250, 300}, 2500.0},
		// 100 W until 2 s, 200 W on the mean until 6 s, 300 W to the end. The scrape at
		// 5 s and that at 11 s show nothing of the step that is new.
		"polled enough": {
			[]scrape{{-1, -2, 50}, {3, 2, 100}, {5, 2, 100}, {7, 6, 300}, {9.5, 9, 300}, {11, 10.5, 50}}, Gauge{3, 220, 300}, 2200.0,
		},
		// A poll is never after the scrape that showed it.
		"a clock ahead of ours": {[]scrape{{1, 100, 100}, {5, 200, 100}, {9, 300, 100}}, Gauge{3, 100, 100}, 1000.0},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
				for _, c := range tt.scrapes {
					l.sample(0, time.Duration(c.at*1e9), runlog.SourceExporter, ofCard("0", "power_watts", c.watts), runlog.Series{
						Name: "accelerator_collector_last_success_timestamp_seconds", Labels: map[string]string{"collector": "metax"},
						Value: float64(noon.Unix()) + c.poll,
					})
				}
			}))
			near := cmpopts.EquateApprox(1e-6, 0)
			equal(t, "cards", []Card{{Vendor: "metax", Device: "0", Serves: true, Watts: tt.watts}}, s.Cards, near, cmpopts.IgnoreUnexported(Card{}))
			equal(t, "joules", tt.joules, orZero(s.Joules), near)
		})
	}
}

// TestServing holds whose energy a token costs: that of the cards of this endpoint,
// http://server:8000, of all where the exporter probes nothing, and not known where it
// probes others.
func TestServing(t *testing.T) {
	serves := func(target string, cards ...string) (all []runlog.Series) {
		for _, card := range cards {
			all = append(all, ofCard(card, "probe_target_device_info", 1, "target", target))
		}
		return all
	}
	for name, tt := range map[string]struct {
		info   []runlog.Series
		serve  string // cards
		joules float64
	}{
		"no target":                {serve: "012", joules: 70.0},
		"by host and port":         {slices.Concat(serves("server:8000", "0", "1"), serves("server:8001", "2")), "01", 30.0},
		"the only one, by a name":  {serves("chat", "1"), "1", 20.0},
		"two names":                {slices.Concat(serves("chat", "0"), serves("code", "1")), "", 0},
		"a card that is not there": {serves("server:8000", "0", "9"), "09", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
				for _, at := range []time.Duration{0, 5 * time.Second, 10 * time.Second} {
					l.sample(0, at, runlog.SourceExporter, append(tt.info,
						ofCard("0", "power_watts", 1), ofCard("1", "power_watts", 2), ofCard("2", "power_watts", 4))...)
				}
			}))
			got := ""
			for _, c := range s.Serving() {
				got += c.Device
			}
			warned := slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.HasPrefix(w, "None of the exporter's targets") })
			if warned != (got == "") {
				t.Errorf("warnings %q where cards %q serve", s.Warnings, got)
			}
			if diff := cmp.Diff(tt.joules, orZero(s.Joules), cmpopts.EquateApprox(1e-9, 0)); diff != "" || got != tt.serve {
				t.Errorf("cards %q serve, want %q; joules (-want +got):\n%s", got, tt.serve, diff)
			}
		})
	}
}

// orZero is 0 for a figure that is not known.
func orZero(v Value) float64 {
	if !v.Known() {
		return 0
	}
	return float64(v)
}
