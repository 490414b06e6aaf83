package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestReleaseWorkflow: foreign actions are pinned, nothing is signed or published before check and build, and the last job's
// commands, beside a cosign and a gh that do as much as is seen here, publish each file of docs/releasing.md signed.
func TestReleaseWorkflow(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Needs       []string
			Permissions map[string]string
			Steps       []struct{ Uses, Run string }
		}
	}
	programtest.ReadYAML(t, "../.github/workflows/ci.yml", &workflow)
	steps := map[string]string{}
	for name, job := range workflow.Jobs {
		for _, s := range job.Steps {
			steps[name] += s.Uses + s.Run + "\n"
			if s.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(s.Uses) {
				t.Errorf("%s uses %s", name, s.Uses)
			}
		}
		if job.Permissions != nil && (!slices.Contains(job.Needs, "check") || !slices.Contains(job.Needs, "build")) {
			t.Errorf("%s may write %v, and needs %q only", name, job.Permissions, job.Needs)
		}
	}
	for job, order := range map[string]string{
		"build":   `make dist\n.*make dist-check\n.*cyclonedx-gomod@v`,
		"image":   ` --push .*helm push .*cosign sign --yes "\$IMAGE" "\$CHART".*cosign attest --yes --type cyclonedx.*attest-build-provenance@.*attest-build-provenance@`,
		"publish": `sha256sum --strict --check .*cosign sign-blob .*attest-build-provenance@.*gh release create`,
	} {
		if !regexp.MustCompile("(?s)" + order).MatchString(steps[job]) {
			t.Errorf("%s does not run %s:\n%s", job, order, steps[job])
		}
	}
	dist, bin := t.TempDir(), t.TempDir()
	tables, _, _ := strings.Cut(programtest.Read(t, "../docs/releasing.md"), "\n## ")
	files := regexp.MustCompile("(?m)(?:^\\| |, )`([-\\w.]+)`").FindAllStringSubmatch(tables, -1)
	for _, m := range files {
		programtest.Write(t, filepath.Join(dist, m[1]), "")
	}
	programtest.WriteScript(t, filepath.Join(bin, "cosign"), `: >"$4"`)
	programtest.WriteScript(t, filepath.Join(bin, "gh"), `printf '%s\n' "$@"`)
	var published []string
	for _, s := range workflow.Jobs["publish"].Steps {
		if strings.Contains(s.Run, "cosign") || strings.Contains(s.Run, "gh ") {
			published = strings.Fields(programtest.Output(t, dist, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "bash", "-e", "-c", s.Run))
		}
	}
	for _, m := range files {
		if !slices.Contains(published, m[1]) || !slices.Contains(published, m[1]+".sigstore.json") {
			t.Errorf("%s and its signature are not published: %q", m[1], published)
		}
	}
	if len(files) != 12 {
		t.Errorf("docs/releasing.md names %d files: %q", len(files), files)
	}
}

// TestListings: what Grafana.com, Artifact Hub and the image tell of the project is so.
func TestListings(t *testing.T) {
	type dashboard struct{ File, Title, Picture string }
	var listing struct{ Dashboards []dashboard }
	programtest.ReadYAML(t, "../dashboards/grafana.com.yml", &listing)
	for _, d := range listing.Dashboards {
		var own dashboard
		programtest.ReadYAML(t, filepath.Join("../dashboards", d.File), &own)
		if _, err := os.Stat(filepath.Join("../dashboards", d.Picture)); err != nil || d.Title != own.Title {
			t.Errorf("%s is called %q, not %q; %v", d.File, own.Title, d.Title, err)
		}
	}
	if files, _ := filepath.Glob("../dashboards/grafana/*.json"); len(files) != len(listing.Dashboards) {
		t.Errorf("%d dashboards are listed of %q", len(listing.Dashboards), files)
	}
	for file, want := range map[string]string{
		"kubernetes/accelerator-exporter/Chart.yaml": "/accelerator-exporter:" + strings.TrimSpace(programtest.Read(t, "../VERSION")) + "\n",
		"container/Dockerfile":                       "MetaX, Huawei Ascend, Hygon, NVIDIA, Iluvatar, Kunlunxin, Moore Threads and Enflame",
	} {
		if !strings.Contains(programtest.Read(t, file), want) {
			t.Errorf("%s does not say %s", file, want)
		}
	}
}
