package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	appsv1 "k8s.io/api/apps/v1"
)

// place is where Prometheus finds a pod.
type place struct{ component, pod, node, container, port string }

// discovered are the labels that Prometheus and its operator give a target before
// the relabelings of the monitor: what kubernetes_sd_configs tells, and on top of
// it namespace, pod, container, job, endpoint, and of a Service its name.
func (p place) discovered(kind, monitor string) map[string]string {
	all := map[string]string{
		"__address__":                                             "10.0.0." + fmt.Sprint(len(p.pod)) + ":10068",
		"__meta_kubernetes_pod_node_name":                         p.node,
		"__meta_kubernetes_pod_name":                              p.pod,
		"__meta_kubernetes_namespace":                             namespace,
		"__meta_kubernetes_pod_container_name":                    p.container,
		"__meta_kubernetes_pod_label_app_kubernetes_io_component": p.component,

		"namespace": namespace, "pod": p.pod, "container": p.container, "endpoint": p.port,
		"job": namespace + "/" + monitor,
	}
	if kind == "ServiceMonitor" {
		all["__meta_kubernetes_service_name"] = monitor
		all["service"], all["job"] = monitor, monitor
	}
	return all
}

// endpoints are the relabelings of each endpoint, by the monitor's name and the port's.
func endpoints(r rendered) map[string][]monitoringv1.RelabelConfig {
	found := map[string][]monitoringv1.RelabelConfig{}
	for _, m := range all[*monitoringv1.ServiceMonitor](r) {
		for _, e := range m.Spec.Endpoints {
			found["ServiceMonitor "+m.Name+" "+e.Port] = e.RelabelConfigs
		}
	}
	for _, m := range all[*monitoringv1.PodMonitor](r) {
		for _, e := range m.Spec.PodMetricsEndpoints {
			found["PodMonitor "+m.Name+" "+*e.Port] = e.RelabelConfigs
		}
	}
	return found
}

// target is the label set that Prometheus gives a pod's series, by Prometheus' own
// code. Without an instance it takes the address.
func target(t *testing.T, r rendered, monitor string, p place) map[string]string {
	t.Helper()
	for name, configs := range endpoints(r) {
		kind, rest, _ := strings.Cut(name, " ")
		if rest != monitor+" "+p.port {
			continue
		}
		b := labels.NewBuilder(labels.FromMap(p.discovered(kind, monitor)))
		if !relabel.ProcessBuilder(b, relabelings(t, configs)...) {
			t.Fatalf("%s drops %v", name, p)
		}
		got := b.Labels().Map()
		if got["instance"] == "" {
			got["instance"] = got["__address__"]
		}
		maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, "__") })
		return got
	}
	t.Fatalf("no monitor %s with port %s", monitor, p.port)
	return nil
}

func relabelings(t *testing.T, configs []monitoringv1.RelabelConfig) []*relabel.Config {
	t.Helper()
	var rules []*relabel.Config
	for _, c := range configs {
		rule := relabel.DefaultRelabelConfig
		rule.NameValidationScheme = model.UTF8Validation
		rule.TargetLabel = c.TargetLabel
		if c.Action != "" {
			rule.Action = relabel.Action(strings.ToLower(c.Action))
		}
		for _, name := range c.SourceLabels {
			rule.SourceLabels = append(rule.SourceLabels, model.LabelName(name))
		}
		if c.Separator != nil {
			rule.Separator = *c.Separator
		}
		if c.Regex != "" {
			rule.Regex = relabel.MustNewRegexp(c.Regex)
		}
		if c.Replacement != nil {
			rule.Replacement = *c.Replacement
		}
		if err := rule.Validate(model.UTF8Validation); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, &rule)
	}
	return rules
}

// scraped is everything that a cluster may have at once.
const scraped = both + `
prober: {enabled: true}
probes: [{url: "http://a:1"}]
vllm: {enabled: true, image: {repository: r, tag: t}, replicas: 2}
sidecar: {probes: [{name: qwen, url: "http://127.0.0.1:8000"}, {name: other, url: "http://127.0.0.1:8000"}]}
monitor: {enabled: true, sidecars: {enabled: true}, kind: KIND}
benchmark: {enabled: true, run: a, url: "http://a:1", results: {existingClaim: c}}
`

func scrapedAs(kind string) string { return strings.ReplaceAll(scraped, "KIND", kind) }

const full = "test-accelerator-exporter"

