package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
)

// image is what every form that runs something needs.
const image = "image: {repository: registry.example.com/accelerator-exporter}\n"

// The forms that the tests go through, as their users write them.
const (
	metax  = image + "metax: {enabled: true, privileged: true, deviceGroups: [39, 105], expectedDevices: 8}\n"
	ascend = image + `
ascend:
  enabled: true
  runtimeClassName: ascend
  env: [{name: ASCEND_VISIBLE_DEVICES, value: 0-7}]
  deviceGroups: [1000]
  hostPID: true
`
	both        = metax + "ascend: {enabled: true, privileged: true, runAsUser: 0}\n"
	attribution = image + `
metax: {enabled: true, deviceGroups: [39]}
ascend: {enabled: true, runtimeClassName: ascend, deviceGroups: [1000]}
attribution: {enabled: true, trustDeviceIDs: [ascend]}
monitor: {enabled: true}
`
	hostNode = image + `
metax:
  enabled: true
  hostNetwork: true
  podAnnotations: {a: b}
  probes: [{url: "http://127.0.0.1:8000", devices: {metax: ["0", "1"]}}]
`
	prober = image + `
prober: {enabled: true}
secrets: [vllm]
probes:
  - name: chat
    url: https://vllm.models:8000
    interval: 1m
    max_tokens: 131072
    prompt: "{{ not a template }} \"quoted\": 'yes'"
    slo: {time_to_first_token: 2s, time_per_output_token: 100ms}
    http:
      authorization: {credentials_file: /etc/accelerator_exporter/secrets/vllm/api-key}
      tls_config: {ca_file: /etc/accelerator_exporter/secrets/vllm/ca.pem}
  - url: http://other.models:8000/team-a
    api: completions
    random_input_tokens: 2000
`
	sidecar = image + `
vllm:
  enabled: true
  image: {repository: quay.io/ascend/vllm-ascend, tag: v0.11.0}
  command: [vllm, serve]
  args: [/models/qwen2.5, --served-model-name=qwen2.5, --tensor-parallel-size=4]
  resources: {limits: {huawei.com/Ascend910: 4}}
  shmSize: 16Gi
  volumes: [{name: models, persistentVolumeClaim: {claimName: models}}]
  volumeMounts: [{name: models, mountPath: /models, readOnly: true}]
`
	guarded   = prober + "webConfig: {existingSecret: exporter-web}\n"
	benchmark = image + `
benchmark:
  enabled: true
  run: evening-1
  machines: 3
  url: http://vllm.models:8000
  args: ["--concurrency=8,16", --duration=5m, --dataset=openqa, --dataset-path=/data/open_qa.jsonl]
  startAt: "2026-03-04T05:06:07Z"
  results: {existingClaim: results}
  data: {existingClaim: datasets}
  apiKeySecret: {name: vllm, key: api-key}
`
	monitors = both + `
monitor:
  enabled: true
  labels: {release: kube-prometheus-stack}
  nativeHistograms: true
`
	rules      = "rules: {enabled: true, labels: {release: kube-prometheus-stack}}\n"
	dashboards = "dashboards: {enabled: true}\n"
	policies   = prober + `
networkPolicy:
  enabled: true
  egress:
    - to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: models}}}]
      ports: [{port: 8000}]
`
)

// form is one way to install the chart.
type form struct {
	name, values string
	objects      string // kind/name of each, in the order of their files
}

func forms() []form {
	const account = " ServiceAccount/test-accelerator-exporter"
	const p = "test-accelerator-exporter"
	return []form{
		{"nothing", "", "ServiceAccount/" + p},
		{"metax", metax, "DaemonSet/" + p + "-metax Service/" + p + account},
		{"ascend", ascend, "DaemonSet/" + p + "-ascend Service/" + p + account},
		{"both", both, "DaemonSet/" + p + "-metax DaemonSet/" + p + "-ascend Service/" + p + account},
		{"attribution", attribution, "DaemonSet/" + p + "-metax DaemonSet/" + p + "-ascend ServiceMonitor/" + p + " Service/" + p + account},
		{"cards with probes", hostNode, "ConfigMap/" + p + "-metax DaemonSet/" + p + "-metax Service/" + p + account},
		{"prober", prober, "ConfigMap/" + p + "-prober Deployment/" + p + "-prober Service/" + p + account},
		{"sidecar", sidecar, "ServiceAccount/" + p + " ConfigMap/" + p + "-sidecar Deployment/" + p + "-vllm Service/" + p + "-vllm"},
		{"guarded", guarded, "ConfigMap/" + p + "-prober Deployment/" + p + "-prober Service/" + p + account},
		{"benchmark", benchmark, "Job/" + p + "-evening-1 Job/" + p + "-evening-1-report" + account},
		{"monitors", monitors, "DaemonSet/" + p + "-metax DaemonSet/" + p + "-ascend ServiceMonitor/" + p + " Service/" + p + account},
		{
			"pod monitors", strings.ReplaceAll(monitors, "enabled: true\n  labels", "enabled: true\n  kind: PodMonitor\n  labels"),
			"DaemonSet/" + p + "-metax DaemonSet/" + p + "-ascend PodMonitor/" + p + " Service/" + p + account,
		},
		{"all monitors", sidecar + strings.TrimPrefix(benchmark, image) + `
monitor: {enabled: true, sidecars: {enabled: true, namespaces: [models]}, metricRelabelings: [{action: drop, regex: a, sourceLabels: [pid]}]}
`, "Job/" + p + "-evening-1 Job/" + p + "-evening-1-report ServiceMonitor/" + p + "-vllm PodMonitor/" + p + "-sidecars PodMonitor/" + p +
			"-benchmark ServiceAccount/" + p + " ConfigMap/" + p + "-sidecar Deployment/" + p + "-vllm Service/" + p + "-vllm"},
		{"rules", rules, "PrometheusRule/" + p + account},
		{"dashboards", dashboards, dashboardObjects() + account},
		{"policies", policies, "NetworkPolicy/" + p + "-prober ConfigMap/" + p + "-prober Deployment/" + p + "-prober Service/" + p + account},
		{"policies of cards and vLLM", both + strings.TrimPrefix(sidecar, image) + `
networkPolicy: {enabled: true, monitoringNamespaces: [monitoring, agents], vllmFrom: [{namespaceSelector: {}}],
  egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}
sidecar: {probes: [{url: "http://127.0.0.1:8000"}]}
`, "DaemonSet/" + p + "-metax DaemonSet/" + p + "-ascend NetworkPolicy/" + p + "-metax NetworkPolicy/" + p + "-ascend NetworkPolicy/" + p +
			"-vllm Service/" + p + account + " ConfigMap/" + p + "-sidecar Deployment/" + p + "-vllm Service/" + p + "-vllm"},
		{"names", metax + "fullnameOverride: cards\nserviceAccount: {create: false}\ncommonLabels: {team: ml}\n", "DaemonSet/cards-metax Service/cards"},
	}
}

