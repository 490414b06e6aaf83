// Package compose loads the compose files as docker compose does, checks what
// they name, and runs their services without an engine.
package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// lines are the command lines of README.md: the files, and what they want of the
// environment.
var lines = map[string]struct {
	files       []string
	environment []string
	services    []string
}{
	"stand-ins": {
		[]string{"compose.yml"},
		nil,
		[]string{"alertmanager", "exporter", "grafana", "prometheus", "vllm"},
	},
	"metax": {
		[]string{"compose.yml", "compose.metax.yml"},
		[]string{"VIDEO_GID=44", "RENDER_GID=105"},
		[]string{"alertmanager", "exporter", "grafana", "prometheus"},
	},
	"ascend": {
		[]string{"compose.yml", "compose.ascend.yml"},
		[]string{"ASCEND_GID=1000"},
		[]string{"alertmanager", "exporter", "grafana", "prometheus"},
	},
}

// load reads compose files; a field that compose does not know is an error.
func load(t *testing.T, files, environment []string, profiles ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions(files, cli.WithEnv(environment), cli.WithProfiles(profiles),
		cli.WithInterpolation(true), cli.WithResolvedPaths(true), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(context.Background())
}

func mustLoad(t *testing.T, name string, profiles ...string) *types.Project {
	t.Helper()
	project, err := load(t, lines[name].files, lines[name].environment, profiles...)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestLoad(t *testing.T) {
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			project := mustLoad(t, name)
			services := project.ServiceNames()
			slices.Sort(services)
			if diff := cmp.Diff(line.services, services); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
			for _, s := range mustLoad(t, name, "fault").Services {
				checkConfined(t, s)
				checkMounts(t, s)
			}
			if len(line.environment) > 0 {
				checkTargets(t, project.Services["prometheus"])
				if _, err := load(t, line.files, nil); err == nil || !strings.Contains(err.Error(), "stat -c %g /dev/") {
					t.Errorf("without the groups: %v, want what to do", err)
				}
			}
		})
	}
}

// checkTargets: with cards Prometheus has their targets in place of the stand-ins'.
func checkTargets(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	var sources []string
	for _, v := range s.Volumes {
		if v.Target == "/etc/prometheus/targets" {
			sources = append(sources, filepath.Base(v.Source))
		}
	}
	if !slices.Equal(sources, []string{"targets-cards"}) {
		t.Errorf("targets from %s", sources)
	}
}

