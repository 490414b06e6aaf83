package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestFleet holds the simulated hosts against the real exporters that they are
// made from.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real programs")
	}
	var kinds [][]*dto.MetricFamily
	for _, v := range startReal(t) {
		families, err := capture(t.Context(), v.url)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, families)
		t.Run("figures of the document/"+v.name, func(t *testing.T) {
			checkFigures(t, v.name, families)
			checkDrops(t, v.name, families)
		})
	}
	t.Run("the same series", func(t *testing.T) { sameSeries(t, kinds) })
	t.Run("counters never fall", func(t *testing.T) { countersRise(t, kinds) })
	t.Run("text", func(t *testing.T) { servesText(t, kinds) })
	t.Run("in Prometheus", func(t *testing.T) { inPrometheus(t, kinds) })
}

// sameSeries wants every host to have the real one's series, no more and no less.
func sameSeries(t *testing.T, kinds [][]*dto.MetricFamily) {
	f := newFleet(kinds, 4, 1, time.Now())
	for number, h := range f.hosts {
		got, err := h.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := count(got), count(kinds[number%2]); got != want {
			t.Errorf("host %d has %d series, the real one %d", number, got, want)
		}
	}
}

// count is how many series there are, classic buckets included and native
// histograms left out.
func count(families []*dto.MetricFamily) int {
	return len(expand(families))
}

// countersRise looks at many moments: a counter or a bucket that falls would be
// taken for a restart.
func countersRise(t *testing.T, kinds [][]*dto.MetricFamily) {
	var at float64
	h := newHost(3, kinds[0], time.Now(), func() float64 { return at })
	last := make(map[string]float64)
	changed := 0
	for ; at < 3600; at += 7.3 {
		families, err := h.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for i, metric := range family.GetMetric() {
				for j, value := range cumulative(metric) {
					key := fmt.Sprintf("%s %d %d", family.GetName(), i, j)
					if before, ok := last[key]; ok && value < before {
						t.Fatalf("%s fell from %v to %v", key, before, value)
					} else if ok && value > before {
						changed++
					}
					last[key] = value
				}
			}
		}
	}
	if changed < 1000 {
		t.Errorf("counters and buckets rose %d times in an hour", changed)
	}
}

// cumulative are the values of a metric that may only grow.
func cumulative(metric *dto.Metric) []float64 {
	var values []float64
	if metric.Counter != nil {
		values = append(values, metric.GetCounter().GetValue())
	}
	if h := metric.GetHistogram(); h != nil {
		values = append(values, float64(h.GetSampleCount()), h.GetSampleSum())
		for _, bucket := range h.GetBucket() {
			values = append(values, float64(bucket.GetCumulativeCount()))
		}
	}
	return values
}

// servesText reads a host in the text format, by way of the command line.
func servesText(t *testing.T, kinds [][]*dto.MetricFamily) {
	server := httptest.NewServer(newFleet(kinds, 2, 1, time.Now()))
	defer server.Close()
	response, err := http.Get(server.URL + path(1))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	families, err := decode(response.Body, expfmt.ResponseFormat(response.Header))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := count(families), count(kinds[1]); got != want {
		t.Errorf("%d series in the text, %d in the real exposition", got, want)
	}
}

// inPrometheus scrapes a small fleet with the real server.
func inPrometheus(t *testing.T, kinds [][]*dto.MetricFamily) {
	const hosts = 6
	f := newFleet(kinds, hosts, 15, time.Now())
	server := httptest.NewServer(f)
	defer server.Close()
	targets := filepath.Join(t.TempDir(), "fleet.yml")
	if err := os.WriteFile(targets, f.targets(server.Listener.Addr().String()), 0o644); err != nil {
		t.Fatal(err)
	}
	_, prometheus, _ := startPrometheus(t, scrapeConfig(targets, "1s", ""))
	programtest.Eventually(t, time.Minute, "every host has its series", func() error {
		got, err := ask(prometheus, `count by (instance) ({instance=~"gpu-.*", __name__!~"up|scrape_.*"})`)
		if err != nil {
			return err
		}
		if len(got) != hosts {
			return fmt.Errorf("%d hosts", len(got))
		}
		for _, v := range got {
			if v < 400 {
				return fmt.Errorf("%v series on a host", v)
			}
		}
		return nil
	})
	programtest.Eventually(t, time.Minute, "latency can be asked for", func() error {
		got, err := ask(prometheus, `histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket[30s]))) > 0`)
		if err == nil && len(got) != 1 {
			err = errors.New("no quantile")
		}
		return err
	})
}

// scrapeConfig is a configuration that scrapes a fleet.
func scrapeConfig(targets, interval, more string) string {
	return fmt.Sprintf(`global:
  scrape_interval: %[2]s
  evaluation_interval: %[2]s
%[3]sscrape_configs:
  - job_name: accelerator_exporter
    file_sd_configs:
      - files: [%[1]q]
`, targets, interval, more)
}

// ask makes an instant query and returns its values.
func ask(prometheus, query string) ([]float64, error) {
	response, err := http.Get(prometheus + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Status string
		Error  string
		Data   struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", query, answer.Error)
	}
	var values []float64
	for _, r := range answer.Data.Result {
		var v float64
		if _, err := fmt.Sscan(fmt.Sprint(r.Value[1]), &v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