func dashboardObjects() string {
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "grafana", "*.json"))
	if err != nil {
		panic(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, "ConfigMap/test-accelerator-exporter-"+strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return strings.Join(list, " ")
}

// TestForms: what each form consists of, each object with the namespace and the
// labels that find it again.
func TestForms(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			r := render(t, f.values)
			var got []string
			for _, o := range r.objects {
				m, err := meta.Accessor(o)
				if err != nil {
					t.Fatal(err)
				}
				name := o.GetObjectKind().GroupVersionKind().Kind + "/" + m.GetName()
				got = append(got, name)
				if m.GetNamespace() != namespace || len(m.GetName()) > 63 {
					t.Errorf("%s: namespace %q, name of %d characters", name, m.GetNamespace(), len(m.GetName()))
				}
				if m.GetLabels()["app.kubernetes.io/instance"] != release {
					t.Errorf("%s: labels %v", name, m.GetLabels())
				}
			}
			if diff := cmp.Diff(f.objects, strings.Join(got, " ")); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGolden shows the main forms as they reach the cluster.
func TestGolden(t *testing.T) {
	for _, f := range forms() {
		switch f.name {
		case "metax", "ascend", "prober", "sidecar", "benchmark", "monitors", "policies", "attribution":
		default:
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			golden := filepath.Join("testdata", f.name+".yaml")
			r := render(t, f.values)
			got := "# Values:\n" + comment(f.values) + "---\n" + strings.Join(r.texts, "\n---\n") + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-golden +now (go test -update writes it anew):\n%s", diff)
			}
		})
	}
}

func comment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("#   " + line)
		}
	}
	return b.String()
}

// TestNotes: the text after an installation says what to do next.
func TestNotes(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"", "Nothing runs yet"},
		{metax, "Cards of metax"},
		{metax, "monitor.enabled=true for the Prometheus operator, else the Service test-accelerator-exporter."},
		{sidecar, "monitor.enabled=true for the Prometheus operator."},
		{benchmark, "monitor.enabled=true for the Prometheus operator."},
		{image + "sidecar: {enabled: true}\nmonitor: {enabled: true}", "monitor.sidecars.enabled=true"},
		{image + "ascend: {enabled: true}", "WARNING: nothing grants these pods the cards' devices"},
		{image + "ascend: {enabled: true}", "set ascend.deviceGroups"},
		{sidecar, "http://test-accelerator-exporter-vllm.accelerators:8000"},
		{guarded, "https://127.0.0.1:10068/"},
		{benchmark, "logs -f job/test-accelerator-exporter-evening-1-report"},
	} {
		if got := render(t, tc.values).notes; !strings.Contains(got, tc.want) {
			t.Errorf("%s\nnotes do not say %q:\n%s", tc.values, tc.want, got)
		}
	}
	for _, values := range []string{metax, ascend} {
		if got := render(t, values).notes; strings.Contains(got, "WARNING") || strings.Contains(got, "without a further group") {
			t.Errorf("%s\nnotes warn of what is right:\n%s", values, got)
		}
	}
	for _, values := range []string{"", monitors, sidecar + rules + "monitor: {enabled: true}"} {
		if got := render(t, values).notes; strings.Contains(got, "Nothing tells Prometheus") {
			t.Errorf("%s\nnotes ask for what is there:\n%s", values, got)
		}
	}
	for _, f := range forms() {
		if strings.Contains(fmt.Sprint(render(t, f.values).notes), "<no value>") {
			t.Errorf("%s: the notes have holes", f.name)
		}
	}
}
