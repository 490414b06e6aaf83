package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file and the folders it is in.
func write(t testing.TB, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o644))
}

func listed(vendor string, pids ...string) []Listed {
	var all []Listed
	for _, pid := range pids {
		all = append(all, Listed{Vendor: vendor, PID: pid})
	}
	return all
}

func TestRead(t *testing.T) {
	a, b, c := id("a"), id("b"), id("c")
	procfs := processtest.Host(t, map[int]processtest.Process{
		100: {Cgroup: cgroups + "/" + a},
		200: {Cgroup: "/system.slice/vllm.service"},
		300: {Cgroup: "/docker/" + b},
		400: {Cgroup: sliceB},
		500: {Cgroup: "/kubepods/pod" + static + "/" + c},
		600: {Cgroup: "/user.slice" + cgroups + "/" + a},
	})
	logs := t.TempDir()
	write(t, "", logs, "team-a_llm-0_"+uidA, "vllm", "0.log")
	write(t, "", logs, "team-b_two_"+uidB, "engine", "0.log")
	write(t, "", logs, "team-b_two_"+uidB, "proxy", "0.log")
	write(t, "", logs, "kube-system_train-node7_"+static, "torch", "0.log")
	r := Reader{Procfs: process.FS(procfs), PodLogs: logs}
	got, err := r.Read(append(listed("metax", "100", "200", "300", "400", "600", "999", "0", "-1", "x", "0100", "+100", "99999999999999999999"), listed("ascend", "100", "500")...))
	must(t, err)
	llm := Place{ContainerID: a, PodUID: uidA, Namespace: "team-a", Pod: "llm-0", Container: "vllm"}
	want := Snapshot{
		Processes: []Process{
			{Vendor: "metax", PID: "100", Place: llm},
			{Vendor: "metax", PID: "300", Place: Place{ContainerID: b}},
			{Vendor: "metax", PID: "400", Place: Place{PodUID: uidB, Namespace: "team-b", Pod: "two"}},
			{Vendor: "ascend", PID: "100", Place: llm},
			{Vendor: "ascend", PID: "500", Place: Place{ContainerID: c, PodUID: static, Namespace: "kube-system", Pod: "train-node7", Container: "torch"}},
		},
		Warnings: model.Warnings{Count: 1, Texts: []string{"process 600: its cgroup is not believed: a pod below the cgroups of a user, who may give them any name"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.ID(100); got != (Place{ContainerID: a, PodUID: uidA}) {
		t.Errorf("ID: %+v", got)
	}
	if got := r.ID(200); got != (Place{}) {
		t.Errorf("ID of a process on the host: %+v", got)
	}
}

// A number that is used again between the looks must not bring the new process's container
// under the old one's number.
func TestUsedAgainOrGone(t *testing.T) {
	one := processtest.Process{Cgroup: cgroups + "/" + id("a"), Start: 100}
	next := one
	next.Start++
	for name, act := range map[string]func(processtest.Procfs){
		"used again": func(p processtest.Procfs) { p.Add(t, 100, next) },
		"gone":       func(p processtest.Procfs) { p.End(t, 100) },
	} {
		procfs := processtest.Host(t, map[int]processtest.Process{100: one})
		r := Reader{Procfs: process.FS(procfs), PodLogs: t.TempDir()}
		got, err := r.idsBy("100", func(pid int) ([]byte, error) {
			text, err := r.readCgroup(pid)
			act(procfs)
			return text, err
		})
		if got != (Process{}) || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	r := Reader{Procfs: process.FS(processtest.Host(t, map[int]processtest.Process{100: next})), PodLogs: t.TempDir()}
	got, err := r.Read([]Listed{{Vendor: "metax", PID: "100", Start: 100}, {Vendor: "ascend", PID: "100", Start: 101}})
	must(t, err)
	want := Snapshot{Processes: []Process{{Vendor: "ascend", PID: "100", Start: 101, Place: Place{PodUID: uidA, ContainerID: id("a")}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("used again since one of two lists (-want +got):\n%s", diff)
	}
}

// What is no file of the kernel's costs that process, in words.
func TestCgroupsThatAreNoFiles(t *testing.T) {
	procfs := processtest.Host(t, map[int]processtest.Process{100: {}, 200: {}, 300: {}, 400: {}})
	file := func(pid string) string { return procfs.Path(pid + "/cgroup") }
	for _, pid := range []string{"100", "200", "300"} {
		must(t, os.Remove(file(pid)))
	}
	procfs.Write(t, "elsewhere", "0::"+cgroups+"/"+id("a")+"\n")
	must(t, os.Symlink("../elsewhere", file("100")))
	must(t, syscall.Mkfifo(file("200"), 0o644))
	must(t, os.Mkdir(file("300"), 0o755))
	procfs.Write(t, "400/cgroup", strings.Repeat("1:cpu:/\n", 10_000))
	s, err := Reader{Procfs: process.FS(procfs), PodLogs: t.TempDir()}.Read(listed("metax", "100", "200", "300", "400"))
	must(t, err)
	want := Snapshot{Warnings: model.Warnings{Count: 4, Texts: []string{
		"process 100: reading its cgroup: too many levels of symbolic links",
		"process 200: reading its cgroup: not a file",
		"process 300: reading its cgroup: not a file",
		"process 400: reading its cgroup: more than 65536 bytes",
	}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
		"no folder": {func(p procfs) {
			must(t, os.RemoveAll(p.Path("")))
			must(t, os.WriteFile(p.Path(""), nil, 0o644))
		}, failure.NotFound},
	} {
		p := processtest.Host(t, map[int]processtest.Process{100: {Cgroup: cgroups + "/" + id("a")}})
		c.change(p)
		s, err := Reader{Procfs: process.FS(p), PodLogs: t.TempDir()}.Read(listed("metax", "100"))
		if reason := failure.ReasonOf(err); reason != c.want || (len(s.Processes) == 1) != (c.want == "") {
			t.Errorf("%s: %q (%v), %d processes, want %q", name, reason, err, len(s.Processes), c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPodNames(t *testing.T) {
	const other = "11111111-2222-3333-4444-555555555555"
	long := strings.Repeat("n", 120)
	for name, c := range map[string]struct {
		make func(dir string)
		want map[string]podName
		warn string
	}{
		"no kubelet": {func(dir string) { must(t, os.Remove(dir)) }, nil, ""},
		"one container": {func(dir string) {
			write(t, "", dir, "a_b_"+uidA, "c", "0.log")
			write(t, "", dir, "a_b_"+uidA, "note")
		}, map[string]podName{uidA: {"a", "b", "c"}}, ""},
		"no container yet": {func(dir string) { must(t, os.Mkdir(dir+"/a_b_"+uidA, 0o755)) }, map[string]podName{uidA: {"a", "b", ""}}, ""},
		"a link to a container": {func(dir string) {
			must(t, os.Mkdir(dir+"/a_b_"+uidA, 0o755))
			must(t, os.Symlink("/", dir+"/a_b_"+uidA+"/c"))
		}, map[string]podName{uidA: {"a", "b", ""}}, ""},
		"a link to a pod": {func(dir string) {
			elsewhere := t.TempDir()
			write(t, "", elsewhere, "c", "0.log")
			must(t, os.Symlink(elsewhere, dir+"/a_b_"+uidA))
		}, nil, ""},
		"a file for a pod": {func(dir string) { write(t, "", dir, "a_b_"+uidA) }, nil, ""},
		"of others, and of no pods": {func(dir string) {
			for _, folder := range []string{
				"a_b_" + other, "a_b", "a_b_c_" + uidA, "_b_" + uidA, "a__" + uidA, "A_b_" + uidA, "a_b\xff_" + uidA, "a_b\n_" + uidA, "é_b_" + uidA,
				"a_b_" + strings.ToUpper(uidA), "a_b_" + uidA[1:],
			} {
				write(t, "", dir, folder, "c", "0.log")
			}
		}, nil, ""},
		"long names":                         {func(dir string) { write(t, "", dir, long+"_b_"+uidA, long, "0.log") }, map[string]podName{uidA: {long, "b", long}}, ""},
		"a name of a container that is none": {func(dir string) { write(t, "", dir, "a_b_"+uidA, "c\x1b[31m", "0.log") }, map[string]podName{uidA: {"a", "b", ""}}, ""},
		"two folders": {func(dir string) {
			write(t, "", dir, "a_b_"+uidA, "c", "0.log")
			write(t, "", dir, "a_x_"+uidA, "c", "0.log")
		}, nil, "has two log folders"},
		"a file instead": {func(dir string) {
			must(t, os.Remove(dir))
			write(t, "", dir)
		}, nil, "not a directory"},
		"a pipe instead": {func(dir string) {
			must(t, os.Remove(dir))
			must(t, syscall.Mkfifo(dir, 0o644))
		}, nil, "not a directory"},
	} {
		dir := filepath.Join(t.TempDir(), "pods")
		must(t, os.Mkdir(dir, 0o755))
		c.make(dir)
		var w model.Warnings
		got := podNames(dir, map[string]bool{uidA: true}, &w)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(podName{})); diff != "" && len(got)+len(c.want) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if said := strings.Join(w.Texts, "; "); (c.warn == "") != (said == "") || !strings.Contains(said, c.warn) {
			t.Errorf("%s: warnings %q, want %q", name, said, c.warn)
		}
	}
}

// A folder with ever more names must not be read for ever, and one that may not be read is
// told.
func TestPodNamesAreBounded(t *testing.T) {
	dir, seen := t.TempDir(), 0
	for i := range 300 {
		must(t, os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755))
	}
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	if err := folders(f, 260, func(string) { seen++ }); err == nil || seen != 260 {
		t.Errorf("%d names, error %v", seen, err)
	}
	var w model.Warnings
	warnUnread(&w, "/var/log/pods", &os.PathError{Op: "open", Path: "/var/log/pods", Err: syscall.EACCES})
	if diff := cmp.Diff([]string{"reading the names of pods in /var/log/pods: permission denied; it takes uid 0 or a group that may read the folder"}, w.Texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BenchmarkRead is one poll of 1,000 processes in 100 pods; BenchmarkProcesses is listing
// as many processes, which finding a target's server does at every poll.
func BenchmarkRead(b *testing.B) {
	r, all := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		if s, err := r.Read(all); err != nil || len(s.Processes) != len(all) {
			b.Fatal(len(s.Processes), err)
		}
	}
}

func BenchmarkProcesses(b *testing.B) {
	r, _ := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Procfs.Processes(); err != nil {
			b.Fatal(err)
		}
	}
}

func thousand(b *testing.B) (Reader, []Listed) {
	b.Helper()
	processes, logs := map[int]processtest.Process{}, b.TempDir()
	var all []Listed
	for i := range 1000 {
		uid := fmt.Sprintf("%08x-0000-0000-0000-000000000000", i/10)
		processes[1000+i] = processtest.Process{Cgroup: "/kubepods/pod" + uid + "/" + id("a")}
		all = append(all, Listed{Vendor: "metax", PID: strconv.Itoa(1000 + i)})
		if i%10 == 0 {
			write(b, "", logs, fmt.Sprintf("team_llm-%d_%s", i, uid), "vllm", "0.log")
		}
	}
	return Reader{Procfs: process.FS(processtest.Host(b, processes)), PodLogs: logs}, all
}
