package container

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Far more than a node has: 110 pods by default, each with a few containers.
const (
	maxPodFolders = 1 << 14
	maxPodEntries = 1 << 10 // of one pod
	maxName       = 253     // characters of a name in Kubernetes
)

// podName is what a pod's log folder is called by.
type podName struct {
	namespace, pod, container string
}

// podNames returns the names of the wanted pods, by UID. The kubelet makes the folders
// <namespace>_<pod>_<uid>/<container> with every runtime. Only names of folders are read: no
// file is opened and no link followed. A machine without the folder has no kubelet.
func podNames(dir string, wanted map[string]bool, w *model.Warnings) map[string]podName {
	names := map[string]podName{}
	if len(wanted) == 0 {
		return names
	}
	root, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0) // opening a pipe would block
	if err != nil {
		warnUnread(w, dir, err)
		return names
	}
	defer root.Close()
	twice := map[string]bool{}
	err = folders(root, maxPodFolders, func(folder string) {
		name, uid, ok := splitFolder(folder)
		if !ok || !wanted[uid] {
			return
		}
		if _, known := names[uid]; known {
			twice[uid] = true
			return
		}
		name.container = onlyContainer(root, folder, w)
		names[uid] = name
	})
	warnUnread(w, dir, err)
	for uid := range twice {
		w.Add("pod %s has two log folders, so that its name is not known", uid)
		delete(names, uid)
	}
	return names
}

// splitFolder reads <namespace>_<pod>_<uid>; none of these can hold a _.
func splitFolder(folder string) (name podName, uid string, ok bool) {
	parts := strings.Split(folder, "_")
	if len(parts) != 3 || !isName(parts[0]) || !isName(parts[1]) || !isUID(parts[2]) {
		return podName{}, "", false
	}
	return podName{namespace: parts[0], pod: parts[1]}, parts[2], true
}

// onlyContainer returns the pod's container where it has one only: which of several a
// process is in, the folders do not tell.
func onlyContainer(root *os.File, folder string, w *model.Warnings) string {
	path := filepath.Join(root.Name(), folder)
	fd, err := unix.Openat(int(root.Fd()), folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		warnUnread(w, path, err)
		return ""
	}
	pod := os.NewFile(uintptr(fd), path)
	defer pod.Close()
	found, n := "", 0
	err = folders(pod, maxPodEntries, func(name string) { found, n = name, n+1 })
	warnUnread(w, path, err)
	if err != nil || n != 1 || !isName(found) {
		return ""
	}
	return found
}

// folders calls each with the names of the folders in dir, without links to any.
func folders(dir *os.File, most int, each func(name string)) error {
	for seen := 0; ; {
		const batch = 256
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			if seen++; seen > most {
				return errors.New("too many entries, the others are left out")
			}
			if e.IsDir() {
				each(e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// warnUnread adds a warning, unless the folder has only gone.
func warnUnread(w *model.Warnings, dir string, err error) {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission): // newer kubelets make the folder root's alone
		w.Add("reading the names of pods in %s: %v; it takes uid 0 or a group that may read the folder", dir, failure.Cause(err))
	default:
		w.Add("reading the names of pods in %s: %v", dir, failure.Cause(err))
	}
}

// isName reports whether Kubernetes could call something so.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}
