package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestRefused: what is wrong is told before anything reaches the cluster.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"metaxx: {enabled: true}", "additional properties 'metaxx' not allowed"},
		{"metax: {enable: true}", "at '/metax': additional properties 'enable' not allowed"},
		{"ascend: {enabled: yes please}", "at '/ascend/enabled': got string, want boolean"},
		{"metax: {mounts: [{name: lib, path: lib}]}", "at '/metax/mounts/0/path': 'lib' does not match pattern"},
		{"exporter: {interval: ten}", "at '/exporter/interval': 'ten' does not match pattern"},
		{"secrets: [/etc/key]", "at '/secrets/0': '/etc/key' does not match pattern"},
		{"probes: [{url: 'http://user:secret@a'}]", "at '/probes/0/url': 'http://user:secret@a' does not match pattern"},
		{"probes: [{url: 'http://a', http: {authorization: {credentials: secret}}}]", "additional properties 'credentials' not allowed"},
		{"thresholds: {client_lag_seconds: 3}", "invalid propertyName 'client_lag_seconds'"},
		{"probes: [{url: 'http://a', devices: {amd: ['0']}}]", "invalid propertyName 'amd'"},
		{"benchmark: {run: Evening 1}", "at '/benchmark/run': 'Evening 1' does not match pattern"},

		{"metax: {enabled: true}", "image.repository is not set, and no image is published: build one"},
		{image + "prober: {enabled: true}", "prober.enabled without probes"},
		{image + "attribution: {enabled: true}", "attribution.enabled without a vendor"},
		{image + "hygon: {enabled: true}", "hygon.enabled without hygon.nodeSelector or hygon.affinity: which nodes have the cards?"},
		{"attribution: {trustDeviceIDs: [metax]}", "at '/attribution/trustDeviceIDs/0': value must be 'ascend'"},
		{image + "vllm: {enabled: true}", "vllm.image.repository is not set"},
		{sidecar + "webConfig: {existingSecret: web}", "vllm.restartAfterSeconds: the kubelet cannot ask an exporter with TLS"},
		{sidecar + "sidecar: {probes: [{url: 'http://127.0.0.1:8000'}, {name: b, url: 'http://127.0.0.1:8001'}]}", "vllm.restartAfterSeconds: the first of several sidecar.probes needs a name"},
		{image + "vllm: {enabled: true, restartAfterSeconds: 1}", "at '/vllm/restartAfterSeconds'"},
		{image + "benchmark: {enabled: true}", "benchmark.run is not set"},
		{image + "benchmark: {enabled: true, run: a}", "benchmark.url is not set"},
		{"thresholds: {time_to_first_token_seconds: 3}", "thresholds without rules.enabled"},
		{"rules: {pricePerKWh: 0.6}", "rules.heldIdle or rules.pricePerKWh without rules.enabled"},
		{"rules: {enabled: true, pricePerKWh: -1}", "at '/rules/pricePerKWh': minimum: got -1, want 0"},
		{prober + "networkPolicy: {enabled: true}", "networkPolicy.enabled without networkPolicy.egress: the probes of prober could not leave"},
	} {
		_, err := tryRender(load(t), tc.values)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\ngot  %v\nwant %s", tc.values, err, tc.want)
		}
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
