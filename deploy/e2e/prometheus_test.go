//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// shipped is where the configuration that users get stands.
const shipped = "../prometheus"

// monitoring is a Prometheus and an Alertmanager with the shipped configuration.
type monitoring struct {
	version      string // of Prometheus
	prometheus   string // addresses
	alertmanager string
}

// targets is one entry of a file that Prometheus takes targets from.
type targets struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels,omitempty"`
}

var (
	// pace matches what is made 5 seconds in the configuration of Prometheus, and wait what is so in rules.
	pace = regexp.MustCompile(`(?m)^( +(?:scrape_interval|scrape_timeout|evaluation_interval):) \w+`)
	wait = regexp.MustCompile(`(?m)^( +(?:for|keep_firing_for|interval):) \w+$`)
)

// startMonitoring starts both. Jobs are the targets of each scrape job.
func startMonitoring(t *testing.T, version, path, config string, jobs map[string][]targets) *monitoring {
	t.Helper()
	m, dir := &monitoring{version: version}, t.TempDir()
	m.alertmanager = served(t, programtest.Run(t, "alertmanager", nil, programtest.Find(t, "prometheus-alertmanager", "alertmanager"),
		"--config.file="+filepath.Join(shipped, "alertmanager.yml"), "--storage.path="+filepath.Join(dir, "alertmanager"),
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address="))
	copyFile := func(from, to string, what *regexp.Regexp) {
		text := programtest.Read(t, filepath.Join(shipped, from))
		programtest.Write(t, filepath.Join(dir, to), what.ReplaceAllString(text, "$1 5s"))
	}
	copyFile(config, "prometheus.yml", pace)
	copyFile("rules/alerts.yml", "rules/alerts.yml", wait)
	copyFile("rules/recording.yml", "rules/recording.yml", wait)
	writeTargets := func(job string, list []targets) {
		text, err := yaml.Marshal(list)
		programtest.NoError(t, err)
		programtest.Write(t, filepath.Join(dir, "targets", job+".yml"), string(text))
	}
	for job, list := range jobs {
		writeTargets(job, list)
	}
	writeTargets("alertmanager", []targets{{Targets: []string{m.alertmanager}}})
	m.prometheus = served(t, programtest.Run(t, "prometheus", nil, path,
		"--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "prometheus"),
		"--web.listen-address=127.0.0.1:0"))
	programtest.Eventually(t, patience, "Prometheus is ready", func() error {
		_, err := programtest.Get(t, "http://"+m.prometheus+"/-/ready")
		return err
	})
	return m
}

// get asks Prometheus and decodes the data.
func (m *monitoring) get(path string, query url.Values, data any) error {
	response, err := http.Get("http://" + m.prometheus + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// series is one of a query's results.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`  // of an instant query
	Values [][2]any          `json:"values"` // of a query over time
}

// instant asks for a value now.
func (m *monitoring) instant(expr string) ([]series, error) {
	var data struct {
		Result []series `json:"result"`
	}
	err := m.get("/api/v1/query", url.Values{"query": {expr}}, &data)
	return data.Result, err
}

// overTime asks for the last minutes, as a panel does: at instants that all its queries have in common.
func (m *monitoring) overTime(expr string, back, step time.Duration) ([]series, error) {
	var data struct {
		Result []series `json:"result"`
	}
	now := time.Now().Truncate(step)
	err := m.get("/api/v1/query_range", url.Values{
		"query": {expr},
		"start": {fmt.Sprintf("%.3f", float64(now.Add(-back).UnixMilli())/1000)},
		"end":   {fmt.Sprintf("%.3f", float64(now.UnixMilli())/1000)},
		"step":  {fmt.Sprint(step.Seconds())},
	}, &data)
	return data.Result, err
}

// labelValues are the values of a label on the series of a selector.
func (m *monitoring) labelValues(label, selector string) ([]string, error) {
	var values []string
	err := m.get("/api/v1/label/"+label+"/values", url.Values{"match[]": {selector}}, &values)
	return values, err
}

// noRuleFails reads the state of every rule after its last evaluation.
func (m *monitoring) noRuleFails(t *testing.T) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	programtest.NoError(t, m.get("/api/v1/rules", nil, &data))
	seen := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			seen++
			if r.Health != "ok" {
				t.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if want := strings.Count(programtest.Read(t, shipped+"/rules/alerts.yml"), "- alert:") +
		strings.Count(programtest.Read(t, shipped+"/rules/recording.yml"), "- record:"); seen != want {
		t.Errorf("%d rules are loaded, want %d", seen, want)
	}
}

// nativeHistograms checks that Prometheus 3 keeps both kinds of a histogram.
func (m *monitoring) nativeHistograms(t *testing.T) {
	for _, expr := range []string{
		`histogram_quantile(0.9, sum(rate(accelerator_probe_request_duration_seconds[1m])))`,
		`histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_request_duration_seconds_bucket[1m])))`,
	} {
		all, err := m.instant(expr)
		if err != nil || len(all) != 1 || all[0].isEmpty() {
			t.Errorf("%s: %v (%v)", expr, all, err)
		}
	}
}
