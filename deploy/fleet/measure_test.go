package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

var (
	measureHosts = flag.String("fleet.hosts", "", "numbers of hosts to measure with, comma-separated")
	measureFor   = flag.Duration("fleet.for", 4*time.Minute, "how long to scrape each number of hosts")
	interval     = flag.Duration("fleet.interval", 15*time.Second, "scrape interval")
	histograms   = flag.String("fleet.histograms", "both", "classic, native or both")
	speed        = flag.Float64("fleet.speed", 1, "seconds that pass on the hosts in one second")
	withRules    = flag.Bool("fleet.rules", true, "load the project's rules")
	agent        = flag.Bool("fleet.agent", false, "scrape with a Prometheus Agent that writes to another Prometheus")
)

// queries are what the fleet dashboard asks, one of each kind.
var queries = []string{
	`avg by (instance) (accelerator_utilization_ratio)`,
	`topk(10, accelerator_temperature_celsius)`,
	`sum by (vendor) (accelerator_devices_expected) - sum by (vendor) (accelerator_devices)`,
	`accelerator_utilization_ratio * on (instance, vendor, device) group_left (name) accelerator_info`,
	`histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket[2m])))`,
	`histogram_quantile(0.9, sum by (le, instance, target) (rate(accelerator_probe_time_to_first_token_seconds_bucket[2m])))`,
}

// TestMeasure scrapes fleets of several sizes with one Prometheus and prints what
// it cost, a Markdown table row each. It measures; it judges nothing.
func TestMeasure(t *testing.T) {
	if *measureHosts == "" {
		t.Skip("measures for minutes: give -fleet.hosts=10,100")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/fleet", ".").CombinedOutput(); err != nil {
		t.Fatalf("building the fleet: %v\n%s", err, out)
	}
	vendors := startReal(t)
	if *agent {
		t.Log("| hosts | samples/s | agent: RSS MB | CPU cores | sent B/sample | receiver: RSS MB | CPU cores | load average |")
	} else {
		t.Log("| hosts | series | samples/s | RSS MB | CPU cores | WAL B/sample | scrape p50/p99 ms | rules s | load average |")
	}
	for _, text := range strings.Split(*measureHosts, ",") {
		hosts, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(text, func(t *testing.T) {
			if *agent {
				measureAgent(t, dir+"/fleet", vendors, hosts)
			} else {
				measure(t, dir+"/fleet", vendors, hosts)
			}
		})
	}
}

// simulate starts the fleet and returns the file of its targets.
func simulate(t *testing.T, program string, vendors []vendor, hosts int) (*programtest.Process, string) {
	t.Helper()
	targets := filepath.Join(t.TempDir(), "fleet.yml")
	args := []string{"--hosts=" + strconv.Itoa(hosts), "--targets=" + targets, fmt.Sprintf("--speed=%g", *speed)}
	for _, v := range vendors {
		args = append(args, "--from="+v.url)
	}
	process, _ := startProcess(t, nil, regexp.MustCompile(`serving .* at http://([^/]+)`), program, args...)
	return process, targets
}

