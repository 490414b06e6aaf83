// Package compose loads the compose files as docker compose does, checks what they name, and starts their services
// without an engine.
package compose

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// variants are the command lines of README.md.
var variants = map[string]struct {
	files       []string
	environment []string
	services    []string
}{
	"stand-ins": {
		files:    []string{"compose.yml"},
		services: []string{"alertmanager", "exporter", "grafana", "prometheus", "vllm"},
	},
	"metax": {
		files:       []string{"compose.yml", "compose.metax.yml"},
		environment: []string{"VIDEO_GID=44", "RENDER_GID=105"},
		services:    []string{"alertmanager", "exporter", "grafana", "prometheus"},
	},
	"ascend": {
		files:       []string{"compose.yml", "compose.ascend.yml"},
		environment: []string{"ASCEND_GID=1000"},
		services:    []string{"alertmanager", "exporter", "grafana", "prometheus"},
	},
}

func load(t *testing.T, variant string) *types.Project {
	t.Helper()
	v := variants[variant]
	options, err := cli.NewProjectOptions(v.files, cli.WithEnv(v.environment),
		cli.WithInterpolation(true), cli.WithResolvedPaths(true), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// docker compose would refuse a file, publish a port to the network, or make an empty folder for a missing file.
func TestLoad(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			project := load(t, name)
			services := slices.Sorted(slices.Values(project.ServiceNames()))
			if diff := cmp.Diff(v.services, services); diff != "" {
				t.Errorf("services: want (-) and got (+) differ:\n%s", diff)
			}
			for _, s := range project.Services {
				if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) {
					t.Errorf("%s is not confined", s.Name)
				}
				for _, p := range s.Ports {
					if p.HostIP != "127.0.0.1" {
						t.Errorf("%s publishes %s on %q", s.Name, p.Published, p.HostIP)
					}
				}
				for _, m := range s.Volumes {
					if _, err := os.Stat(m.Source); err != nil && strings.HasPrefix(m.Source, programtest.Root(t)) {
						t.Errorf("%s: %v", s.Name, err)
					}
				}
			}
		})
	}
}

// The exporter and the stand-in of vLLM would not start.
func TestStart(t *testing.T) {
	programs := programtest.Build(t)
	project := load(t, "stand-ins")
	vllm, exporter := programtest.FreeAddress(t), programtest.FreeAddress(t)
	probes := filepath.Join(t.TempDir(), "probes.yml")
	programtest.Write(t, probes, strings.ReplaceAll(programtest.Read(t, "probes.yml"), "vllm:8000", vllm))
	local := strings.NewReplacer("/usr/local/bin/", programs+"/", "/etc/accelerator_exporter/probes.yml", probes, ":8000", vllm)
	state := t.TempDir()
	start := func(service string, entrypoint []string, more ...string) {
		line := slices.Concat(entrypoint, project.Services[service].Command)
		for i := range line {
			line[i] = local.Replace(line[i])
		}
		cmd := exec.Command(line[0], append(line[1:], more...)...)
		cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+state)
		programtest.Start(t, service, cmd)
	}
	start("vllm", project.Services["vllm"].Entrypoint)
	start("exporter", []string{"/usr/local/bin/accelerator_exporter"}, "--web.listen-address="+exporter)
	programtest.Eventually(t, 2*time.Minute, "a probe and both vendors' cards", func() error {
		return programtest.PageHas(t, "http://"+exporter+"/metrics",
			`accelerator_devices{vendor="metax"} 8`, `accelerator_devices{vendor="ascend"} 8`, `accelerator_probe_success{model="qwen2.5",target="qwen2.5"} 1`)
	})
}
