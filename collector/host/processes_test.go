package host

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

func listed(pids ...string) []model.Process {
	var all []model.Process
	for _, pid := range pids {
		all = append(all, model.Process{Device: "0", PID: pid})
	}
	return all
}

// containersOf are the containers that processes were found in, by PID.
func containersOf(found Placements) map[string]model.Container {
	all := map[string]model.Container{}
	for pid, p := range found.processes {
		if p.container != (model.Container{}) {
			all[pid] = p.container
		}
	}
	return all
}

func TestContainers(t *testing.T) {
	a, b, c := id("a"), id("b"), id("c")
	procfs := processtest.Host(t, map[int]processtest.Process{
		100: {Cgroup: cgroups + "/" + a},
		200: {Cgroup: "/system.slice/vllm.service"},
		300: {Cgroup: "/docker/" + b},
		400: {Cgroup: sliceB},
		500: {Cgroup: "/kubepods/pod" + static + "/" + c},
		600: {Cgroup: "/user.slice" + cgroups + "/" + a},
		700: {},
	})
	must(t, os.Remove(procfs.Path("700/cgroup")))
	logs := t.TempDir()
	write(t, "", logs, "team-a_llm-0_"+uidA, "vllm", "0.log")
	write(t, "", logs, "team-b_two_"+uidB, "engine", "0.log")
	write(t, "", logs, "team-b_two_"+uidB, "proxy", "0.log")
	write(t, "", logs, "kube-system_train-node7_"+static, "torch", "0.log")
	r := ProcessReader{Procfs: process.FS(procfs), PodLogs: logs, Containers: true, Timeout: time.Minute}
	found := r.Read(listed("100", "200", "300", "100", "400", "500", "600", "700", "999", "0", "-1", "x", "0100", "+100", "99999999999999999999"), time.Now())
	want := map[string]model.Container{
		"100": {ID: a, PodUID: uidA, Namespace: "team-a", Pod: "llm-0", Name: "vllm"},
		"300": {ID: b},
		"400": {PodUID: uidB, Namespace: "team-b", Pod: "two"},
		"500": {ID: c, PodUID: static, Namespace: "kube-system", Pod: "train-node7", Name: "torch"},
	}
	if diff := cmp.Diff(want, containersOf(found)); diff != "" || found.Err != nil {
		t.Errorf("%v (-want +got):\n%s", found.Err, diff)
	}
	warnings := modeltest.Warnings("process 600: its cgroup is not trusted: "+errPodBelowUserTree.Error(), "process 700: reading its cgroup: no such file or directory")
	if diff := cmp.Diff(warnings, found.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got, err := ReadContainer(r.Procfs, 100); got != (model.Container{ID: a, PodUID: uidA}) || err != nil {
		t.Errorf("ReadContainer: %+v, %v", got, err)
	}
}

// A number that is used again must not bring the new process's container under the old
// one's number.
func TestNumbersUsedAgain(t *testing.T) {
	old := processtest.Process{Cgroup: cgroups + "/" + id("a"), Start: 100}
	young := processtest.Process{Cgroup: cgroups + "/" + id("b"), Start: 101}
	procfs := processtest.Host(t, map[int]processtest.Process{100: old, 200: old})
	r := ProcessReader{Procfs: process.FS(procfs), PodLogs: t.TempDir(), Containers: true, Timeout: time.Minute}
	st, _ := r.Procfs.Stat(100)
	if found := r.Read(listed("100"), process.Began(st).Add(-time.Hour)); len(found.processes) > 0 {
		t.Errorf("began after the tool was asked: %+v", found.processes)
	}
	// The reader of a pipe waits while the process is replaced by another one.
	must(t, os.Remove(procfs.Path("200/cgroup")))
	must(t, syscall.Mkfifo(procfs.Path("200/cgroup"), 0o600))
	go func() {
		pipe, err := os.OpenFile(procfs.Path("200/cgroup"), os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		procfs.Add(t, 200, young)
		_, _ = pipe.WriteString("0::" + old.Cgroup + "\n")
		pipe.Close()
	}()
	if found := r.Read(listed("200"), time.Now()); len(found.processes) > 0 || found.Warnings.Count > 0 {
		t.Errorf("used again while it was read: %+v, %q", found.processes, found.Warnings.Texts)
	}
}

// Numbers of another PID namespace mean other processes: nothing is told, and why.
func TestWhoseNumbers(t *testing.T) {
	type procfs = processtest.Procfs
	for name, c := range map[string]struct {
		change func(procfs) // from the host's
		want   failure.Reason
	}{
		"the host's":                        {func(procfs) {}, ""},
		"of a kernel without namespaces":    {func(p procfs) { must(t, os.RemoveAll(p.Path("self/ns"))); p.End(t, 2) }, ""},
		"the host's, seen from a container": {func(p procfs) { p.FromContainer(t) }, ""},
		"a container's": {func(p procfs) {
			p.FromContainer(t)
			p.End(t, 2)
		}, failure.Unsupported},
		"a container's with a process that is called so": {func(p procfs) {
			p.FromContainer(t)
			p.Add(t, 2, processtest.Process{Name: "kthreadd"})
		}, failure.Unsupported},
		"one that we are not in": {func(p procfs) { must(t, os.RemoveAll(p.Path("self"))) }, failure.Unsupported},
		"one that hides others":  {func(p procfs) { p.End(t, 1) }, failure.Permission},
		"none":                   {func(p procfs) { must(t, os.RemoveAll(p.Path(""))) }, failure.NotFound},
	} {
		p := processtest.Host(t, map[int]processtest.Process{100: {Cgroup: cgroups + "/" + id("a")}})
		c.change(p)
		r := ProcessReader{Procfs: process.FS(p), PodLogs: t.TempDir(), Containers: true, Timeout: time.Minute}
		found := r.Read(listed("100"), time.Now())
		if reason := failure.ReasonOf(found.Err); reason != c.want || (len(found.processes) == 1) != (c.want == "") {
			t.Errorf("%s: %q (%v), %d processes, want %q", name, reason, found.Err, len(found.processes), c.want)
		}
	}
}

// memoryReader is one on a machine of a node, whose processes it reads the memory of.
func memoryReader(t *testing.T, procfs processtest.Procfs) *ProcessReader {
	t.Helper()
	tr := sysfsTree{}
	tr.node(0, "0-1", "10", 4000)
	return &ProcessReader{Sysfs: tr.write(t), Procfs: process.FS(procfs), Placement: true, MapsTimeout: time.Minute, Timeout: time.Minute}
}

// The kernel has who reads numa_maps wait for a process whose memory management hangs:
// that must not keep the exporter from the rest, nor cost a reader at each poll.
func TestMemoryOfAProcessThatHangs(t *testing.T) {
	procfs := processtest.Host(t, map[int]processtest.Process{100: {}})
	must(t, syscall.Mkfifo(procfs.Path("100/numa_maps"), 0o600))
	r := memoryReader(t, procfs)
	r.MapsTimeout = 10 * time.Millisecond
	for range 3 {
		found := r.Read(listed("100"), time.Now())
		if said := strings.Join(found.memory.warnings.Texts, "; "); len(found.processes) != 1 || !strings.Contains(said, "the kernel does not answer within 10ms") {
			t.Errorf("%d processes, warnings %q", len(found.processes), said)
		}
	}
	r.MapsTimeout = time.Minute
	answer(t, procfs, "100/numa_maps", mappings)
	for deadline := time.Now().Add(10 * time.Second); len(r.Read(listed("100"), time.Now()).memory.bytes) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("nothing is read after the kernel has answered")
		}
	}
}

