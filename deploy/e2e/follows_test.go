//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/queries"
)

// latencyFollowsLoad looks at the first dashboard as somebody does who runs the demo for five minutes, beside a probe whose
// latency has nothing to do with the load, and a server under a load test.
func latencyFollowsLoad(t *testing.T, p programs, versions []version) {
	demo, demoServer := startDemo(t, p)
	tested := startServer(t, p)
	tested.startProbing(t, tested, "1s")
	// Cards and probes of two servers whose waves are a quarter of their length apart, so that latency and load have nothing
	// to do with each other.
	busy := startServer(t, p, wave()...)
	programtest.Eventually(t, patience, "half of the users are there", func() error { return busy.running(t, 20) })
	other := startServer(t, p, wave()...)
	busy.startProbing(t, other, "2s")
	var all []*monitoring
	for _, v := range versions {
		all = append(all, startPlain(t, v, map[string][]targets{
			"accelerator_exporter": {{Targets: []string{demo, busy.exporter, tested.exporter}}},
			"vllm":                 {{Targets: []string{demoServer, other.vllm, tested.vllm}}},
		}))
	}
	report := loadTest(t, p, tested.vllm)
	for i, m := range all {
		t.Run("Prometheus "+versions[i].name, func(t *testing.T) {
			programtest.Eventually(t, 6*time.Minute, "five minutes of samples", func() error {
				n, err := m.instant(`min(count_over_time(accelerator_probe_success[5m]))`)
				if err == nil && (len(n) == 0 || value(n[0].Value) < 58) {
					err = fmt.Errorf("%v", n)
				}
				return err
			})
			t.Run("in the demo", func(t *testing.T) {
				for latency, r := range m.correlations(t, demo) {
					if r < 0.8 {
						t.Errorf("%s does not follow load: correlation %.2f", latency, r)
					}
				}
			})
			t.Run("where it has nothing to do with load", func(t *testing.T) {
				for latency, r := range m.correlations(t, busy.exporter) {
					if math.Abs(r) > 0.4 {
						t.Errorf("%s seems to follow load: correlation %.2f", latency, r)
					}
				}
			})
			t.Run("by requests in the server, as in the load test's report", func(t *testing.T) { m.agrees(t, tested.exporter, report) })
		})
	}
}

// startDemo runs what make run runs, and returns the addresses of exporter and server.
func startDemo(t *testing.T, p programs) (exporter, server string) {
	t.Helper()
	exporter, server = programtest.FreeAddress(t), programtest.FreeAddress(t)
	port := func(address string) string { return address[len("127.0.0.1:"):] }
	start(t, "demo", []string{"DEMO_WEB_PORT=" + port(exporter), "DEMO_VLLM_PORT=" + port(server)}, "../demo/run.sh", string(p))
	programtest.Eventually(t, patience, "the demo serves", func() error {
		_, err := programtest.Get(t, "http://"+exporter+"/metrics")
		return err
	})
	return exporter, server
}

// wave is the load of the demo.
func wave() []string { return []string{"--background-users=40", "--background-period=2m"} }

// startServer starts a server with the demo's pace, and cards whose load is its own.
func startServer(t *testing.T, p programs, flags ...string) *host {
	t.Helper()
	h := &host{programs: p, dir: t.TempDir()}
	h.write(t, "state/mx-smi.fault", "") // makes the folder
	h.server = start(t, "vllm", []string{"FAKEHOST_STATE=" + h.path("state")}, p.path("fakehost"), append([]string{"vllm", "--listen-address=127.0.0.1:0", "--speed=8"}, flags...)...)
	h.vllm = served(t, h.server)
	return h
}

// startProbing starts an exporter of the host's cards that probes a server as often as interval says.
func (h *host) startProbing(t *testing.T, server *host, interval string) {
	t.Helper()
	h.daemon = start(t, "exporter", []string{"FAKEHOST_STATE=" + h.path("state")}, h.programs.path("accelerator_exporter"),
		"--web.listen-address=127.0.0.1:0", "--collector.environment=FAKEHOST_STATE", "--collector.interval=2s", "--collector.metax.command="+h.programs.path("fake/mx-smi"),
		"--probe.target=http://"+server.vllm, "--probe.interval="+interval, "--probe.timeout=30s", "--probe.max-tokens=32")
	h.exporter = served(t, h.daemon)
}

// running fails until so many requests run in the host's server.
func (h *host) running(t *testing.T, requests int) error {
	t.Helper()
	page, err := programtest.Get(t, "http://"+h.vllm+"/metrics")
	if err != nil {
		return err
	}
	for line := range strings.Lines(page) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(name, "vllm:num_requests_running{") {
			if n, err := strconv.ParseFloat(value, 64); err != nil || int(n) < requests {
				return fmt.Errorf("%s (%w)", line, err)
			}
			return nil
		}
	}
	return errors.New("no number of running requests")
}

// startPlain starts a Prometheus with nothing but targets, at a pace that people use.
func startPlain(t *testing.T, v version, jobs map[string][]targets) *monitoring {
	t.Helper()
	m := &monitoring{dir: t.TempDir()}
	var scrapes []map[string]any
	for job, list := range jobs {
		scrapes = append(scrapes, map[string]any{"job_name": job, "static_configs": list})
	}
	m.writeYAML(t, "prometheus.yml", map[string]any{"global": map[string]any{"scrape_interval": "5s"}, "scrape_configs": scrapes})
	m.prometheus = served(t, start(t, "prometheus", nil, v.path,
		"--config.file="+m.path("prometheus.yml"), "--storage.tsdb.path="+m.path("prometheus"), "--web.listen-address=127.0.0.1:0"))
	return m
}

