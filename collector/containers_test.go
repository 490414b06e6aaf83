package collector

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

const podUID = "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e"

// inContainers is the simulated machine with its processes in containers, as we are in one
// too, polled once.
func inContainers(t testing.TB, procfs processtest.Procfs) *Collector {
	t.Helper()
	procfs.FromContainer(t)
	c, o := simulated(t), options()
	o.Procfs, o.PodLogs = string(procfs), t.TempDir()
	if err := os.MkdirAll(filepath.Join(o.PodLogs, "team-a_llm-0_"+podUID, "vllm"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.addContainers(o)
	for _, v := range c.cards {
		v.poller.poll(t.Context())
	}
	c.containers.poll(t.Context())
	return c
}

func infos(t *testing.T, c *Collector) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(scrape(t, c)) {
		if strings.HasPrefix(line, "accelerator_process_container_info{") {
			all = append(all, strings.TrimPrefix(strings.TrimSpace(line), "accelerator_process_container_info"))
		}
	}
	return all
}

// A user would miss where a process runs, and notice one that is told twice, because it is
// on several cards, or that is told although it runs on the host.
func TestProcessContainers(t *testing.T) {
	id := strings.Repeat("a", 64)
	c := inContainers(t, processtest.Host(t, map[int]processtest.Process{4242: {Cgroup: "/kubepods/pod" + podUID + "/" + id}, 4243: {Cgroup: "/system.slice/vllm.service"}}))
	var want []string
	for _, vendor := range []string{"ascend", "metax"} {
		want = append(want, fmt.Sprintf("{container=%q,container_id=%q,namespace=%q,pid=%q,pod=%q,pod_uid=%q,vendor=%q} 1", "vllm", id, "team-a", "4242", "llm-0", podUID, vendor))
	}
	if diff := cmp.Diff(want, infos(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	place := container.Place{ContainerID: id, PodUID: podUID, Namespace: "team-a", Pod: "llm-0", Container: "vllm"}
	if diff := cmp.Diff(map[string]container.Place{"4242": place}, c.Places()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.ContainerOf(4242); got != (container.Place{ContainerID: id, PodUID: podUID}) {
		t.Errorf("ContainerOf: %+v", got)
	}
}

// Where a process ran is no news of a process that the tools do not list now.
func TestContainersGoWithTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inContainers(t, processtest.Host(t, map[int]processtest.Process{4242: {Cgroup: "/docker/" + strings.Repeat("a", 64)}}))
		if len(infos(t, c)) != 2 {
			t.Fatalf("at first: %q", infos(t, c))
		}
		c.cards[0].poller.value.Processes = nil
		if got := infos(t, c); len(got) != 1 || !strings.Contains(got[0], `vendor="ascend"`) {
			t.Errorf("a process that is not listed any more: %q", got)
		}
		time.Sleep(c.containers.maxAge + time.Second)
		c.cards[0].poller.poll(t.Context())
		if got := infos(t, c); len(got) > 0 {
			t.Errorf("what was read long ago: %q", got)
		}
		c.containers.poll(t.Context())
		if got := infos(t, c); len(got) != 1 || !strings.Contains(got[0], `vendor="metax"`) {
			t.Errorf("with one list that is old: %q", got)
		}
	})
}

// A number that is used again after the list was asked for is of another process than is listed:
// the memory of the one would be another pod's.
func TestContainersOfNumbersUsedAgain(t *testing.T) {
	began := func(after time.Duration) *Collector {
		self, ok := process.FS("/proc").Stat(os.Getpid())
		if !ok {
			t.Skip("no procfs")
		}
		start := int(self.Start) + int(after.Seconds()*100)
		return inContainers(t, processtest.Host(t, map[int]processtest.Process{4242: {Cgroup: "/docker/" + strings.Repeat("a", 64), Start: start}}))
	}
	if got := infos(t, began(0)); len(got) != 2 {
		t.Errorf("began before the list was asked for: %q", got)
	}
	if c := began(time.Hour); len(infos(t, c))+len(c.Places()) > 0 {
		t.Errorf("began after the list was asked for: %q", infos(t, c))
	}
}

// A number that is another's by the next list is not the old one's container any more, whenever
// the next look comes; and what a look finds is not of the list before it.
func TestContainersOfNumbersUsedAgainBetweenLists(t *testing.T) {
	in := func(digit string, start int) processtest.Process {
		return processtest.Process{Cgroup: "/docker/" + strings.Repeat(digit, 64), Start: start}
	}
	procfs := processtest.Host(t, map[int]processtest.Process{4242: in("a", 1)})
	c := inContainers(t, procfs)
	check := func(when, vendors, container string) {
		t.Helper()
		got := infos(t, c)
		for i, vendor := range strings.Fields(vendors) {
			if len(got) != len(strings.Fields(vendors)) || !strings.Contains(got[i], fmt.Sprintf("vendor=%q", vendor)) || !strings.Contains(got[i], strings.Repeat(container, 64)) {
				t.Errorf("%s: %q, want container %s of %s", when, got, container, vendors)
			}
		}
		if vendors == "" && len(got)+len(c.Places()) > 0 {
			t.Errorf("%s: %q", when, got)
		}
	}
	check("at first", "ascend metax", "a")
	procfs.Add(t, 4242, in("b", 2))
	c.cards[0].poller.poll(t.Context())
	check("one list has the new process", "ascend", "a")
	c.containers.poll(t.Context())
	check("it was looked at", "metax", "b")
	c.cards[1].poller.poll(t.Context())
	c.containers.poll(t.Context())
	check("both lists have it", "ascend metax", "b")
	procfs.Add(t, 4242, in("c", 3))
	c.containers.poll(t.Context())
	check("no list has the next one", "", "")
}

// What cannot be read stays so for hours: it is told all the time and counted once, or the
// alert on what tools print in an unknown way would fire.
func TestContainerWarningsAreCountedOnce(t *testing.T) {
	c := inContainers(t, processtest.Host(t, map[int]processtest.Process{4242: {Cgroup: "/user.slice/kubepods/pod" + podUID}}))
	for range 10 {
		c.containers.poll(t.Context())
	}
	s := c.containers.Status()
	if s.Warnings != 1 || s.LeftOut.Count != 1 {
		t.Errorf("%d counted, %d told", s.Warnings, s.LeftOut.Count)
	}
	if len(infos(t, c)) > 0 {
		t.Error("it is told nevertheless")
	}
}

// In a container without the host's processes nothing is guessed, and the page says why.
func TestForeignPIDNamespace(t *testing.T) {
	procfs := processtest.Host(t, map[int]processtest.Process{4242: {Cgroup: "/docker/" + strings.Repeat("a", 64)}})
	procfs.End(t, 2)
	c := inContainers(t, procfs)
	s := c.containers.Status()
	if s.LastReason != failure.Unsupported || !strings.Contains(s.Hint, "hostPID") || !strings.Contains(s.LastError, "PIDs of a container") {
		t.Errorf("reason %s, hint %q, error %q", s.LastReason, s.Hint, s.LastError)
	}
	if got := infos(t, c); len(got) > 0 || len(c.Places()) > 0 {
		t.Errorf("%q", got)
	}
}

// Without a vendor, or what is told by process, there is nothing to look at, and off is off.
func TestContainersAreOff(t *testing.T) {
	o := options()
	o.Containers, o.Processes = true, true
	if c := New(o); c.containers != nil || len(c.Statuses()) > 0 {
		t.Error("a collector of containers without any vendor")
	}
	o.Vendors = []VendorOptions{{Name: "metax", Command: "mx-smi"}}
	if c := New(o); len(c.Statuses()) != 2 || c.Statuses()[1].Collector != "containers" {
		t.Errorf("with a vendor: %+v", c.Statuses())
	}
	o.Processes = false
	if c := New(o); c.containers != nil || len(c.Statuses()) != 1 {
		t.Error("a collector of containers although nothing is told by process")
	}
	o.Containers, o.Processes = false, true
	c := New(o)
	if c.reader, c.containers = (container.Reader{Procfs: "/proc"}), nil; c.ContainerOf(os.Getpid()) != (container.Place{}) || len(c.Places()) > 0 {
		t.Error("asked although it is off")
	}
}

// looker is a machine whose looks a test watches.
type looker struct {
	mu     sync.Mutex
	listed []container.Listed
	looks  []int // how many processes each look was about
	hang   chan struct{}
}

func (l *looker) list() []container.Listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.listed)
}

