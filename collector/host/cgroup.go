package host

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

var (
	errNoCgroupFile     = errors.New("not the text of a cgroup file")
	errCgroupsDisagree  = errors.New("its hierarchies name different containers")
	errPodBelowUserTree = errors.New("a pod below the cgroups of a user, who may give them any name")
)

// parseCgroup reads the text of /proc/PID/cgroup, of cgroup v1, v2 or both, and returns the
// ids of pod and container; zero for a process on the host. The hierarchies that name a pod
// count, else those that name a container. LXC has names but no ids, so its processes are
// the host's.
func parseCgroup(text string) (model.Container, error) {
	var all, inPod []model.Container
	for line := range strings.Lines(text) {
		path, ok := cgroupPath(strings.TrimSuffix(line, "\n"))
		if !ok {
			return model.Container{}, errNoCgroupFile
		}
		c, err := parseCgroupPath(path)
		if err != nil {
			return model.Container{}, err
		}
		all = append(all, c)
		if c.PodUID != "" {
			inPod = append(inPod, c)
		}
	}
	if len(inPod) > 0 {
		all = inPod
	}
	var found model.Container
	for _, c := range all {
		if found.PodUID != "" && c.PodUID != found.PodUID || found.ID != "" && c.ID != "" && c.ID != found.ID {
			return model.Container{}, errCgroupsDisagree
		}
		found.PodUID, found.ID = c.PodUID, cmp.Or(c.ID, found.ID)
	}
	return found, nil
}

// cgroupPath returns the path of a line such as 4:memory:/path or 0::/path.
func cgroupPath(line string) (string, bool) {
	number, rest, _ := strings.Cut(line, ":")
	_, path, ok := strings.Cut(rest, ":")
	isNumber := strings.Trim(number, "0123456789") == "" && number != ""
	return strings.TrimSuffix(path, " (deleted)"), ok && isNumber && strings.HasPrefix(path, "/")
}

// parseCgroupPath takes the first pod level from the left and the container directly below
// it: who may make cgroups makes them below its own, so a container cannot name itself
// another. A pod level below a plain container counts too, as of a kubelet in a container.
// Without a pod, the first container from the left is taken.
//
// A reader with a cgroup namespace of its own sees paths relative to its root, with .. in
// front, which mean nothing.
func parseCgroupPath(path string) (model.Container, error) {
	var c model.Container
	levels := strings.Split(path, "/")
	belowUser := false
	for i, level := range levels {
		if uid, id, ok := parsePodLevel(level, levels[i+1:]); ok {
			if belowUser {
				return model.Container{}, errPodBelowUserTree
			}
			return model.Container{PodUID: uid, ID: id}, nil
		}
		belowUser = belowUser || level == "user.slice" || strings.HasPrefix(level, "user-") || strings.HasPrefix(level, "user@")
		// Podman's pods have ids as well, and their containers below them.
		isPodmanPod := i > 0 && levels[i-1] == "libpod_parent" && !strings.HasPrefix(level, "libpod-")
		if c.ID == "" && !isPodmanPod {
			c.ID = containerID(level)
		}
	}
	return c, nil
}

// parsePodLevel returns the pod that a level is of, and its container: the next level, or
// the rest of this one, where the runtime took systemd's name for a path.
func parsePodLevel(level string, below []string) (uid, id string, ok bool) {
	slice, rest, joined := strings.Cut(level, ":")
	if uid, ok = podUID(slice); !ok {
		return "", "", false
	}
	switch {
	case joined:
		id = idAfterRuntime(rest, ":")
	case len(below) > 0:
		id = containerID(below[0])
	}
	return uid, id, true
}

// podUID reads podUID of the driver cgroupfs, and kubepods-burstable-podUID.slice of
// systemd, which has _ for -.
func podUID(level string) (string, bool) {
	if uid, ok := strings.CutPrefix(level, "pod"); ok && isUID(uid) {
		return uid, true
	}
	name, ok := strings.CutSuffix(level, ".slice")
	at := strings.LastIndex(name, "-pod")
	if !ok || at < 0 {
		return "", false
	}
	parent := strings.TrimSuffix(strings.TrimSuffix(name[:at], "-burstable"), "-besteffort")
	uid := strings.ReplaceAll(name[at+len("-pod"):], "_", "-")
	return uid, isUID(uid) && (parent == "kubepods" || strings.HasSuffix(parent, "-kubepods"))
}

// containerID returns the id of the container that a level is of, "" for none.
func containerID(level string) string {
	if isContainerID(level) {
		return level
	}
	if _, rest, ok := strings.Cut(level, ":"); ok {
		return idAfterRuntime(rest, ":")
	}
	return idAfterRuntime(strings.TrimSuffix(level, ".scope"), "-")
}

// idAfterRuntime reads the names that runtimes give, such as cri-containerd-ID. A monitor
// of a container, such as crio-conmon-ID, is not in it.
func idAfterRuntime(name, separator string) string {
	at := strings.LastIndex(name, separator)
	if at < 0 || !isContainerID(name[at+1:]) {
		return ""
	}
	switch name[:at] {
	case "docker", "cri-containerd", "containerd", "nerdctl", "crio", "libpod", "libpod-payload", "isulad":
		return name[at+1:]
	}
	return ""
}

var (
	containerIDs = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// podUIDs are UUIDs, and the 32 digits of a static pod.
	podUIDs = regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
)

func isContainerID(text string) bool { return containerIDs.MatchString(text) }

func isUID(text string) bool { return podUIDs.MatchString(text) }
