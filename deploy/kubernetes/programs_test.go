package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
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

// TestLoadTest runs what the Jobs run, as Kubernetes would: a process for each
// index, and then one for the report. The results are those of one load.
func TestLoadTest(t *testing.T) {
	programs, server := programtest.Build(t), programtest.FreeAddress(t)
	programtest.Start(t, "vllm", exec.Command(filepath.Join(programs, "fakehost"), "vllm", "--listen-address="+server, "--speed=200", "--output-tokens=8"))
	programtest.Eventually(t, time.Minute, "vllm answers", func() error {
		_, err := programtest.Get(t, "http://"+server+"/v1/models")
		return err
	})
	folder := t.TempDir()
	programtest.Write(t, filepath.Join(folder, "api-key"), "key")
	start := time.Now().Add(3 * time.Second).UTC().Format(time.RFC3339)
	jobs := all[*batchv1.Job](render(t, image+fmt.Sprintf(`
benchmark:
  enabled: true
  run: evening-1
  machines: 3
  url: http://%s
  args: [--max-concurrency=2, --duration=2s, --dataset-name=random, --random-input-len=8]
  startAt: %q
  report: true
  results: {existingClaim: results}
  apiKeySecret: {name: vllm}
`, server, start)))
	if len(jobs) != 2 || *jobs[0].Spec.CompletionMode != batchv1.IndexedCompletion ||
		*jobs[0].Spec.Completions != 3 || *jobs[0].Spec.Parallelism != 3 || *jobs[0].Spec.BackoffLimit != 0 {
		t.Fatalf("jobs %+v", jobs)
	}
	var running sync.WaitGroup
	for i, job := range jobs {
		for index := range *jobs[0].Spec.Completions {
			if i == 1 && index > 0 {
				break
			}
			running.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c := job.Spec.Template.Spec.Containers[0]
				args := strings.NewReplacer("$(JOB_COMPLETION_INDEX)", fmt.Sprint(index), "/results/", folder+"/", "/etc/accelbench", folder,
					":10069", "127.0.0.1:0").Replace(strings.Join(c.Args, "\n"))
				run := exec.CommandContext(ctx, filepath.Join(programs, "accelbench"), strings.Split(args, "\n")...)
				if out, err := run.CombinedOutput(); err != nil {
					t.Errorf("%s %d: %v\n%s\n%s", job.Name, index, err, args, out)
				}
			})
		}
		running.Wait()
	}
	checkReport(t, filepath.Join(folder, "evening-1", "report", "report.json"), start)
}

func checkReport(t *testing.T, path, start string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Runs []struct {
			Seed    uint64    `json:"seed"`
			Started time.Time `json:"started"`
		} `json:"runs"`
		Steps []struct {
			Warnings []string `json:"warnings"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	machines := map[uint64]bool{}
	for _, run := range report.Runs {
		machines[run.Seed] = true
		begin, err := time.Parse(time.RFC3339, start)
		if err != nil || run.Started.Before(begin) {
			t.Errorf("machine %d began at %s, before %s (%v)", run.Seed, run.Started, start, err)
		}
	}
	if len(machines) != 3 || len(report.Steps) != 1 {
		t.Fatalf("machines %v, %d steps", machines, len(report.Steps))
	}
	for _, w := range report.Steps[0].Warnings {
		if strings.Contains(w, "at the same time") || strings.Contains(w, "same instants") {
			t.Error(w)
		}
	}
}
