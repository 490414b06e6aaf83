package host

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// inside is the environment variable that makes this program look from another namespace:
// a folder, and the PIDs to look at.
const inside = "HOST_TEST_INSIDE"

// seen is what was read from other namespaces.
type seen struct {
	Containers map[string]model.Container
	Reason     failure.Reason
}

func readFrom(procfs string, pids []string) seen {
	r := ProcessReader{Procfs: process.FS(procfs), PodLogs: "/none", Containers: true, Timeout: time.Minute}
	found := r.Read(listed(pids...), time.Now())
	return seen{containersOf(found), failure.ReasonOf(found.Err)}
}

// TestKernel places processes in cgroups that are named as a pod's container, below which
// one makes another, and looks at them with the kernel's own files: from the host, from a
// PID and cgroup namespace of its own, and from there with the host's procfs.
func TestKernel(t *testing.T) {
	if dir, pids, ok := strings.Cut(os.Getenv(inside), ":"); ok {
		all := map[string]seen{}
		for name, procfs := range map[string]string{"host": dir + "/proc", "own": "/proc"} {
			all[name] = readFrom(procfs, strings.Split(pids, ","))
		}
		text, err := json.Marshal(all)
		must(t, err)
		must(t, os.WriteFile(dir+"/seen", text, 0o644))
		return
	}
	group := testCgroup(t)
	a, b := id("a"), id("b")
	inPod := sleeper(t, group, "kubepods/burstable/pod"+uidA+"/"+a)
	forged := sleeper(t, group, "kubepods/burstable/pod"+uidA+"/"+b+"/kubepods/pod"+static+"/"+a)
	plain := sleeper(t, group, "docker/"+a)
	pids := []string{inPod, forged, plain, sleeper(t, group, "vllm.service"), "1", "2"}
	want := seen{Containers: map[string]model.Container{inPod: whole(uidA, a), forged: whole(uidA, b), plain: alone(a)}}
	if diff := cmp.Diff(want, readFrom("/proc", pids)); diff != "" {
		t.Errorf("from the host (-want +got):\n%s", diff)
	}
	from := fromInside(t, group, pids)
	if diff := cmp.Diff(want, from["host"]); diff != "" {
		t.Errorf("from a container with the host's procfs (-want +got):\n%s", diff)
	}
	if own := from["own"]; own.Reason != failure.Unsupported || len(own.Containers) > 0 {
		t.Errorf("from a foreign PID namespace: %+v", own)
	}
}

// testCgroup makes a cgroup v2 for the test, below the root: below a user's slice no pod is
// believed.
func testCgroup(t *testing.T) string {
	t.Helper()
	if err := process.FS("/proc").CheckHostPIDs(); err != nil || os.Geteuid() != 0 {
		t.Skip("making cgroups and namespaces takes root in the host's PID namespace:", err)
	}
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		t.Skip("mounting cgroup v2:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, 0)) })
	group, err := os.MkdirTemp(root, "accelerator-exporter-test-")
	if err != nil {
		t.Skip("cgroup v2 is not to be written:", err)
	}
	t.Cleanup(func() { removeCgroups(t, group) })
	return group
}

// removeCgroups removes a cgroup and those below it.
func removeCgroups(t *testing.T, group string) {
	t.Helper()
	for _, below := range folders(group, &model.Warnings{}) {
		removeCgroups(t, filepath.Join(group, below))
	}
	// A process is in there for a moment after it was reaped.
	for deadline := time.Now().Add(10 * time.Second); os.Remove(group) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s cannot be removed", group)
		}
	}
}

// command is a program that is started in a cgroup below group.
func command(t *testing.T, group, below, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(group, below)
	must(t, os.MkdirAll(path, 0o755))
	dir, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	return cmd
}

// sleeper starts a process in a cgroup below group, and returns its number.
func sleeper(t *testing.T, group, below string) string {
	t.Helper()
	cmd := command(t, group, below, "sleep", "1000")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// fromInside runs this test in a mount, PID and cgroup namespace of its own, and returns
// what it saw with the host's procfs and with its own.
func fromInside(t *testing.T, group string, pids []string) (all map[string]seen) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--cgroup", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces are not to be made here: %v\n%s", err, out)
	}
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/proc", 0o755))
	const script = `mount --bind /proc "$1/proc" && exec unshare --cgroup --pid --fork --mount-proc "$2" -test.run='^TestKernel$'`
	cmd := command(t, group, "reader/deep", "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", dir, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"="+dir+":"+strings.Join(pids, ","))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(dir + "/seen")
	must(t, err)
	must(t, json.Unmarshal(text, &all))
	return all
}
