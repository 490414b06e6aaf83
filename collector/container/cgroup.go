package container

import "strings"

// State is how much a cgroup file tells.
type State uint8

// The states. A container of LXC is Host: it has a name, but no id that anything else
// could be joined with.
const (
	Host    State = iota // in no container
	Whole                // pod and container
	Partial              // a container without a pod, or a pod without a container
	Refused              // not to be believed
)

// Membership is what a process's cgroup file tells. The zero value is of a process on the
// host.
type Membership struct {
	State       State
	PodUID      string // with dashes, or 32 hexadecimal digits
	ContainerID string // 64 hexadecimal digits
	Why         string // it is Refused
}

// Parse reads the text of /proc/PID/cgroup, of cgroup v1, v2 or both. Of the hierarchies
// those count that name a pod, else those that name a container; if they disagree, the
// text is refused.
func Parse(text []byte) Membership {
	var pod, plain Membership
	agree := true
	for line := range strings.Lines(string(text)) {
		path, ok := pathOf(strings.TrimSuffix(line, "\n"))
		if !ok {
			return refused("not the text of a cgroup file")
		}
		m := ofPath(path)
		switch {
		case m.State == Refused:
			return m
		case m.PodUID != "":
			if !pod.join(m) {
				return refused("its hierarchies name different containers")
			}
		case m.ContainerID != "":
			agree = plain.join(m) && agree
		}
	}
	switch {
	case pod.PodUID != "" && pod.ContainerID != "":
		pod.State = Whole
		return pod
	case pod.PodUID != "":
		pod.State = Partial
		return pod
	case !agree:
		return refused("its hierarchies name different containers")
	case plain.ContainerID != "":
		plain.State = Partial
	}
	return plain
}

func refused(why string) Membership { return Membership{State: Refused, Why: why} }

// pathOf returns the path of a line such as 4:memory:/path or 0::/path.
func pathOf(line string) (string, bool) {
	number, rest, _ := strings.Cut(line, ":")
	_, path, ok := strings.Cut(rest, ":")
	digits := strings.Trim(number, "0123456789") == "" && number != ""
	return strings.TrimSuffix(path, " (deleted)"), ok && digits && strings.HasPrefix(path, "/")
}

// join takes over what another hierarchy tells, and reports false where they disagree.
func (m *Membership) join(other Membership) bool {
	if m.PodUID != "" && m.PodUID != other.PodUID {
		return false
	}
	if m.ContainerID != "" && other.ContainerID != "" && m.ContainerID != other.ContainerID {
		return false
	}
	m.PodUID = other.PodUID
	if other.ContainerID != "" {
		m.ContainerID = other.ContainerID
	}
	return true
}

// ofPath takes the first pod level from the left and the container directly below it, since
// who may make cgroups makes them below its own: a container cannot name itself another. A
// pod level counts below a plain container too, which is how a kubelet in a container looks.
// Without one, the first container from the left is told.
//
// A reader with a cgroup namespace of its own sees paths relative to its root, with .. in
// front; a level that is above the root is not known, and .. means nothing.
func ofPath(path string) (m Membership) {
	levels := strings.Split(path, "/")
	ofUser := false
	for i, level := range levels {
		if uid, id, ok := podOf(level, levels[i+1:]); ok {
			if ofUser {
				return refused("a pod below the cgroups of a user, who may give them any name")
			}
			return Membership{PodUID: uid, ContainerID: id}
		}
		ofUser = ofUser || level == "user.slice" || strings.HasPrefix(level, "user-") || strings.HasPrefix(level, "user@")
		// The folder of a pod of podman, whose containers are below it.
		ofPodman := i > 0 && levels[i-1] == "libpod_parent" && !strings.HasPrefix(level, "libpod-")
		if m.ContainerID == "" && !ofPodman {
			m.ContainerID = containerOf(level)
		}
	}
	return m
}

// podOf returns the pod that a level is of, and the container: the next level, or the rest
// of this one, where the runtime took systemd's name for a path.
func podOf(level string, below []string) (uid, id string, ok bool) {
	slice, rest, joined := strings.Cut(level, ":")
	if uid, ok = podUID(slice); !ok {
		return "", "", false
	}
	switch {
	case joined:
		id = runtimeContainer(rest, ":")
	case len(below) > 0:
		id = containerOf(below[0])
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

// containerOf returns the container that a level is of, "" for none.
func containerOf(level string) string {
	if isContainerID(level) {
		return level
	}
	if _, rest, ok := strings.Cut(level, ":"); ok {
		return runtimeContainer(rest, ":")
	}
	return runtimeContainer(strings.TrimSuffix(level, ".scope"), "-")
}

// runtimeContainer reads the names that runtimes give, such as cri-containerd-ID. A monitor
// of a container, such as crio-conmon-ID, is not in it.
func runtimeContainer(name, separator string) string {
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

func isContainerID(text string) bool { return len(text) == 64 && isHex(text) }

// isUID reports whether the text is a pod's UID: a UUID, or the 32 digits of a static pod.
func isUID(text string) bool {
	if len(text) == 32 {
		return isHex(text)
	}
	parts := strings.Split(text, "-")
	if len(text) != 36 || len(parts) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != n || !isHex(parts[i]) {
			return false
		}
	}
	return true
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }
