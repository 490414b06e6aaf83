package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
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

func whole(uid, id string) model.Container { return model.Container{PodUID: uid, ID: id} }

func alone(id string) model.Container { return model.Container{ID: id} }

func podOnly(uid string) model.Container { return model.Container{PodUID: uid} }

type shape struct {
	name, path string
	want       model.Container
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
		{"podman's monitor", "/machine.slice/libpod-conmon-" + a + ".scope", model.Container{}},
		{"podman without root", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + a + ".scope/container", alone(a)},
		{"podman without root, cgroupfs", "/user.slice/user-1000.slice/user@1000.service/libpod/" + a, alone(a)},
		{"iSulad alone", "/isulad/" + a, alone(a)},
		{"iSulad alone, systemd", "/system.slice/isulad-" + a + ".scope", alone(a)},
		{"LXC", "/lxc/web", model.Container{}},
		{"LXC of cgroup v2", "/lxc.payload.web/init.scope", model.Container{}},
		{"a service", "/system.slice/vllm.service", model.Container{}},
		{"a session", "/user.slice/user-1000.slice/session-2.scope", model.Container{}},
		{"init", "/init.scope", model.Container{}},
		{"the root", "/", model.Container{}},
		{"slurm", "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0", model.Container{}},
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
		{"almost a pod", "/kubepods/burstable/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979/" + a, alone(a)},
		{"almost a pod's slice", "/a-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/docker-" + a + ".scope", alone(a)},
		{"almost an id", "/docker/" + a[1:], model.Container{}},
		{"an id in capitals", "/docker/" + id("A"), model.Container{}},
	}
}

// v1 are the lines of a host with cgroup v1, some of whose hierarchies tell nothing.
func v1(path string) string {
	return "12:rdma:/\n11:cpu,cpuacct:" + path + "\n10:memory:" + path + "\n2:misc:/\n1:name=systemd:" + path + "\n"
}

func TestParseCgroup(t *testing.T) {
	for _, s := range shapes() {
		for form, text := range map[string]string{
			"v2": "0::" + s.path + "\n", "v1": v1(s.path), "hybrid": v1(s.path) + "0::/system.slice/containerd.service\n",
		} {
			got, err := parseCgroup(text)
			if diff := cmp.Diff(s.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", s.name, form, err, diff)
			}
		}
	}
}

// What the hierarchies together tell, and what is refused.
func TestParseCgroupLines(t *testing.T) {
	a, b := id("a"), id("b")
	for _, c := range []struct {
		name, text string
		want       model.Container
		err        error
	}{
		{"nothing mounted", "", model.Container{}, nil},
		{"without the last line's end", "0::/docker/" + a, alone(a), nil},
		{"kind of cgroup v1", v1("/docker/"+b+"/kubepods/besteffort/pod"+uidA+"/"+a) + "0::/docker/" + b + "/system.slice/containerd.service\n", whole(uidA, a), nil},
		{"the pod in one, its container in another", "2:cpu:" + cgroups + "\n1:memory:" + cgroups + "/" + a + "\n", whole(uidA, a), nil},
		{"two pods", "2:cpu:" + cgroups + "/" + a + "\n1:memory:" + sliceB + "/docker-" + a + ".scope\n", model.Container{}, errCgroupsDisagree},
		{"two containers of a pod", "2:cpu:" + cgroups + "/" + a + "\n1:memory:" + cgroups + "/" + b + "\n", model.Container{}, errCgroupsDisagree},
		{"two containers", "2:cpu:/docker/" + a + "\n1:memory:/docker/" + b + "\n", model.Container{}, errCgroupsDisagree},
		{"a pod of a user", "0::/user.slice/user-1000.slice/user@1000.service" + cgroups + "/" + a + "\n", model.Container{}, errPodBelowUserTree},
		{"a pod of a user, from another namespace", "0::/../../user@1000.service" + cgroups + "/" + a + "\n", model.Container{}, errPodBelowUserTree},
		{"a user's pod in one", "2:cpu:" + cgroups + "/" + a + "\n0::/user.slice" + cgroups + "/" + a + "\n", model.Container{}, errPodBelowUserTree},
		{"another file", "Name:\tsleep\nUmask:\t0022\n", model.Container{}, errNoCgroupFile},
		{"no path", "0::docker\n", model.Container{}, errNoCgroupFile},
		{"no number", "::/docker/" + a + "\n", model.Container{}, errNoCgroupFile},
	} {
		got, err := parseCgroup(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// Who is in a pod's container may make cgroups below it, and give them any name. It stays
// the container that the host's kubelet knows; the same for a plain container, but for
// pods in it: a kubelet may run there.
func TestNobodyRenamesItself(t *testing.T) {
	for _, s := range shapes() {
		if s.want.ID == "" || strings.HasSuffix(s.path, " (deleted)") {
			continue
		}
		for _, below := range shapes() {
			inner, err := parseCgroupPath("/x" + below.path)
			if s.want.PodUID == "" && (inner.PodUID != "" || err != nil) {
				continue
			}
			if got, err := parseCgroup("0::" + s.path + "/x" + below.path + "\n"); got != s.want || err != nil {
				t.Fatalf("%s: with %s below it is %+v, %v, want %+v", s.name, below.path, got, err, s.want)
			}
		}
	}
}

func FuzzParseCgroup(f *testing.F) {
	for _, s := range shapes() {
		f.Add("0::"+s.path+"\n", "/x")
		f.Add(v1(s.path), sliceB+"/docker-"+id("b")+".scope")
	}
	f.Fuzz(func(t *testing.T, text, below string) {
		c, err := parseCgroup(text)
		if c.ID != "" && !isContainerID(c.ID) || c.PodUID != "" && !isUID(c.PodUID) || err != nil && c != (model.Container{}) {
			t.Fatalf("%+v, %v of %q", c, err, text)
		}
		if c.ID == "" || c.PodUID == "" || strings.Contains(below, "\n") {
			return
		}
		again := "0::" + cgroups + "/" + c.ID + "/" + below
		if got, err := parseCgroup(again); got != whole(uidA, c.ID) {
			t.Fatalf("%+v, %v of %q", got, err, again)
		}
	})
}
