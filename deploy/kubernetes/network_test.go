package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
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

// TestPolicies: only the monitoring's namespaces come in, and only to the metrics.
func TestPolicies(t *testing.T) {
	onlyMetrics := func(policy *networkingv1.NetworkPolicy) {
		t.Helper()
		in := policy.Spec.Ingress
		if len(in) != 1 || len(in[0].From) != 1 || in[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "monitoring" ||
			len(in[0].Ports) != 1 || in[0].Ports[0].Port.StrVal != "metrics" {
			t.Errorf("%s: ingress %+v", policy.Name, in)
		}
	}
	policy := only[*networkingv1.NetworkPolicy](t, render(t, policies))
	onlyMetrics(policy)
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
	onlyMetrics(policy)
	// A load test goes where its load goes, and shows its metrics as the others do.
	policy = only[*networkingv1.NetworkPolicy](t, render(t, benchmark+"networkPolicy: {enabled: true}"))
	onlyMetrics(policy)
	if diff := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes); diff != "" {
		t.Errorf("load test: %s", diff)
	}
	// vLLM is for anybody, unless it is said for whom.
	policy = only[*networkingv1.NetworkPolicy](t, render(t, sidecar+"networkPolicy: {enabled: true}"))
	if in := policy.Spec.Ingress; len(in) != 2 || len(in[1].From) != 0 || len(in[1].Ports) != 1 || in[1].Ports[0].Port.StrVal != "http" {
		t.Errorf("vLLM: ingress %+v", in)
	}
}
