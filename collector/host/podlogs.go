package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// kubernetesName matches what Kubernetes could call something.
var kubernetesName = regexp.MustCompile(`^[a-z0-9.-]{1,253}$`)

// podNames returns the names of the wanted pods, by UID. The kubelet makes the folders
// <namespace>_<pod>_<uid>/<container> with every runtime. Only names of folders are read: no
// log is opened and no link followed. A machine without the folder has no kubelet.
func podNames(dir string, wanted map[string]bool, w *model.Warnings) map[string]model.Container {
	names := map[string]model.Container{}
	if len(wanted) == 0 {
		return names
	}
	for _, folder := range folders(dir, w) {
		pod, ok := parsePodFolder(folder)
		if !ok || !wanted[pod.PodUID] {
			continue
		}
		if _, twice := names[pod.PodUID]; twice {
			w.Add("pod %s has two log folders, so that its name is not known", pod.PodUID)
			names[pod.PodUID] = model.Container{}
			continue
		}
		// Which of several containers a process is in, the folders do not show.
		if all := folders(filepath.Join(dir, folder), w); len(all) == 1 && kubernetesName.MatchString(all[0]) {
			pod.Name = all[0]
		}
		names[pod.PodUID] = pod
	}
	return names
}

// parsePodFolder reads <namespace>_<pod>_<uid>; none of these can hold a _.
func parsePodFolder(folder string) (pod model.Container, ok bool) {
	fields := strings.Split(folder, "_")
	if len(fields) != 3 || !kubernetesName.MatchString(fields[0]) || !kubernetesName.MatchString(fields[1]) || !isUID(fields[2]) {
		return model.Container{}, false
	}
	return model.Container{Namespace: fields[0], Pod: fields[1], PodUID: fields[2]}, true
}

// folders returns the names of the folders in dir, without links to any. A dir that is not
// there has none.
func folders(dir string, w *model.Warnings) (names []string) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission): // newer kubelets make the folder root's alone
		w.Add("reading the names of pods in %s: %v; run as uid 0 or in a group that may read the folder", dir, failure.Cause(err))
	default:
		w.Add("reading the names of pods in %s: %v", dir, failure.Cause(err))
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
