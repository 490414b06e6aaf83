package container

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	uidA    = "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e"
	uidB    = "8712f785-1a3e-41ec-a00b-e2dcc77431cb"
	static  = "3e61c214bc3ed9ff81e21474dd6cba17"
	slice   = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice"
	sliceB  = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod8712f785_1a3e_41ec_a00b_e2dcc77431cb.slice"
	cgroups = "/kubepods/burstable/pod" + uidA
)

// id is a container's id of one digit.
func id(digit string) string { return strings.Repeat(digit, 64) }

func whole(uid, container string) Membership {
	return Membership{State: Whole, PodUID: uid, ContainerID: container}
}

func alone(container string) Membership { return Membership{State: Partial, ContainerID: container} }

func podOnly(uid string) Membership { return Membership{State: Partial, PodUID: uid} }

type shape struct {
	name, path string
	want       Membership
}

// shapes are the paths that runtimes and drivers make. Each is read as the line of cgroup
// v2, and as those of v1.
func shapes() []shape {
	a, b := id("a"), id("b")
	return []shape{
		{"cgroupfs", cgroups + "/" + a, whole(uidA, a)},
		{"cgroupfs, guaranteed", "/kubepods/pod" + uidA + "/" + a, whole(uidA, a)},
		{"systemd and docker", sliceB + "/docker-" + a + ".scope", whole(uidB, a)},
		{"systemd and containerd", slice + "/cri-containerd-" + a + ".scope", whole(uidA, a)},
		{"systemd, guaranteed", "/kubepods.slice/kubepods-pod8712f785_1a3e_41ec_a00b_e2dcc77431cb.slice/cri-containerd-" + a + ".scope", whole(uidB, a)},
		{"drivers differ", "/system.slice/containerd.service/kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice:cri-containerd:" + a, whole(uidA, a)},
		{"drivers differ, guaranteed, and a child", "/system.slice/containerd.service/kubepods-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice:cri-containerd:" + a + "/init", whole(uidA, a)},
		{"drivers differ, CRI-O's monitor", "/system.slice/crio.service/kubepods-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice:crio-conmon:" + a, podOnly(uidA)},
		{"drivers differ, docker alone", "/system.slice/docker.service/system.slice:docker:" + a, alone(a)},
		{"CRI-O", slice + "/crio-" + a + ".scope", whole(uidA, a)},
		{"CRI-O with crun", slice + "/crio-" + a + ".scope/container", whole(uidA, a)},
		{"CRI-O with cgroupfs", cgroups + "/crio-" + a, whole(uidA, a)},
		{"CRI-O's monitor", slice + "/crio-conmon-" + a + ".scope", podOnly(uidA)},
		{"iSulad", cgroups + "/" + a, whole(uidA, a)},
		{"iSulad with systemd", slice + "/isulad-" + a + ".scope", whole(uidA, a)},
		{"static pod", "/kubepods/burstable/pod" + static + "/" + a, whole(static, a)},
		{"static pod with systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice/cri-containerd-" + a + ".scope", whole(static, a)},
		{"a child of the container", "/kubepods/besteffort/pod" + uidA + "/" + a + "/kube-proxy", whole(uidA, a)},
		{"a child with systemd", slice + "/cri-containerd-" + a + ".scope/init", whole(uidA, a)},
		{"a runtime without a known name", slice + "/other-" + a + ".scope", podOnly(uidA)},
		{"the pod itself", cgroups, podOnly(uidA)},
		{"kind, inside", "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/cri-containerd-" + a + ".scope", whole(uidA, a)},
		{"kind, from the host", "/system.slice/docker-" + b + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/cri-containerd-" + a + ".scope", whole(uidA, a)},
		{"kind with cgroupfs", "/docker/" + b + "/kubelet/kubepods/besteffort/pod" + uidA + "/" + a, whole(uidA, a)},
		{"docker", "/docker/" + a, alone(a)},
		{"docker with systemd", "/system.slice/docker-" + a + ".scope", alone(a)},
		{"docker with a parent", "/serving/gpu/" + a, alone(a)},
		{"docker in docker", "/docker/" + a + "/docker/" + b, alone(a)},
		{"docker in a pod", cgroups + "/" + a + "/docker/" + b, whole(uidA, a)},
		{"nerdctl", "/system.slice/nerdctl-" + a + ".scope", alone(a)},
		{"containerd", "/default/" + a, alone(a)},
		{"podman", "/machine.slice/libpod-" + a + ".scope/container", alone(a)},
		{"podman with cgroupfs", "/libpod_parent/libpod-" + a, alone(a)},
		{"podman's pod with cgroupfs", "/libpod_parent/" + b + "/libpod-" + a, alone(a)},
		{"podman's pod with systemd", "/machine.slice/machine-libpod_pod_" + b + ".slice/libpod-" + a + ".scope", alone(a)},
		{"podman's monitor", "/machine.slice/libpod-conmon-" + a + ".scope", Membership{}},
		{"podman without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + a + ".scope/container", alone(a)},
		{"podman without root, cgroupfs", "/user.slice/user-1000.slice/user@1000.service/libpod/" + a, alone(a)},
		{"iSulad alone", "/isulad/" + a, alone(a)},
		{"iSulad alone, systemd", "/system.slice/isulad-" + a + ".scope", alone(a)},
		{"LXC", "/lxc/web", Membership{}},
		{"LXC of cgroup v2", "/lxc.payload.web/init.scope", Membership{}},
		{"a service", "/system.slice/vllm.service", Membership{}},
		{"a session", "/user.slice/user-1000.slice/session-2.scope", Membership{}},
		{"init", "/init.scope", Membership{}},
		{"the root", "/", Membership{}},
		{"slurm", "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0", Membership{}},
		{"from another cgroup namespace", "/../../../../system.slice/docker-" + a + ".scope", alone(a)},
		{"from one of a neighbour in the pod", "/../crio-" + a + ".scope", alone(a)},
		{"from one of another pod", "/../../kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/cri-containerd-" + a + ".scope", whole(uidA, a)},
		{"from one of another pod, cgroupfs", "/../../pod" + uidA + "/" + a, whole(uidA, a)},
		{"of a cgroup that was removed", cgroups + "/" + a + " (deleted)", whole(uidA, a)},
		// What somebody may name so.
		{"a pod in the container of a pod", cgroups + "/" + a + sliceB + "/cri-containerd-" + b + ".scope", whole(uidA, a)},
		{"a container under a name that is not known", slice + "/other-" + a + ".scope/docker-" + b + ".scope", podOnly(uidA)},
		{"below a monitor", slice + "/crio-conmon-" + a + ".scope/" + b, podOnly(uidA)},
		{"below joined names", "/kubepods-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice:crio-conmon:" + a + "/" + b, podOnly(uidA)},
		{"a pod of a user", "/user.slice/user-1000.slice/user@1000.service" + cgroups + "/" + a, refused("a pod below the cgroups of a user, who may give them any name")},
		{"a pod of a user, from another namespace", "/../../user@1000.service" + cgroups + "/" + a, refused("a pod below the cgroups of a user, who may give them any name")},
		{"almost a pod", "/kubepods/burstable/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979/" + a, alone(a)},
		{"almost a pod's slice", "/a-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/docker-" + a + ".scope", alone(a)},
		{"almost an id", "/docker/" + a[1:], Membership{}},
		{"an id in capitals", "/docker/" + id("A"), Membership{}},
	}
}

// v1 are the lines of a host with cgroup v1, some of whose hierarchies tell nothing.
func v1(path string) string {
	return "12:rdma:/\n11:cpu,cpuacct:" + path + "\n10:memory:" + path + "\n2:misc:/\n1:name=systemd:" + path + "\n"
}

func TestParse(t *testing.T) {
	for _, s := range shapes() {
		for form, text := range map[string]string{
			"v2": "0::" + s.path + "\n", "v1": v1(s.path), "hybrid": v1(s.path) + "0::/system.slice/containerd.service\n",
		} {
			if diff := cmp.Diff(s.want, Parse([]byte(text))); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", s.name, form, diff)
			}
		}
	}
}

// What the hierarchies together tell.
func TestParseLines(t *testing.T) {
	a, b := id("a"), id("b")
	differ, noText := refused("its hierarchies name different containers"), refused("not the text of a cgroup file")
	for _, c := range []struct {
		name, text string
		want       Membership
	}{
		{"nothing mounted", "", Membership{}},
		{"without the last line's end", "0::/docker/" + a, alone(a)},
		{"kind of cgroup v1", v1("/docker/"+b+"/kubepods/besteffort/pod"+uidA+"/"+a) + "0::/docker/" + b + "/system.slice/containerd.service\n", whole(uidA, a)},
		{"the pod in one, its container in another", "2:cpu:" + cgroups + "\n1:memory:" + cgroups + "/" + a + "\n", whole(uidA, a)},
		{"two pods", "2:cpu:" + cgroups + "/" + a + "\n1:memory:" + sliceB + "/docker-" + a + ".scope\n", differ},
		{"two containers of a pod", "2:cpu:" + cgroups + "/" + a + "\n1:memory:" + cgroups + "/" + b + "\n", differ},
		{"two containers", "2:cpu:/docker/" + a + "\n1:memory:/docker/" + b + "\n", differ},
		{"a user's pod in one", "2:cpu:" + cgroups + "/" + a + "\n0::/user.slice" + cgroups + "/" + a + "\n", refused("a pod below the cgroups of a user, who may give them any name")},
		{"another file", "Name:\tsleep\nUmask:\t0022\n", noText},
		{"no path", "0::docker\n", noText},
		{"no number", "::/docker/" + a + "\n", noText},
		{"two parts", "0:/docker/" + a + "\n", noText},
		{"an empty line", "0::/\n\n", noText},
		{"no text", "\x00\xff", noText},
	} {
		if diff := cmp.Diff(c.want, Parse([]byte(c.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Who is in a pod's container may make cgroups below it, and give them any name. It stays
// the container that the host's kubelet knows; the same for a plain container, but for
// pods in it: a kubelet may run there.
func TestNobodyRenamesItself(t *testing.T) {
	var below []string
	for _, s := range shapes() {
		below = append(below, s.path, strings.TrimPrefix(s.path, "/.."))
	}
	below = append(below, "/..", "/../..", "/"+id("c"), "/pod"+uidB, "/user.slice", "/\xff", ":docker:"+id("c"))
	tried := 0
	for _, s := range shapes() {
		removed := strings.HasSuffix(s.path, " (deleted)")
		if s.want.ContainerID == "" || removed {
			continue
		}
		for _, child := range below {
			for _, grandchild := range []string{"", cgroups, sliceB + "/docker-" + id("b") + ".scope", "/" + id("c")} {
				path := s.path + "/x" + child + grandchild
				inner := ofPath("/x" + child + grandchild)
				if s.want.State != Whole && (inner.PodUID != "" || inner.State == Refused) {
					continue
				}
				tried++
				if got := Parse([]byte("0::" + path + "\n")); got != s.want {
					t.Fatalf("%s: with %s below it is %+v, want %+v", s.name, child+grandchild, got, s.want)
				}
			}
		}
	}
	if tried < 5_000 {
		t.Errorf("only %d paths were tried", tried)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range shapes() {
		f.Add("0::"+s.path+"\n", "/x")
		f.Add(v1(s.path), sliceB+"/docker-"+id("b")+".scope")
	}
	f.Fuzz(func(t *testing.T, text, below string) {
		m := Parse([]byte(text))
		if m.ContainerID != "" && !isContainerID(m.ContainerID) || m.PodUID != "" && !isUID(m.PodUID) {
			t.Fatalf("no ids: %+v of %q", m, text)
		}
		known := m.PodUID != "" && m.ContainerID != ""
		if known != (m.State == Whole) || (m.Why != "") != (m.State == Refused) || m.State == Host && m != (Membership{}) ||
			m.State == Refused && m != refused(m.Why) {
			t.Fatalf("%+v of %q", m, text)
		}
		if m.State != Whole || strings.Contains(below, "\n") {
			return
		}
		again := "0::" + cgroups + "/" + m.ContainerID + "/" + below
		if got := Parse([]byte(again)); got != whole(uidA, m.ContainerID) {
			t.Fatalf("%+v of %q", got, again)
		}
	})
}
