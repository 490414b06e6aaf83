//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// shipped is where the configuration that users get stands.
const shipped = "../prometheus"

// The pace of Prometheus: not as fast as the rest, since the machine that runs
// the tests may be slow.
const (
	scrapeInterval     = "1s"
	evaluationInterval = "500ms"
)

// prepareAlertmanager copies the shipped configuration with less waiting in it,
// and fills in what it leaves to the user: the address of a receiver.
func (m *monitoring) prepareAlertmanager(t *testing.T, receiver string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shipped, "alertmanager.yml"))
	if err != nil {
		t.Fatal(err)
	}
	offered := regexp.MustCompile(`(?m)^( +)# (webhook_configs:|  - url:|    send_resolved:)`)
	filled := offered.ReplaceAllString(string(text), "$1$2")
	filled = strings.ReplaceAll(filled, "http://127.0.0.1:9099/", receiver+"/")
	if filled == string(text) || !strings.Contains(filled, "url: "+receiver+"/page") {
		t.Fatal("the shipped alertmanager.yml no longer offers the webhooks that this test fills in")
	}
	node := parseYAML(t, []byte(filled))
	if err := speed().config(node, "resolve_timeout", "group_wait", "group_interval", "repeat_interval"); err != nil {
		t.Fatal(err)
	}
	m.writeYAML(t, "alertmanager.yml", node)
}

// targets is one entry of a file that Prometheus takes targets from.
type targets struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels,omitempty"`
}

// preparePrometheus copies the configuration shipped for a version, which finds
// rules and targets beside itself.
func (m *monitoring) preparePrometheus(t *testing.T, config string, jobs map[string][]targets) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shipped, config))
	if err != nil {
		t.Fatal(err)
	}
	node := parseYAML(t, text)
	for key, text := range map[string]string{"scrape_interval": scrapeInterval, "scrape_timeout": scrapeInterval, "evaluation_interval": evaluationInterval} {
		for _, value := range values(node, key) {
			value.SetString(text)
		}
	}
	for _, value := range values(node, "files") {
		file := value.Content[0].Value
		job := strings.TrimSuffix(strings.TrimPrefix(file, "targets/"), "*.yml")
		if _, ok := jobs[job]; !ok {
			t.Errorf("the shipped configuration takes targets from %s, which this test does not fill", file)
		}
		m.writeYAML(t, strings.ReplaceAll(file, "*", "-test"), jobs[job])
		delete(jobs, job)
	}
	for job := range jobs {
		t.Errorf("the shipped configuration has no targets of %s", job)
	}
	m.writeYAML(t, "prometheus.yml", node)
	m.writeRules(t)
}

func (m *monitoring) writeRules(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shipped, "rules/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = speed().rules(text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		m.write(t, filepath.Join("rules", filepath.Base(file)), text)
	}
}

// values are what stands under a key, wherever in the document.
func values(node *yaml.Node, key string) []*yaml.Node {
	var found []*yaml.Node
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				found = append(found, node.Content[i+1])
			}
		}
	}
	for _, child := range node.Content {
		found = append(found, values(child, key)...)
	}
	return found
}

func parseYAML(t *testing.T, text []byte) *yaml.Node {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		t.Fatal(err)
	}
	return &node
}

// faster is how many times time passes faster than in production: an hour is a
// minute.
const faster = 60

func speed() speedup { return speedup{factor: faster, isSpan: isSpan} }

// isSpan knows the thresholds that are held against the clock.
func isSpan(record string) bool { return record == "accelerator:threshold_probe_no_success_seconds" }

// lookback is how old a sample may be, made as short as the rest.
func lookback() string { return speed().span(5 * time.Minute).String() }
