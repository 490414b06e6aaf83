package container

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
	"github.com/prometheus/procfs"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// inside is the environment variable that makes this program look from another namespace.
const inside = "CONTAINER_TEST_INSIDE"

// looked is what one look of a process in other namespaces gave.
type looked struct {
	Snapshot Snapshot
	Reason   failure.Reason
}

// TestKernel places processes in cgroups that are named as a pod's container, below which
// they make another, and looks at them with the kernel's own files: from the host, from a
// PID and cgroup namespace of its own, and from there with the host's procfs.
func TestKernel(t *testing.T) {
	if what := os.Getenv(inside); what != "" {
		lookFromInside(t, what)
		return
	}
	group := testCgroup(t)
	a, b := id("a"), id("b")
	inPod := sleeper(t, group, "kubepods/burstable/pod"+uidA+"/"+a)
	forged := sleeper(t, group, "kubepods/burstable/pod"+uidA+"/"+b+"/kubepods/pod"+static+"/"+a)
	plain := sleeper(t, group, "docker/"+a)
	host := sleeper(t, group, "vllm.service")
	list := listed("metax", inPod, forged, plain, host, "1", "2")
	starts := map[string]uint64{}
	for i, l := range list {
		pid, err := strconv.Atoi(l.PID)
		must(t, err)
		st, ok := process.FS("/proc").Stat(pid)
		if !ok {
			t.Fatalf("process %d is gone", pid)
		}
		list[i].Start, starts[l.PID] = st.Start, st.Start
	}
	logs := t.TempDir()
	write(t, "", logs, "team-a_llm-0_"+uidA, "vllm", "0.log")
	names := Place{PodUID: uidA, Namespace: "team-a", Pod: "llm-0", Container: "vllm"}
	want := []Process{{Vendor: "metax", PID: inPod, Place: names}, {Vendor: "metax", PID: forged, Place: names}, {Vendor: "metax", PID: plain, Place: Place{ContainerID: a}}}
	want[0].Place.ContainerID, want[1].Place.ContainerID = a, b
	for i := range want {
		want[i].Start = starts[want[i].PID]
	}

	s, err := Reader{Procfs: "/proc", PodLogs: logs}.Read(list)
	must(t, err)
	checkProcesses(t, "from the host", want, s)

	// The same from a reader whose cgroup is a neighbour of theirs and the root of its
	// namespace, with the host's procfs and with its own.
	for what, look := range fromInside(t, group, logs, list) {
		switch {
		case what == "host" && look.Reason != "":
			t.Errorf("with the host's procfs: %s", look.Reason)
		case what == "host":
			checkProcesses(t, "with the host's procfs", want, look.Snapshot)
		case look.Reason != failure.Unsupported || len(look.Snapshot.Processes) > 0:
			t.Errorf("from a foreign PID namespace: %q, %+v", look.Reason, look.Snapshot)
		}
	}
}

func checkProcesses(t *testing.T, from string, want []Process, s Snapshot) {
	t.Helper()
	if diff := cmp.Diff(Snapshot{Processes: want}, s); diff != "" {
		t.Errorf("%s (-want +got):\n%s", from, diff)
	}
}

// testCgroup makes a cgroup v2 for the test, below the root: below a user's slice no pod is
// believed.
func testCgroup(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups and namespaces takes root")
	}
	if err := process.FS("/proc").CheckHostPIDs(); err != nil {
		t.Skip("not in the host's PID namespace:", err)
	}
	fs, err := procfs.NewFS("/proc")
	must(t, err)
	self, err := fs.Self()
	must(t, err)
	mounts, err := self.MountInfo()
	must(t, err)
	for _, m := range mounts {
		if m.FSType != "cgroup2" {
			continue
		}
		group, err := os.MkdirTemp(m.MountPoint, "accelerator-exporter-test-")
		if err != nil {
			t.Skip("cgroup v2 is not to be written:", err)
		}
		t.Cleanup(func() { removeCgroups(t, group) })
		return group
	}
	t.Skip("no cgroup v2 is mounted")
	return ""
}

// removeCgroups removes a cgroup and those below it, which are empty by now.
func removeCgroups(t *testing.T, group string) {
	t.Helper()
	entries, err := os.ReadDir(group)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			removeCgroups(t, filepath.Join(group, e.Name()))
		}
	}
	// A process is in there for a moment after it was reaped.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err = os.Remove(group); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
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
// what it saw.
func fromInside(t *testing.T, group, logs string, list []Listed) map[string]looked {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--cgroup", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces are not to be made here: %v\n%s", err, out)
	}
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/proc", 0o755))
	input, err := json.Marshal(list)
	must(t, err)
	write(t, string(input), dir, "listed")
	const script = `mount --bind /proc "$1/proc" && exec unshare --cgroup --pid --fork --mount-proc "$2" -test.run='^TestKernel$'`
	cmd := command(t, group, "reader/deep", "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", dir, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"="+dir+":"+logs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(dir + "/looked")
	must(t, err)
	var all map[string]looked
	must(t, json.Unmarshal(text, &all))
	if len(all) != 2 {
		t.Fatalf("%s", text)
	}
	return all
}

func lookFromInside(t *testing.T, what string) {
	t.Helper()
	dir, logs, _ := strings.Cut(what, ":")
	text, err := os.ReadFile(dir + "/listed")
	must(t, err)
	var list []Listed
	must(t, json.Unmarshal(text, &list))
	all := map[string]looked{}
	for name, proc := range map[string]string{"host": dir + "/proc", "own": "/proc"} {
		s, err := Reader{Procfs: process.FS(proc), PodLogs: logs}.Read(list)
		all[name] = looked{s, failure.ReasonOf(err)}
	}
	text, err = json.Marshal(all)
	must(t, err)
	must(t, os.WriteFile(dir+"/looked", text, 0o644))
}