// measureAgent measures an agent that scrapes and writes everything to a
// Prometheus that scrapes nothing.
func measureAgent(t *testing.T, program string, vendors []vendor, hosts int) {
	_, targets := simulate(t, program, vendors, hosts)
	receiver, receiverURL, _ := startPrometheus(t, "global: {}\n", "--web.enable-remote-write-receiver")
	config := scrapeConfig(targets, interval.String(), histogramSettings()) +
		fmt.Sprintf("remote_write:\n  - url: %s/api/v1/write\n    send_native_histograms: true\n", receiverURL)
	config = strings.Replace(config, "  evaluation_interval: "+interval.String()+"\n", "", 1) // an agent evaluates nothing
	scraper, agentURL, _ := startPrometheus(t, config, "--agent")

	scraped(t, receiverURL, hosts)
	before, cpu, receiverCPU := scrapeItself(t, agentURL), cpuSeconds(t, scraper.Pid), cpuSeconds(t, receiver.Pid)
	took := scraped(t, receiverURL, hosts).Seconds()
	after := scrapeItself(t, agentURL)
	sent := func(name string) float64 { return after[name] - before[name] }
	samples := sent("prometheus_remote_storage_samples_total") + sent("prometheus_remote_storage_histograms_total")
	t.Logf("| %d | %.0f | %.0f | %.2f | %.1f | %.0f | %.2f | %s |", hosts, samples/took,
		memory(t, scraper.Pid), (cpuSeconds(t, scraper.Pid)-cpu)/took, sent("prometheus_remote_storage_bytes_total")/samples,
		memory(t, receiver.Pid), (cpuSeconds(t, receiver.Pid)-receiverCPU)/took, loadAverage(t))
	t.Logf("failed: %.0f; pending: %.0f; received series: %.0f", after["prometheus_remote_storage_samples_failed_total"],
		after["prometheus_remote_storage_samples_pending"], scrapeItself(t, receiverURL)["prometheus_tsdb_head_series"])
}

func measure(t *testing.T, program string, vendors []vendor, hosts int) {
	simulator, targets := simulate(t, program, vendors, hosts)
	process, prometheus, data := startPrometheus(t, measuredConfig(t, targets), "--web.enable-admin-api")

	scraped(t, prometheus, hosts) // every target found, every cache warm
	before, cpu, simCPU := scrapeItself(t, prometheus), cpuSeconds(t, process.Pid), cpuSeconds(t, simulator.Pid)
	took := scraped(t, prometheus, hosts).Seconds()
	after := scrapeItself(t, prometheus)
	cpu, simCPU = cpuSeconds(t, process.Pid)-cpu, cpuSeconds(t, simulator.Pid)-simCPU

	appended := after["prometheus_tsdb_head_samples_appended_total"]
	duration := func(q float64) float64 {
		return 1000 * one(t, prometheus, fmt.Sprintf(`quantile(%g, scrape_duration_seconds{job="accelerator_exporter"})`, q))
	}
	t.Logf("| %d | %.0f | %.0f | %.0f | %.2f | %.2f | %.0f / %.0f | %.2f | %s |",
		hosts, after["prometheus_tsdb_head_series"], (appended-before["prometheus_tsdb_head_samples_appended_total"])/took,
		memory(t, process.Pid), cpu/took, after["prometheus_tsdb_wal_storage_size_bytes"]/appended,
		duration(0.5), duration(0.99), after["prometheus_rule_group_last_duration_seconds"], loadAverage(t))
	t.Logf("hosts up: %.0f; samples of a scrape: %.0f; simulator: %.2f cores; late rule groups: %.0f",
		one(t, prometheus, `sum(up{job="accelerator_exporter"})`), one(t, prometheus, `avg(scrape_samples_scraped{job="accelerator_exporter"})`),
		simCPU/took, after["prometheus_rule_group_iterations_missed_total"])
	for _, query := range queries {
		t.Logf("instant %4.0f ms, range %5.0f ms: %s", timed(t, prometheus, query, false), timed(t, prometheus, query, true), query)
	}
	t.Logf("block: %s", snapshot(t, prometheus, data))
}

// scraped waits until every host has been scraped as often as in half of the
// measurement, and returns how long that took.
func scraped(t *testing.T, prometheus string, hosts int) time.Duration {
	t.Helper()
	began := time.Now()
	scrapes := int(*measureFor / 2 / *interval)
	programtest.Eventually(t, *measureFor, fmt.Sprintf("%d hosts have %d scrapes each", hosts, scrapes), func() error {
		// Seconds are whole, so that a scrape of just before the start may count.
		query := fmt.Sprintf(`count(sum_over_time(up{job="accelerator_exporter"}[%.0fs]) >= %d)`, math.Ceil(time.Since(began).Seconds()), scrapes)
		got, err := ask(prometheus, query)
		if err == nil && (len(got) != 1 || int(got[0]) < hosts) {
			err = fmt.Errorf("%v have", got)
		}
		return err
	})
	return time.Since(began)
}

