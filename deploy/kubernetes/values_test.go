package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestRefused: what is wrong is told before anything reaches the cluster.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"metaxx: {enabled: true}", "additional properties 'metaxx' not allowed"},
		{"metax: {enable: true}", "at '/metax': additional properties 'enable' not allowed"},
		{"ascend: {enabled: yes please}", "at '/ascend/enabled': got string, want boolean"},
		{"metax: {mounts: [{name: lib}]}", "at '/metax/mounts/0': missing property 'path'"},
		{"metax: {mounts: [{name: lib, path: lib}]}", "at '/metax/mounts/0/path': 'lib' does not match pattern"},
		{"metax: {deviceGroups: [video]}", "at '/metax/deviceGroups/0': got string, want integer"},
		{"image: {digest: abc}", "at '/image/digest': 'abc' does not match pattern"},
		{"image: {pullPolicy: always}", "at '/image/pullPolicy': value must be one of"},
		{"port: 70000", "at '/port': maximum: got 70,000, want 65,535"},
		{"exporter: {interval: 10}", "at '/exporter/interval': got number, want string"},
		{"exporter: {interval: ten}", "at '/exporter/interval': 'ten' does not match pattern"},
		{"exporter: {logLevel: trace}", "at '/exporter/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"},
		{"secrets: [/etc/key]", "at '/secrets/0': '/etc/key' does not match pattern"},
		{"probes: [{name: a}]", "at '/probes/0': missing property 'url'"},
		{"probes: [{url: 'http://a', maxTokens: 3}]", "at '/probes/0': additional properties 'maxTokens' not allowed"},
		{"probes: [{url: 'http://user:secret@a'}]", "at '/probes/0/url': 'http://user:secret@a' does not match pattern"},
		{"probes: [{url: 'http://a', http: {authorization: {credentials: secret}}}]", "additional properties 'credentials' not allowed"},
		{"probes: [{url: 'http://a', http: {bearer_token: secret}}]", "at '/probes/0/http': additional properties 'bearer_token' not allowed"},
		{"probes: [{url: 'http://a', http: {basic_auth: {username: u, password: secret}}}]", "additional properties 'password' not allowed"},
		{"probes: [{url: 'http://a', http: {http_headers: {x-key: {secrets: [a]}}}}]", "additional properties 'secrets' not allowed"},
		{"sidecar: {probes: []}", "at '/sidecar/probes'"},
		{"monitor: {kind: Probe}", "at '/monitor/kind': value must be one of 'ServiceMonitor', 'PodMonitor'"},
		{"thresholds: {time_to_first_token_seconds: fast}", "at '/thresholds/time_to_first_token_seconds'"},
		{"thresholds: {temperature_warning_celsius: {nvidia: 90}}", "at '/thresholds/temperature_warning_celsius'"},
		{"benchmark: {run: Evening 1}", "at '/benchmark/run': 'Evening 1' does not match pattern"},
		{"benchmark: {machines: 0}", "at '/benchmark/machines': minimum: got 0, want 1"},
		{"benchmark: {startAt: noon}", "at '/benchmark/startAt': 'noon' does not match pattern"},
		{"vllm: {shmSize: lots}", "at '/vllm/shmSize': 'lots' does not match pattern"},
		{"networkPolicy: {monitoringNamespaces: []}", "at '/networkPolicy/monitoringNamespaces': minItems: got 0, want 1"},

		{"metax: {enabled: true}", "image.repository is not set, and no image is published: build one"},
		{image + "prober: {enabled: true}", "prober.enabled without probes"},
		{image + "attribution: {enabled: true}", "attribution.enabled without metax.enabled or ascend.enabled"},
		{"attribution: {procfs: host}", "at '/attribution/procfs': value must be one of 'hostPID', 'mount'"},
		{"attribution: {trustDeviceIDs: [metax]}", "at '/attribution/trustDeviceIDs/0': value must be 'ascend'"},
		{image + "vllm: {enabled: true}", "vllm.image.repository is not set"},
		{image + "vllm: {enabled: true, image: {repository: a}}", "vllm.image.tag is not set"},
		{image + "benchmark: {enabled: true}", "benchmark.run is not set"},
		{image + "benchmark: {enabled: true, run: a}", "benchmark.url is not set"},
		{image + "benchmark: {enabled: true, run: a, url: 'http://a'}", "benchmark.results.existingClaim is not set"},
		{rules + "thresholds: {time_to_first_tokn_seconds: 3}", "thresholds.time_to_first_tokn_seconds: there is no such threshold; there are: client_lag_seconds, "},
		{rules + "thresholds: {time_to_first_token_seconds: {metax: 3}}", "thresholds.time_to_first_token_seconds.metax: that threshold is not one by vendor"},
		{rules + "thresholdExceptions: [{name: x, value: 1, labels: {target: a}}]", "there is no threshold x"},
		{"thresholds: {time_to_first_token_seconds: 3}", "thresholds without rules.enabled"},
		{prober + "networkPolicy: {enabled: true}", "networkPolicy.enabled without networkPolicy.egress: the probes of prober could not leave"},
	} {
		_, err := tryRender(load(t), tc.values)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\ngot  %v\nwant %s", tc.values, err, tc.want)
		}
	}
}

