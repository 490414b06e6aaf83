package kubernetes

import (
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// holds says whether labels have all of a selector.
func holds(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

func hasPort(p *pod, name string) bool {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return true
			}
		}
	}
	return false
}

// TestSelectors: everything that selects pods finds the ones it is for, by ports
// that they have.
func TestSelectors(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			r := render(t, f.values)
			list := pods(r)
			for _, p := range list {
				if p.selector != nil && !holds(p.Labels, p.selector) {
					t.Errorf("%s selects %v, its pods are %v", p.owner, p.selector, p.Labels)
				}
			}
			for _, s := range all[*corev1.Service](r) {
				var ports []string
				for _, port := range s.Spec.Ports {
					ports = append(ports, port.TargetPort.StrVal)
				}
				checkSelected(t, list, "Service "+s.Name, s.Spec.Selector, ports)
			}
			for _, m := range all[*monitoringv1.PodMonitor](r) {
				if len(m.Spec.NamespaceSelector.MatchNames) > 0 {
					continue // of other charts' pods
				}
				var ports []string
				for _, e := range m.Spec.PodMetricsEndpoints {
					ports = append(ports, *e.Port)
				}
				checkSelected(t, list, "PodMonitor "+m.Name, m.Spec.Selector.MatchLabels, ports)
			}
			for _, m := range all[*monitoringv1.ServiceMonitor](r) {
				checkServices(t, r, m)
			}
			for _, p := range all[*networkingv1.NetworkPolicy](r) {
				checkSelected(t, list, "NetworkPolicy "+p.Name, p.Spec.PodSelector.MatchLabels, []string{"metrics"})
			}
		})
	}
}

func checkSelected(t *testing.T, list []pod, what string, selector map[string]string, ports []string) {
	t.Helper()
	found := 0
	for i, p := range list {
		if !holds(p.Labels, selector) {
			continue
		}
		found++
		for _, port := range ports {
			if !hasPort(&list[i], port) {
				t.Errorf("%s takes port %s, which %s has not", what, port, p.owner)
			}
		}
	}
	if found == 0 {
		t.Errorf("%s selects nothing by %v", what, selector)
	}
}

// checkServices: a ServiceMonitor selects one Service, and each of its endpoints a
// port of it.
func checkServices(t *testing.T, r rendered, m *monitoringv1.ServiceMonitor) {
	t.Helper()
	found := 0
	for _, s := range all[*corev1.Service](r) {
		if !holds(s.Labels, m.Spec.Selector.MatchLabels) {
			continue
		}
		found++
		ports := map[string]bool{}
		for _, p := range s.Spec.Ports {
			ports[p.Name] = true
		}
		for _, e := range m.Spec.Endpoints {
			if !ports[e.Port] {
				t.Errorf("%s has no port %s", s.Name, e.Port)
			}
		}
	}
	if found != 1 {
		t.Errorf("%s selects %d services", m.Name, found)
	}
}

// TestTargetLabels: what Prometheus makes of the pods' labels, with Prometheus'
// own code. The rules and dashboards go by job and join by instance.
func TestTargetLabels(t *testing.T) {
	everything := both + `
prober: {enabled: true}
probes: [{url: "http://a:1"}]
vllm: {enabled: true, image: {repository: r, tag: t}}
monitor: {enabled: true, sidecars: {enabled: true}, KIND}
benchmark: {enabled: true, run: a, url: "http://a:1", results: {existingClaim: c}}
`
	for _, kind := range []string{"kind: ServiceMonitor", "kind: PodMonitor"} {
		got := map[string]string{}
		r := render(t, strings.ReplaceAll(everything, "KIND", kind))
		for _, m := range all[*monitoringv1.ServiceMonitor](r) {
			for _, e := range m.Spec.Endpoints {
				targets(t, got, m.Name+" "+e.Port, e.RelabelConfigs)
			}
		}
		for _, m := range all[*monitoringv1.PodMonitor](r) {
			for _, e := range m.Spec.PodMetricsEndpoints {
				targets(t, got, m.Name+" "+*e.Port, e.RelabelConfigs)
			}
		}
		const p = "test-accelerator-exporter"
		for key, want := range map[string]string{
			p + " metrics metax":               "accelerator_exporter node-1",
			p + " metrics ascend":              "accelerator_exporter node-1",
			p + " metrics prober":              "accelerator_exporter pod-1",
			p + "-vllm metrics vllm":           "accelerator_exporter node-1",
			p + "-vllm http vllm":              "vllm node-1",
			p + "-sidecars metrics other":      "accelerator_exporter node-1",
			p + "-benchmark metrics benchmark": "accelbench pod-1",
		} {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", kind, key, got[key], want)
			}
		}
	}
}

// targets adds the job and the instance that pods of each component get.
func targets(t *testing.T, into map[string]string, endpoint string, configs []monitoringv1.RelabelConfig) {
	t.Helper()
	var rules []*relabel.Config
	for _, c := range configs {
		rule := relabel.DefaultRelabelConfig
		rule.NameValidationScheme = model.UTF8Validation
		rule.TargetLabel = c.TargetLabel
		for _, name := range c.SourceLabels {
			rule.SourceLabels = append(rule.SourceLabels, model.LabelName(name))
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
	for _, component := range []string{"metax", "ascend", "prober", "vllm", "benchmark", "other"} {
		b := labels.NewBuilder(labels.FromMap(map[string]string{
			"__address__": "10.0.0.1:10068", "instance": "10.0.0.1:10068", "job": "x",
			"__meta_kubernetes_pod_node_name": "node-1", "__meta_kubernetes_pod_name": "pod-1",
			"__meta_kubernetes_pod_label_app_kubernetes_io_component": component,
		}))
		if relabel.ProcessBuilder(b, rules...) {
			into[endpoint+" "+component] = b.Get("job") + " " + b.Get("instance")
		}
	}
}

// TestPolicies: only the monitoring's namespaces come in, and only to the metrics.
func TestPolicies(t *testing.T) {
	policy := only[*networkingv1.NetworkPolicy](t, render(t, policies))
	in := policy.Spec.Ingress
	if len(in) != 1 || len(in[0].From) != 1 || in[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "monitoring" ||
		len(in[0].Ports) != 1 || in[0].Ports[0].Port.StrVal != "metrics" {
		t.Errorf("ingress %+v", in)
	}
	if out := policy.Spec.Egress; len(out) != 2 || len(out[0].Ports) != 2 || out[0].Ports[0].Port.IntVal != 53 || len(out[0].To) != 1 {
		t.Errorf("egress %+v", out)
	}
	if len(policy.Spec.PolicyTypes) != 2 {
		t.Errorf("types %v", policy.Spec.PolicyTypes)
	}
	// Cards alone go nowhere.
	policy = only[*networkingv1.NetworkPolicy](t, render(t, metax+"networkPolicy: {enabled: true}"))
	if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Egress) != 0 {
		t.Errorf("cards: types %v, egress %+v", policy.Spec.PolicyTypes, policy.Spec.Egress)
	}
}
