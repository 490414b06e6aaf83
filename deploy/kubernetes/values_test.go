package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
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
		{"thresholds: {client_lag_seconds: 3}", "invalid propertyName 'client_lag_seconds'"},
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
