// Package compose loads the compose files as docker compose does, checks what they name, and starts their services
// without an engine.
package compose

import (
	"context"
	"maps"
	"os"
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

const standIns = "stand-ins"

// vendors are those whose cards README.md's command line may name, with the mount or device that says whose they are.
var vendors = map[string]string{
	"metax":        "/opt/mxdriver",
	"ascend":       "/dev/davinci_manager",
	"nvidia":       "runtime nvidia",
	"hygon":        "/dev/kfd",
	"iluvatar":     "/dev/iluvatar7",
	"kunlunxin":    "/dev/xpuctrl",
	"moorethreads": "/dev/mtgpu.0",
	"enflame":      "/dev/gcuctl",
}

func load(t *testing.T, variant string) *types.Project {
	t.Helper()
	files := []string{"compose.yml"}
	if variant != standIns {
		files = append(files, "compose.cards.yml", "compose."+variant+".yml")
	}
	groups := []string{"VIDEO_GID=44", "RENDER_GID=105", "ASCEND_GID=1000", "KFD_GID=0", "ILUVATAR_GID=0", "XPU_GID=0", "GCU_GID=0"}
	options, err := cli.NewProjectOptions(files, cli.WithEnv(groups),
		cli.WithInterpolation(true), cli.WithResolvedPaths(true), cli.WithConsistency(true))
	programtest.NoError(t, err)
	project, err := options.LoadProject(context.Background())
	programtest.NoError(t, err)
	return project
}

// docker compose would refuse a file, publish a port to the network, or make an empty folder for a missing file.
func TestLoad(t *testing.T) {
	for _, name := range append(slices.Sorted(maps.Keys(vendors)), standIns) {
		t.Run(name, func(t *testing.T) {
			project := load(t, name)
			want := []string{"alertmanager", "exporter", "grafana", "prometheus", "vllm"}
			if name != standIns {
				want = want[:4]
				checkCards(t, name, project.Services["exporter"])
			}
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(project.ServiceNames()))); diff != "" {
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

// checkCards wants the vendor's collector with what it needs of the host, and nothing of the stand-ins.
func checkCards(t *testing.T, vendor string, exporter types.ServiceConfig) {
	t.Helper()
	has := []string{"runtime " + exporter.Runtime}
	for _, d := range exporter.Devices {
		has = append(has, d.Source)
	}
	for _, v := range exporter.Volumes {
		has = append(has, v.Source)
		if v.Type != types.VolumeTypeBind || !v.ReadOnly || v.Source != v.Target {
			t.Errorf("mounts %+v", v)
		}
	}
	for _, want := range []string{vendors[vendor], "/lib64"} {
		if !slices.Contains(has, want) {
			t.Errorf("has %q, not %s", has, want)
		}
	}
	if !slices.Contains(exporter.Command, "--collector."+vendor) || exporter.Environment["FAKEHOST_STATE"] != nil || exporter.Pid != "host" {
		t.Errorf("runs %q with %v, pid %q", exporter.Command, exporter.Environment, exporter.Pid)
	}
}

// The exporter and the stand-in of vLLM would not start.
func TestStart(t *testing.T) {
	programs := programtest.Build(t)
	project := load(t, standIns)
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
		programtest.Run(t, service, []string{"FAKEHOST_STATE=" + state}, line[0], append(line[1:], more...)...)
	}
	start("vllm", project.Services["vllm"].Entrypoint)
	start("exporter", []string{"/usr/local/bin/accelerator_exporter"}, "--web.listen-address="+exporter)
	programtest.Eventually(t, 2*time.Minute, "a probe and both vendors' cards", func() error {
		return programtest.PageHas(t, "http://"+exporter+"/metrics",
			`accelerator_devices{vendor="metax"} 8`, `accelerator_devices{vendor="ascend"} 8`, `accelerator_probe_success{model="qwen2.5",target="qwen2.5"} 1`)
	})
}