// panelQueries are a panel's queries for one host, as its legend or refId names them.
func panelQueries(t *testing.T, panel, instance string) map[string]string {
	t.Helper()
	all, err := queries.Dashboards(dashboardFiles)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, q := range all {
		if q.Dashboard != "accelerator-load-latency" || q.Panel != panel {
			continue
		}
		expr, err := q.Substitute(map[string]string{"instance": instance, "window": "1m", "__range": "5m", "__interval": "5s"})
		if err != nil {
			t.Fatal(err)
		}
		found[q.Ref] = expr
	}
	if len(found) == 0 {
		t.Fatalf("no panel %q", panel)
	}
	return found
}

// correlations are those of the first panel's latencies with its utilization, over two waves of load.
func (m *monitoring) correlations(t *testing.T, instance string) map[string]float64 {
	t.Helper()
	exprs := panelQueries(t, "Load and latency", instance)
	line := func(ref string) map[string]float64 {
		all, err := m.overTime(exprs[ref], 4*time.Minute, 5*time.Second)
		if err != nil || len(all) != 1 {
			t.Fatalf("query %s: %d lines (%v)", ref, len(all), err)
		}
		points := map[string]float64{}
		for _, v := range all[0].Values {
			points[fmt.Sprint(v[0])] = value(v)
		}
		return points
	}
	load := line("A")
	found := map[string]float64{}
	for latency, ref := range map[string]string{"TTFT": "C", "ITL": "D"} {
		found[latency] = correlation(t, load, line(ref))
		t.Logf("%s: correlation %.3f", latency, found[latency])
	}
	return found
}

// correlation is Pearson's, of what two lines have at the same instants.
func correlation(t *testing.T, a, b map[string]float64) float64 {
	t.Helper()
	var n, sa, sb, saa, sbb, sab float64
	for at, x := range a {
		y, ok := b[at]
		if !ok {
			continue
		}
		n, sa, sb, saa, sbb, sab = n+1, sa+x, sb+y, saa+x*x, sbb+y*y, sab+x*y
	}
	if n < 40 {
		t.Fatalf("only %v points in common", n)
	}
	return (n*sab - sa*sb) / math.Sqrt((n*saa-sa*sa)*(n*sbb-sb*sb))
}

// value is a sample's.
func value(sample [2]any) float64 {
	text, _ := sample[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// reported is what a report says of the time to first token of a step, in seconds.
type reported struct{ p50, p99 float64 }

// loadTest puts a falling load on a server and reads what accelbench reports of each number of users.
func loadTest(t *testing.T, p programs, server string) map[string]reported {
	t.Helper()
	results := filepath.Join(t.TempDir(), "results")
	bench := start(t, "accelbench", nil, p.path("accelbench"), "run", "--url=http://"+server, "--concurrency=150,32,8", "--duration=70s",
		"--input-len=30", "--random-output-len=100", "--output="+results)
	var text []byte
	programtest.Eventually(t, 6*time.Minute, "accelbench's report", func() error {
		files, err := filepath.Glob(filepath.Join(results, "*", "report.json"))
		if err != nil || len(files) != 1 {
			bench.Runs(t)
			return fmt.Errorf("reports %q (%w)", files, err)
		}
		text, err = os.ReadFile(files[0])
		return err
	})
	return readReport(t, text)
}

func readReport(t *testing.T, text []byte) map[string]reported {
	t.Helper()
	var report struct {
		Steps []struct {
			Name  string `json:"name"`
			Whole struct {
				TTFT struct {
					Percentiles []struct{ P, Value float64 } `json:"percentiles"`
				} `json:"ttft"`
			} `json:"whole"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	steps := map[string]reported{}
	for _, s := range report.Steps {
		var r reported
		for _, p := range s.Whole.TTFT.Percentiles {
			switch p.P {
			case 50:
				r.p50 = p.Value
			case 99:
				r.p99 = p.Value
			}
		}
		steps[s.Name] = r
	}
	return steps
}

// agrees holds the table of bands against the report: of 32 users in the band of 16 to 63 requests, of 8 in that of 4 to 15.
// The step of 150 users before them is overloaded, and must not be seen in theirs.
func (m *monitoring) agrees(t *testing.T, instance string, report map[string]reported) {
	exprs := panelQueries(t, "By requests in the server", instance)
	in := func(ref, band string) float64 {
		all, err := m.instant(exprs[ref])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Metric["band"] == band {
				return value(s.Value)
			}
		}
		t.Fatalf("no probe in band %s: %v", band, all)
		return 0
	}
	for band, step := range map[string]string{"2": "8", "3": "32", "4": "150"} {
		probed, want := reported{in("B", band), in("D", band)}, report[step]
		t.Logf("%s users: probes %+v, report %+v", step, probed, want)
		if r := probed.p50 / want.p50; !(r > 0.3 && r < 3) {
			t.Errorf("with %s users the probes' p50 is %.3f s, the report's %.3f s", step, probed.p50, want.p50)
		}
		if step != "150" && !(probed.p99 < 4*want.p99) {
			t.Errorf("with %s users the probes' p99 is %.3f s, the report's %.3f s", step, probed.p99, want.p99)
		}
	}
}