// TestSchemaKnowsEveryValue: values.yaml and the schema hold the same keys, so
// that each is documented and none is refused.
func TestSchemaKnowsEveryValue(t *testing.T) {
	type schema struct {
		Ref                  string `json:"$ref"`
		Properties           map[string]*schema
		AdditionalProperties any
		Definitions          map[string]*schema
	}
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var top schema
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join(chartFolder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	delete(top.Properties, "global") // Helm's own
	var compare func(at string, s *schema, values map[string]any)
	compare = func(at string, s *schema, values map[string]any) {
		if s.Ref != "" {
			s = top.Definitions[strings.TrimPrefix(s.Ref, "#/definitions/")]
		}
		if s.AdditionalProperties != false || at == "/resources" || strings.HasSuffix(at, "/resources") || strings.HasSuffix(at, "/basicAuth") {
			return // Kubernetes' own, or a map of the user's
		}
		for key, below := range s.Properties {
			value, ok := values[key]
			if !ok {
				t.Errorf("values.yaml has no %s/%s", at, key)
			} else if m, ok := value.(map[string]any); ok {
				compare(at+"/"+key, below, m)
			}
		}
	}
	compare("", &top, values)
}

// TestLint is helm lint --strict, in every form.
func TestLint(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			var values map[string]any
			if err := yaml.Unmarshal([]byte(f.values), &values); err != nil {
				t.Fatal(err)
			}
			version := &common.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
			for _, m := range lint.RunAll(chartFolder, values, namespace, lint.WithKubeVersion(version)).Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
		})
	}
}

// TestVersions: the chart brings the programs of this repository's version.
func TestVersions(t *testing.T) {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	c := load(t)
	if want := strings.TrimSpace(string(version)); c.Metadata.AppVersion != want {
		t.Errorf("appVersion %s, want %s", c.Metadata.AppVersion, want)
	}
	for values, want := range map[string]string{
		"":        "r.example.com/a:" + c.Metadata.AppVersion,
		"tag: v9": "r.example.com/a:v9",
		"tag: v9, digest: sha256:" + strings.Repeat("0", 64): "r.example.com/a@sha256:" + strings.Repeat("0", 64),
	} {
		r := render(t, fmt.Sprintf("image: {repository: r.example.com/a, %s}\nmetax: {enabled: true}", values))
		if got := only[*appsv1.DaemonSet](t, r).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%s: image %s, want %s", values, got, want)
		}
	}
}

// TestAsDockerRun: the chart mounts what the container's README has docker mount,
// and of the devices, which a privileged pod has all of, none that is not there.
func TestAsDockerRun(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/container/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for vendor, heading := range map[string]string{"metax": "### MetaX\n", "ascend": "### Ascend\n"} {
		_, below, ok := strings.Cut(string(text), heading)
		block, _, _ := strings.Cut(below, "accelerator-exporter:")
		if !ok {
			t.Fatalf("no %q", heading)
		}
		var want, got []string
		for _, m := range regexp.MustCompile(`--volume (/[^:]+):(/[^:]+):ro`).FindAllStringSubmatch(block, -1) {
			want = append(want, m[1]+" at "+m[2])
		}
		spec := only[*appsv1.DaemonSet](t, render(t, image+vendor+": {enabled: true}")).Spec.Template.Spec
		for _, m := range spec.Containers[0].VolumeMounts {
			for _, v := range spec.Volumes {
				switch {
				case v.Name != m.Name || v.HostPath == nil:
				case !strings.HasPrefix(v.HostPath.Path, "/dev/"):
					got = append(got, v.HostPath.Path+" at "+m.MountPath)
				case !strings.Contains(block, "--device "+m.MountPath+" "):
					t.Errorf("%s: docker run has no device %s", vendor, m.MountPath)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 6 {
			t.Errorf("%s: mounts (-docker run +chart):\n%s", vendor, diff)
		}
	}
}

// TestIncluded: another chart puts the sidecar into its own pod.
func TestIncluded(t *testing.T) {
	const template = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: mine
  namespace: {{ .Release.Namespace }}
spec:
  selector: {matchLabels: {app: mine}}
  template:
    metadata:
      labels: {app: mine, accelerator-exporter/sidecar: "true"}
      annotations:
        {{- include "accelerator-exporter.sidecarAnnotations" (index .Subcharts "accelerator-exporter") | nindent 8 }}
    spec:
      containers:
        - name: vllm
          image: my/vllm:1
        {{- include "accelerator-exporter.sidecar" (index .Subcharts "accelerator-exporter") | nindent 8 }}
      volumes:
        {{- include "accelerator-exporter.sidecarVolumes" (index .Subcharts "accelerator-exporter") | nindent 8 }}
`
	parent := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "mine", Version: "1.0.0"},
		Templates: []*common.File{{Name: "templates/mine.yaml", Data: []byte(template)}},
	}
	parent.AddDependency(load(t))
	r, err := tryRender(parent, `
accelerator-exporter:
  image: {repository: registry.example.com/accelerator-exporter}
  sidecar: {enabled: true, probes: [{name: mine, url: "http://127.0.0.1:9000"}]}
  secrets: [vllm]
  monitor: {enabled: true, sidecars: {enabled: true}}
`)
	if err != nil {
		t.Fatal(err)
	}
	p := pods(r)[0]
	var names, volumes []string
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, v := range p.Spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	if diff := cmp.Diff([]string{"vllm", "accelerator-exporter"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"accelerator-exporter-config", "accelerator-exporter-secret-0"}, volumes); diff != "" {
		t.Error(diff)
	}
	checkContainer(t, "mine", &p.Spec.Containers[1], false, false)
	if p.Annotations["checksum/probes"] == "" {
		t.Errorf("annotations %v", p.Annotations)
	}
	if got := p.Spec.Volumes[0].ConfigMap.Name; got != configMaps(r)[0].Name || !strings.Contains(configMaps(r)[0].Data["probes.yml"], "127.0.0.1:9000") {
		t.Errorf("it mounts %s, there is %+v", got, configMaps(r)[0])
	}
}
