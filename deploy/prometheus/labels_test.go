package prometheus

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// In a pod the exporter is scraped as a target that has a namespace, pod and container of its own. A workload's labels
// stay, and what is not known of it stays empty; without honor_labels the exporter's pod would be named instead, which
// the recording rule does not believe. Process 4 runs in the pod that the exporter itself is in.
func TestWorkloadsKeepTheirLabels(t *testing.T) {
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, `accelerator_exporter_build_info{version="1"} 1
accelerator_process_container_info{container="",container_id="a",namespace="models",pid="1",pod="qwen-0",pod_uid="u",vendor="metax"} 1
accelerator_process_container_info{container="",container_id="b",namespace="",pid="2",pod="",pod_uid="",vendor="metax"} 1
accelerator_process_container_info{container="",container_id="c",namespace="",pid="3",pod="",pod_uid="v",vendor="metax"} 1
accelerator_process_container_info{container="",container_id="d",namespace="monitoring",pid="4",pod="exporter-x",pod_uid="w",vendor="metax"} 1
accelerator_process_memory_used_bytes{device="0",pid="1",process="python3",vendor="metax"} 1
accelerator_process_memory_used_bytes{device="1",pid="2",process="python3",vendor="metax"} 1
accelerator_process_memory_used_bytes{device="3",pid="3",process="python3",vendor="metax"} 1
accelerator_process_memory_used_bytes{device="4",pid="4",process="python3",vendor="metax"} 1
accelerator_device_allocation_info{container="vllm",device="2",namespace="tests",pod="idle-0",resource="metax-tech.com/gpu",vendor="metax"} 1
`)
	}))
	t.Cleanup(exporter.Close) // after the parts, which run together
	const inPod, inNamespace = "namespace: monitoring, pod: exporter-x, container: exporter", "namespace: monitoring"
	var (
		kept  = []string{"1 models/qwen-0/", "2 //", "3 //", "4 monitoring/exporter-x/"}
		told  = []string{"0 models/qwen-0", "2 tests/idle-0", "4 monitoring/exporter-x"}
		wrong = []string{"1 monitoring/exporter-x/exporter", "2 monitoring/exporter-x/exporter", "3 monitoring/exporter-x/exporter", "4 monitoring/exporter-x/exporter"}
	)
	for _, c := range []struct {
		name, honor, target string
		labels, pods        []string
	}{
		{"as shipped", "true", inPod, kept, told},
		{"as the chart", "true", inNamespace, kept, told},
		{"without honor_labels", "false", inPod, wrong, nil},
		{"without honor_labels, of a target that has only a namespace", "false", inNamespace, []string{"1 monitoring/qwen-0/", "2 monitoring//", "3 monitoring//", "4 monitoring/exporter-x/"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := scraping(t, strings.TrimPrefix(exporter.URL, "http://"), c.target, c.honor)
			programtest.Eventually(t, time.Minute, "the labels are as they should be", func() error {
				var labels, pods []string
				for _, m := range query(t, address, "accelerator_process_container_info") {
					labels = append(labels, fmt.Sprintf("%s %s/%s/%s", m["pid"], m["namespace"], m["pod"], m["container"]))
				}
				for _, m := range query(t, address, "card_pod:accelerator_workload:info") {
					pods = append(pods, fmt.Sprintf("%s %s/%s", m["device"], m["namespace"], m["pod"]))
				}
				slices.Sort(labels)
				slices.Sort(pods)
				evaluated := query(t, address, evaluatedSince(`accelerator_process_container_info`))
				if !slices.Equal(labels, c.labels) || !slices.Equal(pods, c.pods) || len(evaluated) == 0 {
					return fmt.Errorf("processes in %q, want %q; pods on cards %q, want %q", labels, c.labels, pods, c.pods)
				}
				return nil
			})
		})
	}
}

// scraping starts a Prometheus with the shipped configuration, but for its pace, and returns its address. It scrapes itself
// too, and the target with the labels given.
func scraping(t *testing.T, target, labels, honor string) string {
	t.Helper()
	dir := t.TempDir()
	config := regexp.MustCompile(`(?m)^( +(?:scrape_interval|scrape_timeout|evaluation_interval):) \d+s`).ReplaceAllString(programtest.Read(t, "prometheus-2.yml"), "$1 1s")
	config = regexp.MustCompile(`honor_labels: true`).ReplaceAllString(config, "honor_labels: "+honor)
	address := programtest.FreeAddress(t)
	config += fmt.Sprintf("\n  - job_name: prometheus\n    static_configs: [{targets: [%q]}]\n", address)
	programtest.Write(t, filepath.Join(dir, "prometheus.yml"), config)
	programtest.Write(t, filepath.Join(dir, "rules/recording.yml"), programtest.Read(t, "rules/recording.yml"))
	programtest.Write(t, filepath.Join(dir, "targets/accelerator_exporter.yml"), fmt.Sprintf("- targets: [%q]\n  labels: {%s}\n", target, labels))
	programtest.Start(t, "prometheus", exec.Command(programtest.Find(t, "bin/tools/prometheus", "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address))
	return address
}

// evaluatedSince has a series once the rule was evaluated a scrape after the first that brought the metric: before that, a
// rule that records nothing says nothing.
func evaluatedSince(metric string) string {
	return fmt.Sprintf(`prometheus_rule_group_last_evaluation_timestamp_seconds{rule_group=~".*accelerator-pods"} > scalar(min(min_over_time(timestamp(%s)[5m:1s]))) + 1`, metric)
}

// query returns the labels of each series, none while Prometheus does not answer.
func query(t *testing.T, address, expr string) []map[string]string {
	t.Helper()
	text, err := programtest.Get(t, "http://"+address+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return nil
	}
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, r := range answer.Data.Result {
		all = append(all, r.Metric)
	}
	return all
}