// answer has the reader of a pipe find it empty, and puts a file in place of the pipe.
func answer(t *testing.T, procfs processtest.Procfs, name, text string) {
	t.Helper()
	pipe, err := os.OpenFile(procfs.Path(name), os.O_WRONLY|syscall.O_NONBLOCK, 0) // an error where nobody reads
	must(t, err)
	procfs.Write(t, name+".new", text)
	must(t, os.Rename(procfs.Path(name+".new"), procfs.Path(name)))
	pipe.Close()
}

// A file of a process that hangs must not cost the cards their nodes, which sysfs knows, nor a
// reader at each poll.
func TestFilesThatHang(t *testing.T) {
	tr := sysfsTree{}
	tr.node(0, "0-1", "10 20", 4000)
	tr.node(1, "2-3", "20 10", 4000)
	sysfs := tr.write(t)
	write(t, "1\n", sysfs, pciDir, "0000:3b:00.0", "numa_node")
	procfs := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-3", Mems: "0-1"}})
	must(t, os.Remove(procfs.Path("100/cgroup")))
	must(t, syscall.Mkfifo(procfs.Path("100/cgroup"), 0o600))
	r := ProcessReader{Sysfs: sysfs, Procfs: process.FS(procfs), Containers: true, Placement: true, Timeout: 10 * time.Millisecond}
	read := func() (s model.Snapshot, reason failure.Reason) {
		found := r.Read(listed("100"), time.Now())
		s.Devices, s.Processes = []model.Device{{ID: "0", BusID: "0000:3b:00.0"}}, listed("100")
		found.AddTo(&s)
		return s, failure.ReasonOf(found.Err)
	}
	for range 3 {
		s, reason := read()
		if node := s.Devices[0].NUMANode; reason != failure.Timeout || *s.UnreadProcesses != 1 || node == nil || *node != 1 {
			t.Errorf("%q, %d processes not read, card %+v", reason, *s.UnreadProcesses, s.Devices[0])
		}
	}
	r.Timeout = time.Minute
	answer(t, procfs, "100/cgroup", "0::/\n")
	for deadline := time.Now().Add(10 * time.Second); ; {
		if s, reason := read(); reason == "" && len(s.Placements) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is read after the file has answered")
		}
	}
}
