//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// The node as Prometheus knows it: by the shipped job, and by one that does not honour the exporter's labels.
const (
	honoured = "gpu-node-1:10068"
	renamed  = "gpu-node-2:10068"
)

// exporterPod is what a scrape in Kubernetes adds to each series: the exporter's own pod.
func exporterPod(instance string) map[string]string {
	return map[string]string{"instance": instance, "namespace": "monitoring", "pod": "accelerator-exporter-k5x2p", "container": "exporter", "endpoint": "http"}
}

// inPrometheus scrapes the node as in Kubernetes, with the shipped configuration and without its honor_labels.
func (n *node) inPrometheus(t *testing.T, v version) {
	m := &monitoring{dir: t.TempDir()}
	m.preparePrometheus(t, v.config, map[string][]targets{
		"accelerator_exporter": {{Targets: []string{n.exporter}, Labels: exporterPod(honoured)}}, "vllm": nil, "accelbench": nil, "alertmanager": nil,
	})
	m.addRenaming(t, targets{Targets: []string{n.exporter}, Labels: exporterPod(renamed)})
	m.startPrometheus(t, v)
	t.Run("labels", func(t *testing.T) { n.labels(t, m) })
	t.Run("queries of docs/pods.md", func(t *testing.T) { n.documented(t, m) })
	t.Run("rules", func(t *testing.T) { n.recorded(t, m) })
}