// TestTargetLabels: all labels of each target. The rules and dashboards select by
// job, join by instance, and take other labels as they come.
func TestTargetLabels(t *testing.T) {
	for _, kind := range []string{"ServiceMonitor", "PodMonitor"} {
		r := render(t, scrapedAs(kind))
		stable := func(instance string) map[string]string {
			return map[string]string{"job": "accelerator_exporter", "instance": instance, "namespace": namespace}
		}
		ofPod := func(job, pod, container, port, service string) map[string]string {
			labels := map[string]string{"job": job, "instance": namespace + "/" + pod, "namespace": namespace, "pod": pod, "container": container, "endpoint": port}
			if kind == "ServiceMonitor" && service != "" {
				labels["service"] = service
			}
			return labels
		}
		served := ofPod("vllm", "vllm-x", "vllm", "http", full+"-vllm")
		served["target"] = "qwen"
		seen := map[string]string{}
		for _, tc := range []struct {
			monitor string
			place   place
			want    map[string]string
		}{
			{full, place{"metax", "metax-x", "node-1", "accelerator-exporter", "metrics"}, stable("node-1")},
			{full, place{"ascend", "ascend-x", "node-1", "accelerator-exporter", "metrics"}, stable("node-1-ascend")},
			{full, place{"prober", "prober-x", "node-1", "accelerator-exporter", "metrics"}, stable(namespace + "/" + full + "-prober")},
			{full + "-vllm", place{"vllm", "vllm-x", "node-1", "accelerator-exporter", "metrics"}, ofPod("accelerator_exporter", "vllm-x", "accelerator-exporter", "metrics", full+"-vllm")},
			{full + "-vllm", place{"vllm", "vllm-y", "node-1", "accelerator-exporter", "metrics"}, ofPod("accelerator_exporter", "vllm-y", "accelerator-exporter", "metrics", full+"-vllm")},
			{full + "-vllm", place{"vllm", "vllm-x", "node-1", "vllm", "http"}, served},
			{full + "-sidecars", place{"", "mine-x", "node-1", "accelerator-exporter", "metrics"}, ofPod("accelerator_exporter", "mine-x", "accelerator-exporter", "metrics", "")},
			{full + "-benchmark", place{"benchmark", "a-0-x", "node-1", "accelbench", "metrics"}, ofPod("accelbench", "a-0-x", "accelbench", "metrics", "")},
		} {
			got := target(t, r, tc.monitor, tc.place)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s of %v in %s (-want +got):\n%s", kind, tc.place, tc.monitor, diff)
			}
			// One node, and each of its exporters another instance: a join by instance
			// finds one.
			key := got["job"] + " " + got["instance"]
			if other, twice := seen[key]; twice {
				t.Errorf("%s: %s and %s are both %s", kind, other, tc.place.pod, key)
			}
			seen[key] = tc.place.pod
		}
	}
}

// TestHonouredLabels: Prometheus keeps the labels of this project's programs, where namespace, pod and container
// are a workload's, and puts its own before those of vLLM, which must not pass for another target.
func TestHonouredLabels(t *testing.T) {
	for _, kind := range []string{"ServiceMonitor", "PodMonitor"} {
		r := render(t, scrapedAs(kind))
		got := map[string]bool{}
		for _, m := range all[*monitoringv1.ServiceMonitor](r) {
			for _, e := range m.Spec.Endpoints {
				got[m.Name+" "+e.Port] = e.HonorLabels
			}
		}
		for _, m := range all[*monitoringv1.PodMonitor](r) {
			for _, e := range m.Spec.PodMetricsEndpoints {
				got[m.Name+" "+*e.Port] = e.HonorLabels
			}
		}
		want := map[string]bool{
			full + " metrics": true, full + "-vllm metrics": true, full + "-vllm http": false, full + "-sidecars metrics": true, full + "-benchmark metrics": true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestRenewedPods: the series of cards and of the prober go on when their pod is
// another, to the last label.
func TestRenewedPods(t *testing.T) {
	for _, kind := range []string{"ServiceMonitor", "PodMonitor"} {
		r := render(t, scrapedAs(kind))
		for _, component := range []string{"metax", "ascend", "prober"} {
			before := target(t, r, full, place{component, "pod-old", "node-1", "accelerator-exporter", "metrics"})
			after := target(t, r, full, place{component, "pod-newer", "node-1", "accelerator-exporter", "metrics"})
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s, %s (-old pod +new pod):\n%s", kind, component, diff)
			}
			elsewhere := target(t, r, full, place{component, "pod-old", "node-2", "accelerator-exporter", "metrics"})
			if same := cmp.Equal(before, elsewhere); same != (component == "prober") {
				t.Errorf("%s, %s: on another node %v, before %v", kind, component, elsewhere, before)
			}
		}
	}
}

// TestServedTarget: vLLM's series have the target that the sidecar's own first
// probe has, also where that takes it from its URL.
func TestServedTarget(t *testing.T) {
	for _, tc := range []struct{ probe, want string }{
		{`{name: qwen, url: "http://127.0.0.1:8000"}`, "qwen"},
		{`{name: "costs $1 of ${2}", url: "http://127.0.0.1:8000"}`, "costs $1 of ${2}"},
		{`{name: 'a "quoted": name', url: "http://127.0.0.1:8000"}`, `a "quoted": name`},
		{`{url: "http://127.0.0.1:9/team-a"}`, "127.0.0.1:9"},
		{`{url: "http://127.0.0.1/"}`, "127.0.0.1:80"},
		{`{url: "https://[::1]/v1"}`, "[::1]:443"},
		{`{url: "https://[::1]:9"}`, "[::1]:9"},
	} {
		r := render(t, sidecar+"sidecar: {probes: ["+tc.probe+`, {name: second, url: "http://127.0.0.1:9"}]}`+"\nmonitor: {enabled: true}\nexporter: {logFormat: json}\n")
		got := target(t, r, full+"-vllm", place{"vllm", "vllm-x", "node-1", "vllm", "http"})["target"]
		if got != tc.want {
			t.Errorf("%s: target %q, want %q", tc.probe, got, tc.want)
		}
		if own := ownTarget(t, r); own != got {
			t.Errorf("%s: the exporter itself says %q, not %q", tc.probe, own, got)
		}
	}
}

// ownTarget is the first target that the real exporter names with the sidecar's flags.
func ownTarget(t *testing.T, r rendered) string {
	t.Helper()
	spec := only[*appsv1.Deployment](t, r).Spec.Template.Spec
	c := spec.Containers[1]
	args := strings.NewReplacer("/etc/accelerator_exporter", mount(t, r, &spec, &c), "--web.listen-address=:10068", "--web.listen-address=127.0.0.1:0").
		Replace(strings.Join(c.Args, "\n"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program(t, c.Command[0]), strings.Split(args, "\n")...)
	log, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = run.Wait()
	}()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Target string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Msg == "probing" {
			return line.Target
		}
	}
	t.Fatal("the exporter names no target")
	return ""
}