// measuredConfig scrapes as the project's configuration does.
func measuredConfig(t *testing.T, targets string) string {
	more := histogramSettings()
	if *withRules {
		rules, err := filepath.Abs("../prometheus/rules")
		if err != nil {
			t.Fatal(err)
		}
		more += fmt.Sprintf("rule_files: [%q]\n", rules+"/*.yml")
	}
	return scrapeConfig(targets, interval.String(), more)
}

// histogramSettings are the lines of the global section that say which kinds of
// histograms are scraped.
func histogramSettings() string {
	switch *histograms {
	case "both":
		return "  scrape_native_histograms: true\n  always_scrape_classic_histograms: true\n"
	case "native":
		return "  scrape_native_histograms: true\n"
	}
	return ""
}

// scrapeItself sums Prometheus's own metrics by name.
func scrapeItself(t *testing.T, prometheus string) map[string]float64 {
	t.Helper()
	families, err := capture(t.Context(), prometheus+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if v := metric.GetCounter().GetValue() + metric.GetGauge().GetValue(); !math.IsNaN(v) {
				sums[family.GetName()] += v
			}
		}
	}
	return sums
}

// one wants a query's only value.
func one(t *testing.T, prometheus, query string) float64 {
	t.Helper()
	values, err := ask(prometheus, query)
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != 1 {
		t.Fatalf("%s has %d results", query, len(values))
	}
	return values[0]
}

// timed is the median time of seven runs of a query, in milliseconds; a range
// is that of the measurement's second half, in 60 steps.
func timed(t *testing.T, prometheus, query string, ranged bool) float64 {
	t.Helper()
	address := prometheus + "/api/v1/query?query=" + url.QueryEscape(query)
	if ranged {
		end, half := time.Now(), *measureFor/2
		address = fmt.Sprintf("%s/api/v1/query_range?start=%d&end=%d&step=%g&query=%s", prometheus,
			end.Add(-half).Unix(), end.Unix(), half.Seconds()/60, url.QueryEscape(query))
	}
	var times []float64
	for range 7 {
		began := time.Now()
		response, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Status string
			Data   struct{ Result []json.RawMessage }
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		_ = response.Body.Close()
		if err != nil || answer.Status != "success" || len(answer.Data.Result) == 0 {
			t.Errorf("%s: %s, %d results, %v", query, answer.Status, len(answer.Data.Result), err)
		}
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// snapshot writes the head to a block and says what a sample takes there.
func snapshot(t *testing.T, prometheus, data string) string {
	t.Helper()
	response, err := http.Post(prometheus+"/api/v1/admin/tsdb/snapshot", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	metas, err := filepath.Glob(filepath.Join(data, "snapshots", "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		return fmt.Sprintf("none (%s, %v)", response.Status, err)
	}
	var samples, chunks, index, seriesOfAll float64
	for _, file := range metas {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var meta struct {
			Stats struct{ NumSamples, NumSeries float64 }
		}
		if err := json.Unmarshal(text, &meta); err != nil {
			t.Fatal(err)
		}
		samples += meta.Stats.NumSamples
		seriesOfAll += meta.Stats.NumSeries
		chunks += size(t, filepath.Join(filepath.Dir(file), "chunks"))
		index += size(t, filepath.Join(filepath.Dir(file), "index"))
	}
	return fmt.Sprintf("%.0f samples in %.0f series, %.0f a series: %.2f B/sample in chunks, %.2f with the index (%.0f B/series)",
		samples, seriesOfAll, samples/seriesOfAll, chunks/samples, (chunks+index)/samples, index/seriesOfAll)
}

func size(t *testing.T, root string) float64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(sum)
}

// memory is a process's resident memory in megabytes.
func memory(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if match == nil {
		t.Fatal("no VmRSS")
	}
	kb, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb * 1024 / 1e6
}

// cpuSeconds is the processor time of a process, user and system.
func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks float64
	for _, field := range fields[11:13] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += v
	}
	return ticks / 100
}

func loadAverage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[0]
}
