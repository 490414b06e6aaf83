package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// ownCgroup is the folder of the cgroup v2 that we are in, "" where none is mounted.
func ownCgroup() string {
	fs, err := procfs.NewFS("/proc")
	if err != nil {
		return ""
	}
	return cgroupOf(fs)
}

func cgroupOf(fs procfs.FS) string {
	self, err := fs.Self()
	if err != nil {
		return ""
	}
	groups, err := self.Cgroups()
	if err != nil {
		return ""
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return ""
	}
	for _, group := range groups {
		if group.HierarchyID != 0 || strings.HasPrefix(group.Path, "/..") { // v1, or outside of our namespace
			continue
		}
		for _, m := range mounts {
			below, err := filepath.Rel(m.Root, group.Path)
			if m.FSType == "cgroup2" && err == nil && filepath.IsLocal(below) {
				return filepath.Join(m.MountPoint, below)
			}
		}
	}
	return ""
}

// startLeader starts the program at path in a cgroup of its own, whose folder it
// returns, and without one where we may not make it or not start anything in it.
func (t *Tree) startLeader(path string) (*exec.Cmd, string, error) {
	if cgroup, dir := t.makeCgroup(); dir != nil {
		defer dir.Close()
		cmd := t.leader(path)
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		if cmd.Start() == nil {
			return cmd, cgroup, nil
		}
		for range 100 {
			if removeCgroup(cgroup) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	cmd := t.leader(path)
	return cmd, "", cmd.Start()
}

// makeCgroup makes a cgroup below ours, and opens its folder; nil where it cannot.
func (t *Tree) makeCgroup() (cgroup string, dir *os.File) {
	if t.subreaper.cgroup == "" || t.command.Kill != nil {
		return "", nil
	}
	cgroup, err := os.MkdirTemp(t.subreaper.cgroup, "started-")
	if err != nil {
		return "", nil
	}
	if dir, err = os.Open(cgroup); err != nil {
		removeCgroup(cgroup)
		return "", nil
	}
	return cgroup, dir
}

// killCgroup sends SIGKILL to all that is in the cgroup, also to what is being forked,
// and reports whether it could: kernels before 5.14 cannot.
func killCgroup(cgroup string) bool {
	return cgroup != "" && os.WriteFile(filepath.Join(cgroup, "cgroup.kill"), []byte("1"), 0) == nil
}

// removeCgroup removes a cgroup, and reports false where something still lives in it. A
// process is in there for a moment after it was reaped.
func removeCgroup(cgroup string) bool {
	if cgroup == "" || os.Remove(cgroup) == nil {
		return true
	}
	events, err := os.ReadFile(filepath.Join(cgroup, "cgroup.events"))
	return err != nil || !bytes.Contains(events, []byte("populated 1\n"))
}
