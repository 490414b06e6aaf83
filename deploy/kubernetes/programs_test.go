package kubernetes

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestExporterTakesItsFlags: the real program takes the flags of every form, and
// the probes with all that they name.
func TestExporterTakesItsFlags(t *testing.T) {
	exporter := filepath.Join(programtest.Build(t), "accelerator_exporter")
	for name, values := range forms {
		t.Run(name, func(t *testing.T) {
			r := render(t, values)
			for _, p := range pods(r) {
				for _, c := range p.Spec.Containers {
					if filepath.Base(strings.Join(c.Command, "")) != "accelerator_exporter" {
						continue
					}
					folder := mount(t, r, &p.Spec, &c)
					args := strings.ReplaceAll(strings.Join(append(c.Args, "--config.check"), "\n"), "/etc/accelerator_exporter", folder)
					out, err := exec.Command(exporter, strings.Split(args, "\n")...).CombinedOutput()
					valid := err == nil && bytes.Contains(out, []byte("the configuration is valid"))
					if none := !strings.Contains(args, "--config.file=") && bytes.Contains(out, []byte("no --config.file, --web.config.file or --probe.target given")); !valid && !none {
						t.Errorf("%s: %v\n%s\n%s", p.owner, err, out, args)
					}
				}
			}
		})
	}
}

// mount makes in a folder what a container finds in /etc/accelerator_exporter.
// Secrets hold what the forms' probes name.
func mount(t *testing.T, r rendered, spec *corev1.PodSpec, c *corev1.Container) string {
	t.Helper()
	const etc = "/etc/accelerator_exporter"
	folder := t.TempDir()
	put := func(at, name, text string) {
		programtest.Write(t, filepath.Join(folder, strings.TrimPrefix(at, etc), name), strings.ReplaceAll(text, etc, folder))
	}
	for _, m := range c.VolumeMounts {
		for _, v := range spec.Volumes {
			switch {
			case v.Name != m.Name || !strings.HasPrefix(m.MountPath, etc):
			case v.ConfigMap != nil:
				for _, config := range all[*corev1.ConfigMap](r) {
					if config.Name == v.ConfigMap.Name {
						put(m.MountPath, "probes.yml", config.Data["probes.yml"])
					}
				}
			case m.MountPath == etc+"/web":
				put(m.MountPath, "web.yml", "http_server_config: {http2: false}\n")
			case v.Secret != nil:
				put(m.MountPath, "api-key", "key")
				put(m.MountPath, "ca.pem", certificate(t))
			}
		}
	}
	return folder
}

// certificate is one that can be read.
func certificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}
