//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// monitoring is a Prometheus and an Alertmanager with the shipped configuration.
type monitoring struct {
	dir          string
	prometheus   string // addresses
	alertmanager string
}

// version is a Prometheus to test with.
type version struct {
	name, path string
	config     string // of the shipped ones
	native     bool   // it takes native histograms and classic ones at once
	brief      bool   // leave out what takes long
}

// startMonitoring starts both. Jobs are the targets of each scrape job.
func startMonitoring(t *testing.T, v version, receiver string, jobs map[string][]targets) *monitoring {
	t.Helper()
	m := &monitoring{dir: t.TempDir()}
	m.prepareAlertmanager(t, receiver)
	am := start(t, "alertmanager", nil, programtest.Find(t, "prometheus-alertmanager", "alertmanager"),
		"--config.file="+m.path("alertmanager.yml"), "--storage.path="+m.path("alertmanager"),
		"--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	m.alertmanager = served(t, am)
	jobs["alertmanager"] = []targets{{Targets: []string{m.alertmanager}}}
	m.preparePrometheus(t, v.config, jobs)
	m.startPrometheus(t, v)
	return m
}

// startPrometheus starts one with the configuration that was written, and waits until it answers.
func (m *monitoring) startPrometheus(t *testing.T, v version) {
	t.Helper()
	p := start(t, "prometheus", nil, v.path,
		"--config.file="+m.path("prometheus.yml"), "--storage.tsdb.path="+m.path("prometheus"),
		"--web.listen-address=127.0.0.1:0", "--query.lookback-delta="+lookback())
	m.prometheus = served(t, p)
	programtest.Eventually(t, patience, "Prometheus is ready", func() error {
		_, err := programtest.Get(t, "http://"+m.prometheus+"/-/ready")
		return err
	})
}

func (m *monitoring) path(name string) string { return filepath.Join(m.dir, name) }

// answer is what Prometheus' API answers.
type answer struct {
	Status string          `json:"status"`
	Error  string          `json:"error"`
	Data   json.RawMessage `json:"data"`
}

// get asks Prometheus and decodes the data.
func (m *monitoring) get(path string, query url.Values, data any) error {
	response, err := http.Get("http://" + m.prometheus + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if a.Status != "success" {
		return fmt.Errorf("%s: %s", path, a.Error)
	}
	return json.Unmarshal(a.Data, data)
}

// series is one of a query's results.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`  // of an instant query
	Values [][2]any          `json:"values"` // of a query over time
}

// number is the version that Prometheus says it is.
func (m *monitoring) number(t *testing.T) string {
	t.Helper()
	var build struct {
		Version string `json:"version"`
	}
	if err := m.get("/api/v1/status/buildinfo", nil, &build); err != nil {
		t.Fatal(err)
	}
	return build.Version
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

func (m *monitoring) writeYAML(t *testing.T, name string, v any) {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, name, text)
}

func (m *monitoring) write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}