// checkConfined wants what x-confined gives, a user, a fixed image, and ports on
// loopback only.
func checkConfined(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) ||
		s.PidsLimit == 0 || s.MemLimit == 0 || s.Privileged || len(s.CapAdd) > 0 {
		t.Errorf("%s is not confined", s.Name)
	}
	if !regexp.MustCompile(`^[a-z/-]+:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
		t.Errorf("%s: image %q without a version", s.Name, s.Image)
	}
	if s.Build == nil && !regexp.MustCompile(`^[1-9]\d*:\d+$`).MatchString(s.User) {
		t.Errorf("%s: user %q", s.Name, s.User)
	}
	for _, p := range s.Ports {
		if p.HostIP != "127.0.0.1" {
			t.Errorf("%s publishes %s on %q", s.Name, p.Published, p.HostIP)
		}
	}
	for name, value := range s.Environment {
		if value != nil && regexp.MustCompile(`(?i)password|secret|token|key`).MatchString(name) {
			t.Errorf("%s: %s is set in the file", s.Name, name)
		}
	}
}

// fromCards are the paths that a host with cards has.
var fromCards = regexp.MustCompile(`^(/opt/mxdriver|/usr/local/.*|/etc/ascend_install\.info|/lib|/lib64|/usr/lib|/usr/lib64|/etc/ld\.so\.cache)$`)

func checkMounts(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	for _, v := range s.Volumes {
		if v.Type != types.VolumeTypeBind {
			continue
		}
		if !v.ReadOnly {
			t.Errorf("%s may write %s", s.Name, v.Source)
		}
		if fromCards.MatchString(v.Source) {
			continue
		}
		if _, err := os.Stat(v.Source); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if s.Build != nil {
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestVersion: the image is that of this version of the programs.
func TestVersion(t *testing.T) {
	version := strings.TrimSpace(programtest.Read(t, "../../VERSION"))
	exporter := mustLoad(t, "stand-ins").Services["exporter"]
	if exporter.Image != "accelerator-exporter:"+version || *exporter.Build.Args["VERSION"] != version {
		t.Errorf("image %s, built as %s, want %s", exporter.Image, *exporter.Build.Args["VERSION"], version)
	}
}

// TestAsDockerRun: with cards the exporter gets what the container's README gives it.
func TestAsDockerRun(t *testing.T) {
	readme := programtest.Read(t, "../container/README.md")
	for vendor, heading := range map[string]string{"metax": "### MetaX\n", "ascend": "### Ascend\n"} {
		_, below, ok := strings.Cut(readme, heading)
		block, _, _ := strings.Cut(below, "accelerator-exporter:")
		if !ok {
			t.Fatalf("no %q", heading)
		}
		var want, got []string
		for _, m := range regexp.MustCompile(`--volume (\S+)`).FindAllStringSubmatch(block, -1) {
			want = append(want, m[1])
		}
		s := mustLoad(t, vendor).Services["exporter"]
		for _, v := range s.Volumes {
			got = append(got, v.Source+":"+v.Target+":ro")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: mounts (-docker run +compose):\n%s", vendor, diff)
		}
		if diff := cmp.Diff(runDevices(block), composeDevices(s)); diff != "" {
			t.Errorf("%s: devices (-docker run +compose):\n%s", vendor, diff)
		}
		if len(s.Devices) == 0 || s.Pid != "host" || len(s.GroupAdd) == 0 || len(s.Environment) != 0 {
			t.Errorf("%s: devices %v, pid %q, groups %v, environment %v", vendor, s.Devices, s.Pid, s.GroupAdd, s.Environment)
		}
	}
}

// runDevices are the devices that a docker run names, each or by a pattern of its
// number.
func runDevices(block string) []string {
	var devices []string
	for _, m := range regexp.MustCompile(`--device (?:%s ' )?(/dev/[^\s)]+)`).FindAllStringSubmatch(block, -1) {
		devices = append(devices, m[1])
	}
	slices.Sort(devices)
	return devices
}

// composeDevices are those of a service, numbered ones as the pattern that they are of.
func composeDevices(s types.ServiceConfig) []string {
	var devices []string
	for _, d := range s.Devices {
		devices = append(devices, regexp.MustCompile(`\d+$`).ReplaceAllString(d.Source, "[0-9]*"))
	}
	slices.Sort(devices)
	return slices.Compact(devices)
}

// TestGrafana: the provisioning names services and folders that are there, and
// the home page is one of the dashboards.
func TestGrafana(t *testing.T) {
	project := mustLoad(t, "stand-ins")
	grafana := project.Services["grafana"]
	inside := func(path string) string {
		for _, v := range grafana.Volumes {
			if rest, ok := strings.CutPrefix(path, v.Target); ok && v.Type == types.VolumeTypeBind {
				return v.Source + rest
			}
		}
		t.Errorf("%s is not mounted", path)
		return ""
	}
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	programtest.ReadYAML(t, inside("/etc/grafana/provisioning/datasources/prometheus.yml"), &sources)
	for _, d := range sources.Datasources {
		if want := fmt.Sprintf("http://%s:%d", d.Type, project.Services[d.Type].Ports[0].Target); d.URL != want {
			t.Errorf("data source %s at %s, want %s", d.UID, d.URL, want)
		}
	}
	if len(sources.Datasources) != 2 {
		t.Errorf("%d data sources, want 2", len(sources.Datasources))
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	programtest.ReadYAML(t, inside("/etc/grafana/provisioning/dashboards/accelerators.yml"), &dashboards)
	if len(dashboards.Providers) != 1 {
		t.Fatalf("%d folders of dashboards, want 1", len(dashboards.Providers))
	}
	files, err := filepath.Glob(filepath.Join(inside(dashboards.Providers[0].Options.Path), "*.json"))
	if err != nil || len(files) < 5 {
		t.Errorf("dashboards %s, %v, want 5", files, err)
	}
	var home struct{ UID string }
	text := programtest.Read(t, inside(*grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]))
	if err := json.Unmarshal([]byte(text), &home); err != nil || home.UID != "accelerator-load-latency" {
		t.Errorf("home is %q, %v", home.UID, err)
	}
}
