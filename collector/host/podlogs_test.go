package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file and the folders it is in.
func write(t testing.TB, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o644))
}

func TestPodNames(t *testing.T) {
	pod := func(name string) *model.Container {
		return &model.Container{PodUID: uidA, Namespace: "a", Pod: "b", Name: name}
	}
	for name, c := range map[string]struct {
		make func(dir string)
		want *model.Container // nil for no pod of the UID
		warn string
	}{
		"no kubelet": {func(dir string) { must(t, os.Remove(dir)) }, nil, ""},
		"one container": {func(dir string) {
			write(t, "", dir, "a_b_"+uidA, "c", "0.log")
			write(t, "", dir, "a_b_"+uidA, "note")
		}, pod("c"), ""},
		"two containers": {func(dir string) {
			write(t, "", dir, "a_b_"+uidA, "c", "0.log")
			write(t, "", dir, "a_b_"+uidA, "d", "0.log")
		}, pod(""), ""},
		"no container yet": {func(dir string) { must(t, os.Mkdir(dir+"/a_b_"+uidA, 0o755)) }, pod(""), ""},
		"a link to a pod": {func(dir string) {
			elsewhere := t.TempDir()
			write(t, "", elsewhere, "c", "0.log")
			must(t, os.Symlink(elsewhere, dir+"/a_b_"+uidA))
		}, nil, ""},
		"of others, and of no pods": {func(dir string) {
			for _, folder := range []string{"a_b_" + uidB, "a_b", "a_b_c_" + uidA, "_b_" + uidA, "A_b_" + uidA, "a_b\n_" + uidA, "a_b_" + uidA[1:]} {
				write(t, "", dir, folder, "c", "0.log")
			}
		}, nil, ""},
		"a name of a container that is none": {func(dir string) { write(t, "", dir, "a_b_"+uidA, "c\x1b[31m", "0.log") }, pod(""), ""},
		"two folders": {func(dir string) {
			write(t, "", dir, "a_b_"+uidA, "c", "0.log")
			write(t, "", dir, "a_x_"+uidA, "c", "0.log")
		}, &model.Container{}, "has two log folders"},
		"a file instead": {func(dir string) {
			must(t, os.Remove(dir))
			write(t, "", dir)
		}, nil, "not a directory"},
	} {
		dir := filepath.Join(t.TempDir(), "pods")
		must(t, os.Mkdir(dir, 0o755))
		c.make(dir)
		var w model.Warnings
		names := podNames(dir, map[string]bool{uidA: true}, &w)
		var got *model.Container
		if pod, ok := names[uidA]; ok {
			got = &pod
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(names) > 1 {
			t.Errorf("%s: %v (-want +got):\n%s", name, names, diff)
		}
		if said := strings.Join(w.Texts, "; "); (c.warn == "") != (said == "") || !strings.Contains(said, c.warn) {
			t.Errorf("%s: warnings %q, want %q", name, said, c.warn)
		}
	}
}

func FuzzParsePodFolder(f *testing.F) {
	for _, seed := range []string{"team-a_llm-0_" + uidA, "kube-system_x_" + static, "a_b_c_" + uidA, "a__" + uidA, "../a_b_" + uidA} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, folder string) {
		pod, ok := parsePodFolder(folder)
		if ok != (pod != model.Container{}) || ok && pod.Namespace+"_"+pod.Pod+"_"+pod.PodUID != folder {
			t.Errorf("%q is %+v", folder, pod)
		}
	})
}