// addRenaming adds a job like the exporter's, without honor_labels, and the rules that are not loaded by default.
func (m *monitoring) addRenaming(t *testing.T, target targets) {
	t.Helper()
	var config struct {
		Rules   []string         `yaml:"rule_files"`
		Scrapes []map[string]any `yaml:"scrape_configs"`
		Rest    map[string]any   `yaml:",inline"`
	}
	programtest.ReadYAML(t, m.path("prometheus.yml"), &config)
	i := slices.IndexFunc(config.Scrapes, func(s map[string]any) bool { return s["job_name"] == "accelerator_exporter" })
	if i < 0 || config.Scrapes[i]["honor_labels"] != true {
		t.Fatalf("the shipped configuration does not honour the exporter's labels: %v", config.Scrapes)
	}
	job := maps.Clone(config.Scrapes[i])
	job["job_name"] = "renaming"
	job["file_sd_configs"] = []map[string]any{{"files": []string{"targets/renaming.yml"}}}
	delete(job, "honor_labels")
	config.Scrapes = append(config.Scrapes, job)
	config.Rules = append(config.Rules, "pods.yml")
	m.writeYAML(t, "prometheus.yml", config)
	m.writeYAML(t, "targets/renaming.yml", []targets{target})
	rules, err := os.ReadFile(filepath.Join(shipped, "compat/pods.yml"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "pods.yml", rules)
}

// answers waits until a query's series have these labels and values, told as "value of the labels in order".
func (m *monitoring) answers(t *testing.T, expr string, labels []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	programtest.Eventually(t, patience, expr, func() error {
		all, err := m.instant(expr)
		if err != nil {
			return err
		}
		got := []string{}
		for _, s := range all {
			var texts []string
			for _, l := range labels {
				texts = append(texts, s.Metric[l])
			}
			got = append(got, fmt.Sprintf("%v of %s", s.Value[1], strings.Join(texts, " ")))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// of is a selector of the node's series by one of the two jobs.
func of(metric, instance string) string { return fmt.Sprintf("%s{instance=%q}", metric, instance) }

// labels shows whose names are in the labels namespace, pod and container of each job's series.
func (n *node) labels(t *testing.T, m *monitoring) {
	names := []string{"namespace", "pod", "container", "exported_namespace", "exported_pod", "exported_container"}
	device, pid := append([]string{"device"}, names...), append([]string{"pid"}, names...)
	const own = "monitoring accelerator-exporter-k5x2p exporter"
	m.answers(t, of("accelerator_device_allocation_info", honoured), device,
		"1 of 0 team-a llm-0 vllm   ", "1 of 1 team-b notebook-0 jupyter   ", "1 of 1 team-b notebook-1 jupyter   ", "1 of 2 team-a idle-0 vllm   ")
	m.answers(t, of("accelerator_device_allocation_info", renamed), device,
		"1 of 0 "+own+" team-a llm-0 vllm", "1 of 1 "+own+" team-b notebook-0 jupyter", "1 of 1 "+own+" team-b notebook-1 jupyter", "1 of 2 "+own+" team-a idle-0 vllm")
	// A container without a pod must not get the exporter's.
	m.answers(t, of("accelerator_process_container_info", honoured), pid, "1 of 4242 team-a llm-0 vllm   ", "1 of 4343      ")
	m.answers(t, of("accelerator_process_container_info", renamed), pid, "1 of 4242 "+own+" team-a llm-0 vllm", "1 of 4343 "+own+"   ")
	for _, instance := range []string{honoured, renamed} {
		m.answers(t, of("accelerator_process_memory_used_bytes", instance), pid,
			"62948114432 of 4242 "+own+"   ", "1073741824 of 4343 "+own+"   ", "536870912 of 4444 "+own+"   ")
	}
}

// utilization is what Prometheus has of the cards.
func (m *monitoring) utilization(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	all, err := m.instant(of("accelerator_utilization_ratio", honoured))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		found[s.Metric["device"]] = fmt.Sprint(s.Value[1])
	}
	if found["0"] == found["1"] || found["1"] == found["2"] || len(found) != 8 {
		t.Fatalf("cards are not to be told apart by their utilization: %v", found)
	}
	return found
}

// documented asks what the document says to ask, of both jobs at once as its readers do.
func (n *node) documented(t *testing.T, m *monitoring) {
	queries := promql(t, "docs/pods.md")
	ask := func(before string, labels []string, want ...string) {
		t.Helper()
		expr, ok := queries[before]
		if !ok {
			t.Fatalf("docs/pods.md has no query after %q, but %q", before, slices.Collect(maps.Keys(queries)))
		}
		delete(queries, before)
		m.answers(t, expr, labels, want...)
	}
	card := []string{"instance", "device", "namespace", "pod"}
	util := m.utilization(t)
	const own = "monitoring accelerator-exporter-k5x2p"
	// Where the labels are not honoured, the exporter's own pod has all memory and all cards.
	ask("Memory of cards by pod:", []string{"namespace", "pod"}, "62948114432 of team-a llm-0", "64021856256 of "+own)
	ask("Under plain Docker or containerd there are no pods, and no names: cAdvisor has these, by the same id.", []string{"instance", "pid", "container_id"},
		"62948114432 of "+honoured+" 4242 "+containerID, "1073741824 of "+honoured+" 4343 "+containerID,
		"62948114432 of "+renamed+" 4242 "+containerID, "1073741824 of "+renamed+" 4343 "+containerID)
	ask("Utilization of each card with the pods that it was given to:", card,
		util["0"]+" of "+honoured+" 0 team-a llm-0", util["1"]+" of "+honoured+" 1 team-b notebook-0", util["1"]+" of "+honoured+" 1 team-b notebook-1", util["2"]+" of "+honoured+" 2 team-a idle-0",
		util["0"]+" of "+renamed+" 0 "+own, util["1"]+" of "+renamed+" 1 "+own, util["1"]+" of "+renamed+" 1 "+own, util["2"]+" of "+renamed+" 2 "+own)
	ask("Cards that were given away and hold nothing:", card,
		"1 of "+honoured+" 1 team-b notebook-0", "1 of "+honoured+" 1 team-b notebook-1", "1 of "+honoured+" 2 team-a idle-0",
		"1 of "+renamed+" 1 "+own, "1 of "+renamed+" 1 "+own, "1 of "+renamed+" 2 "+own)
	if len(queries) > 0 {
		t.Errorf("nobody has asked %q", queries)
	}
}

// recorded shows the rules that tell whose card it is: with the workload's names, and without honor_labels nobody's,
// where the exporter's own would stand.
func (n *node) recorded(t *testing.T, m *monitoring) {
	card := []string{"device", "namespace", "pod"}
	of4 := func(zero, one, two string) []string {
		return []string{zero + " of 0 team-a llm-0", one + " of 1 team-b notebook-0", one + " of 1 team-b notebook-1", two + " of 2 team-a idle-0"}
	}
	m.answers(t, of("card_pod:accelerator_workload:info", honoured), card, of4("1", "1", "1")...)
	m.answers(t, of("card_pod:accelerator_workload:info", renamed), card, []string{}...)
	util := m.utilization(t)
	m.answers(t, of("card_pod:accelerator_utilization_ratio:value", honoured), card, of4(util["0"], util["1"], util["2"])...)
	total := fmt.Sprint(65536 << 20)
	m.answers(t, of("card_pod:accelerator_memory_total_bytes:sum", honoured), card, of4(total, total, total)...)
	m.answers(t, of("card_pod:accelerator_healthy:value", honoured), card, of4("1", "1", "1")...)
	for _, metric := range []string{"accelerator_memory_used_bytes:sum", "accelerator_power_watts:value", "accelerator_temperature_celsius:value"} {
		m.answers(t, "count("+of("card_pod:"+metric, honoured)+")", nil, "4 of ")
	}
}

// promql are the queries of a document, by the last line of text before each.
func promql(t *testing.T, document string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)([^\n]+)\n\n```promql\n(.*?)```").FindAllStringSubmatch(programtest.Read(t, filepath.Join(programtest.Root(t), document)), -1) {
		found[m[1]] = m[2]
	}
	return found
}
