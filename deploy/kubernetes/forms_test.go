package kubernetes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"
)

// image is what every form that runs something needs.
const image = "image: {repository: registry.example.com/accelerator-exporter}\n"

// vendors each have a section of values.
var vendors = []string{"metax", "ascend", "nvidia", "hygon", "iluvatar", "kunlunxin", "moorethreads", "enflame"}

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
	nvidia = image + "nvidia: {enabled: true}\n"
	hygon  = image + "hygon: {enabled: true, privileged: true, runAsUser: 0, nodeSelector: {hygon: present}}\n"
	newer  = image + `
iluvatar: {enabled: true, privileged: true, nodeSelector: {iluvatar: present}}
kunlunxin: {enabled: true, privileged: true, nodeSelector: {kunlunxin: present}}
moorethreads: {enabled: true, runtimeClassName: mthreads, env: [{name: MTHREADS_VISIBLE_DEVICES, value: all}], nodeSelector: {mthreads: present}}
enflame: {enabled: true, privileged: true, expectedDevices: 10, nodeSelector: {enflame: present}}
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
  restartAfterSeconds: 180
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
  args: ["--max-concurrency=8,16", --duration=5m, --dataset-name=openqa, --dataset-path=/data/open_qa.jsonl]
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

// forms are the ways to install the chart.
var forms = map[string]string{
	"nothing":           "",
	"metax":             metax,
	"ascend":            ascend,
	"nvidia":            nvidia,
	"hygon":             hygon,
	"newer":             newer,
	"both":              both,
	"attribution":       attribution,
	"cards with probes": hostNode,
	"prober":            prober,
	"sidecar":           sidecar,
	"guarded":           guarded,
	"benchmark":         benchmark,
	"benchmark without claims": strings.NewReplacer(
		"results: {existingClaim: results}", "tokenSecret: {name: mine}", "data: {existingClaim: datasets}", "joinTimeout: 1h",
		"apiKeySecret: {name: vllm, key: api-key}", "spread: preferred").Replace(benchmark) + "networkPolicy: {enabled: true}\n",
	"monitors":     monitors,
	"pod monitors": strings.ReplaceAll(monitors, "enabled: true\n  labels", "enabled: true\n  kind: PodMonitor\n  labels"),
	"all monitors": sidecar + strings.TrimPrefix(benchmark, image) + `
monitor: {enabled: true, sidecars: {enabled: true, namespaces: [models]}, metricRelabelings: [{action: drop, regex: a, sourceLabels: [pid]}]}
`,
	"rules":      rules,
	"dashboards": dashboards,
	"policies":   policies,
	"policies of cards and vLLM": both + strings.TrimPrefix(sidecar, image) + `
networkPolicy: {enabled: true, monitoringNamespaces: [monitoring, agents], vllmFrom: [{namespaceSelector: {}}],
  egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}
sidecar: {probes: [{url: "http://127.0.0.1:8000"}]}
`,
	"names": metax + "fullnameOverride: cards\nserviceAccount: {create: false}\ncommonLabels: {team: ml}\n",
}

// TestForms is helm lint --strict, in every form, and what Helm does not ask: that each object has the namespace and the
// labels that find it again, and that the notes have no holes.
func TestForms(t *testing.T) {
	for name, values := range forms {
		t.Run(name, func(t *testing.T) {
			var given map[string]any
			if err := yaml.Unmarshal([]byte(values), &given); err != nil {
				t.Fatal(err)
			}
			version := &common.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
			for _, m := range lint.RunAll(chartFolder, given, namespace, lint.WithKubeVersion(version)).Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
			r := render(t, values)
			for _, o := range r.objects {
				m, err := meta.Accessor(o)
				if err != nil {
					t.Fatal(err)
				}
				if m.GetNamespace() != namespace || len(m.GetName()) > 63 || m.GetLabels()["app.kubernetes.io/instance"] != release {
					t.Errorf("%s in namespace %q with labels %v", m.GetName(), m.GetNamespace(), m.GetLabels())
				}
			}
			if strings.Contains(r.notes, "<no value>") {
				t.Errorf("the notes have holes:\n%s", r.notes)
			}
		})
	}
}

// TestGolden shows the main forms as they reach the cluster.
func TestGolden(t *testing.T) {
	for _, name := range []string{"metax", "ascend", "nvidia", "hygon", "newer", "prober", "sidecar", "benchmark", "monitors", "policies", "attribution"} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".yaml")
			r := render(t, forms[name])
			got := "# Values:\n" + comment(forms[name]) + "---\n" + strings.Join(r.texts, "\n---\n") + "\n"
			got = regexp.MustCompile(`(\n  token:) \S{54}==\n`).ReplaceAllString(got, "$1 …\n") // random
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

// TestNotes: the text after an installation says what to do next, and warns only of what is wrong.
func TestNotes(t *testing.T) {
	for _, tc := range []struct{ values, want, without string }{
		{"", "Nothing runs yet", "Nothing tells Prometheus"},
		{metax, "monitor.enabled=true for the Prometheus operator, else the Service test-accelerator-exporter.", "WARNING"},
		{monitors, "Cards of metax", "Nothing tells Prometheus"},
		{sidecar, "http://test-accelerator-exporter-vllm.accelerators:8000", "WARNING"},
		{image + "ascend: {enabled: true}", "WARNING: nothing grants these pods the cards' devices", "Nothing runs yet"},
		{benchmark, "Its report then:\n  kubectl -n accelerators logs --tail=-1 --selector job-name=test-accelerator-exporter-evening-1,", "WARNING"},
		{guarded, "https://127.0.0.1:10068/", "WARNING"},
	} {
		if got := render(t, tc.values).notes; !strings.Contains(got, tc.want) || strings.Contains(got, tc.without) {
			t.Errorf("%s\nnotes do not say %q, or say %q:\n%s", tc.values, tc.want, tc.without, got)
		}
	}
}