func (l *looker) set(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = nil
	for i := range n {
		l.listed = append(l.listed, container.Listed{Vendor: "toy", PID: fmt.Sprint(i)})
	}
}

func (l *looker) look(listed []container.Listed) (container.Snapshot, error) {
	l.mu.Lock()
	l.looks = append(l.looks, len(listed))
	hang := l.hang
	l.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return container.Snapshot{Warnings: model.Warnings{}}, nil
}

func (l *looker) looked() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.looks)
}

// A new process is looked at when it is listed, and the others only at every interval.
func TestNewProcessesAreLookedAtSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looker{}
		c, p := poll(t, l)
		synctest.Wait()
		for _, step := range []struct {
			processes int
			wait      time.Duration
			want      []int
		}{
			{1, time.Second, []int{0, 1}},
			{1, time.Second, []int{0, 1}},
			{0, time.Second, []int{0, 1}},
			{3, time.Second, []int{0, 1, 3}},
			{3, 10 * time.Second, []int{0, 1, 3, 3}},
		} {
			l.set(step.processes)
			c.listRead()
			c.listRead()
			time.Sleep(step.wait)
			synctest.Wait()
			if diff := cmp.Diff(step.want, l.looked()); diff != "" {
				t.Fatalf("%d processes (-want +got):\n%s", step.processes, diff)
			}
		}
		if s := p.Status(); !s.Success {
			t.Errorf("%+v", s)
		}
	})
}

// A mount that hangs fails in words and in time, and hung looks do not pile up.
func TestHungLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looker{hang: make(chan struct{})}
		c, p := poll(t, l)
		time.Sleep(5 * time.Minute)
		l.set(1)
		c.listRead()
		time.Sleep(5 * time.Minute)
		s := p.Status()
		if s.LastReason != failure.Timeout || !strings.Contains(s.Hint, "--kubernetes.pod-logs") || s.Failures[failure.Timeout] < 20 {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff([]int{0}, l.looked()); diff != "" {
			t.Errorf("looks (-want +got):\n%s", diff)
		}
		close(l.hang)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if s := p.Status(); !s.Success || len(l.looked()) < 2 {
			t.Errorf("after it: %+v, %v", s, l.looked())
		}
	})
}

func poll(t *testing.T, l *looker) (*containers, *poller[container.Snapshot]) {
	t.Helper()
	o := options()
	c := &containers{look: l.look, list: l.list, timeout: o.Timeout, changed: make(chan struct{}, 1)}
	p := newPoller(containersName, c, o)
	p.spare = func(ctx context.Context, until time.Time) { c.spend(ctx, until, p.poll) }
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
	return c, p
}
