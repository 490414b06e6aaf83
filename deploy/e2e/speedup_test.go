package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func minute(name string) bool { return strings.HasSuffix(name, "_age_seconds") }

func TestRulesPassFaster(t *testing.T) {
	const file = `
groups:
  - name: one
    interval: 30s
    rules:
      - record: job:failures:ratio_rate1h
        expr: sum by (job) (rate(failures_total{job="a"}[1h] offset 2m)) / max_over_time(rate(all_total[5m])[3d:10m])
      - record: threshold_age_seconds
        expr: label_replace(vector(600), "vendor", "metax", "", "")
      - record: threshold_latency_seconds
        expr: vector(2)
      - alert: TooMany
        expr: job:failures:ratio_rate1h > 0.05 and time() - last > on () group_left () threshold_age_seconds
        for: 15m
        keep_firing_for: 1h
        labels:
          severity: warning
        annotations:
          summary: '{{ $value | humanizeDuration }} in 1h'
`
	got, err := speedup{factor: 60, isSpan: minute}.rules([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	const want = `
groups:
  - name: one
    interval: 500ms
    rules:
      - record: job:failures:ratio_rate1h
        expr: sum by (job) (rate(failures_total{job="a"}[1m] offset 2s)) / max_over_time(rate(all_total[5s])[1h12m:10s])
      - record: threshold_age_seconds
        expr: label_replace(vector(10), "vendor", "metax", "", "")
      - record: threshold_latency_seconds
        expr: vector(2)
      - alert: TooMany
        expr: job:failures:ratio_rate1h > 0.05 and time() - last > on () group_left () threshold_age_seconds
        for: 15s
        keep_firing_for: 1m
        labels:
          severity: warning
        annotations:
          summary: '{{ $value | humanizeDuration }} in 1h'
`
	if diff := cmp.Diff(document(t, []byte(want)), document(t, got)); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}

func document(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSpansNeverVanish(t *testing.T) {
	s := speedup{factor: 60}
	for long, want := range map[time.Duration]time.Duration{
		0:                     0,
		time.Minute:           time.Second,
		10 * time.Millisecond: time.Millisecond,
		90 * time.Second:      1500 * time.Millisecond,
		-5 * time.Minute:      -5 * time.Second, // an offset into the future
	} {
		if got := s.span(long); got != want {
			t.Errorf("%s becomes %s, want %s", long, got, want)
		}
	}
}

func TestConfigPassesFaster(t *testing.T) {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte("global: {scrape_interval: 15s, other: 15s}\nroute: {group_wait: 30s, routes: [{group_wait: 1m}]}\n"), &node); err != nil {
		t.Fatal(err)
	}
	if err := (speedup{factor: 60}).config(&node, "scrape_interval", "group_wait"); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(&node)
	if err != nil {
		t.Fatal(err)
	}
	want := document(t, []byte("global: {scrape_interval: 250ms, other: 15s}\nroute: {group_wait: 500ms, routes: [{group_wait: 1s}]}\n"))
	if diff := cmp.Diff(want, document(t, got)); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
	if err := yaml.Unmarshal([]byte("group_wait: soon\n"), &node); err != nil {
		t.Fatal(err)
	}
	if err := (speedup{factor: 60}).config(&node, "group_wait"); err == nil {
		t.Error("a length of time that cannot be read passes")
	}
}
