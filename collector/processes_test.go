package collector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

const podUID = "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e"

// cardsWith answers as mx-smi does of cards that these processes hold.
func cardsWith(t testing.TB, table []model.Process) func(context.Context, []string) (process.Output, error) {
	t.Helper()
	var rows strings.Builder
	for _, p := range table {
		fmt.Fprintf(&rows, "|  %-19s%7s         %-29s%-15.0f|\n", p.Device, p.PID, p.Name, p.UsedBytes/(1<<20))
	}
	answer := machine(t, "mx-smi")
	return func(ctx context.Context, args []string) (process.Output, error) {
		out, err := answer(ctx, args)
		out.Stdout = regexp.MustCompile(`(?m)(^\|.*VLLM::EngineCor.*\n)+`).ReplaceAllLiteral(out.Stdout, []byte(rows.String()))
		return out, err
	}
}

// holding are the rows of a process on cards.
func holding(pid string, devices ...string) (rows []model.Process) {
	for _, d := range devices {
		rows = append(rows, model.Process{Device: d, PID: pid, Name: "python", UsedBytes: 1 << 30})
	}
	return rows
}

// looking is a collector of the stand-in of mx-smi, polled once. Its first four cards are on node 0 and hold the memory
// of the given processes.
func looking(t *testing.T, o Options, table []model.Process) *Collector {
	t.Helper()
	o.Interval, o.InventoryInterval, o.Logger = options().Interval, options().InventoryInterval, options().Logger
	if o.Timeout == 0 {
		o.Timeout = options().Timeout
	}
	c := New(o)
	if o.Containers {
		c.containers = newContainers(o.Logger)
	}
	h := newHardware(Vendors()[0], &scripted{answer: cardsWith(t, table)}, newProcessLooker(c.containers, o), 0, o)
	o.Detail = DetailOff
	c.cards = append(c.cards, newCardsOf(h, nil, o))
	c.cards[0].pollAll(t.Context())
	if c.numa != nil {
		c.numa.poll(t.Context())
	}
	return c
}

// toldOfProcesses are what a user scrapes of where processes run, and the warnings on the page.
func toldOfProcesses(t *testing.T, c *Collector) string {
	t.Helper()
	var kept []string
	about := regexp.MustCompile(`^accelerator_(process_(near|cpus|placement|node|container)|numa_node_conflict|numa_cpu_list)`)
	for line := range strings.Lines(scrape(t, c)) {
		if about.MatchString(line) {
			kept = append(kept, strings.TrimPrefix(line, "accelerator_"))
		}
	}
	for _, s := range c.Statuses() {
		for _, w := range s.LeftOut.Texts {
			kept = append(kept, s.Collector+": "+w+"\n")
		}
	}
	return strings.Join(kept, "")
}

// cardNode tells the NUMA node of a PCI device.
func cardNode(t testing.TB, sysfs, busID string, node int) {
	t.Helper()
	dir := filepath.Join(sysfs, "bus/pci/devices", busID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "numa_node"), fmt.Appendln(nil, node), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhereProcessesRun(t *testing.T) {
	id := strings.Repeat("a", 64)
	p, sys := processtest.Host(t, map[int]processtest.Process{
		100: {CPUs: "0-1", Mems: "0-1", Cgroup: "/kubepods/pod" + podUID + "/" + id}, // bound to the cards' node
		200: {CPUs: "2-3", Mems: "1", Cgroup: "/system.slice/vllm.service"},          // to the other one
		300: {CPUs: "0-3,64-127", Mems: "0", Cgroup: "/"},                            // to none; the machine could have 128 CPUs
		500: {Mems: "0", Cgroup: "/docker/" + id},
	}), sysfs(t)
	p.FromContainer(t)
	p.Write(t, "100/numa_maps", "7f00 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n7f01 default N1=1 kernelpagesize_kB=2048\n")
	p.Write(t, "200/numa_maps", "7f00 default N0=0 kernelpagesize_kB=4\n")
	p.Write(t, "300/numa_maps", "7f00 default N0=1 kernelpa")
	p.Write(t, "500/numa_maps", "")
	logs := t.TempDir()
	if err := os.MkdirAll(filepath.Join(logs, "team-a_llm-0_"+podUID, "vllm"), 0o755); err != nil {
		t.Fatal(err)
	}
	cardNode(t, sys, "0000:11:00.0", 0)
	cardNode(t, sys, "0000:19:00.0", 1)
	cardNode(t, sys, "0000:21:00.0", -1)
	var table []model.Process
	for _, rows := range [][]model.Process{
		holding("100", "0", "1"), holding("200", "2"), holding("300", "3"), holding("400", "3"), holding("500", "3"), // 400 has ended
	} {
		table = append(table, rows...)
	}
	c := looking(t, Options{NUMA: true, NUMAMaps: true, Processes: true, Containers: true, Sysfs: sys, Procfs: string(p), PodLogs: logs}, table)
	want := `numa_cpu_list_info{cpus="0-1",node="0"} 1
numa_cpu_list_info{cpus="2-3",node="1"} 1
numa_node_conflict{device="0",vendor="metax"} 0
numa_node_conflict{device="1",vendor="metax"} 1
process_container_info{container="",container_id="` + id + `",namespace="",pid="500",pod="",pod_uid="",vendor="metax"} 1
process_container_info{container="vllm",container_id="` + id + `",namespace="team-a",pid="100",pod="llm-0",pod_uid="` + podUID + `",vendor="metax"} 1
process_cpus_info{cpus="0-1",mems="0-1",pid="100",vendor="metax"} 1
process_cpus_info{cpus="0-3",mems="0",pid="300",vendor="metax"} 1
process_cpus_info{cpus="2-3",mems="1",pid="200",vendor="metax"} 1
process_near_cpus_ratio{device="0",pid="100",vendor="metax"} 1
process_near_cpus_ratio{device="1",pid="100",vendor="metax"} 1
process_near_cpus_ratio{device="2",pid="200",vendor="metax"} 0
process_near_cpus_ratio{device="3",pid="300",vendor="metax"} 0.5
process_near_memory_allowed{device="0",pid="100",vendor="metax"} 1
process_near_memory_allowed{device="1",pid="100",vendor="metax"} 1
process_near_memory_allowed{device="2",pid="200",vendor="metax"} 0
process_near_memory_allowed{device="3",pid="300",vendor="metax"} 1
process_node_memory_bytes{node="0",pid="100",vendor="metax"} 4096
process_node_memory_bytes{node="1",pid="100",vendor="metax"} 2.105344e+06
process_placement_unknown{vendor="metax"} 2
metax: card 1 is on NUMA node 0 by the tool's topology, which is taken, and on node 1 by its PCI device
metax: the memory of process 300 by node is not known: "7f00 default N0=1 kernelpa" does not count pages of a size
`
	if diff := cmp.Diff(want, toldOfProcesses(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ids := model.Container{ID: id, PodUID: podUID}
	named := ids
	named.Namespace, named.Pod, named.Name = "team-a", "llm-0", "vllm"
	if diff := cmp.Diff(map[string]model.Container{"100": named, "500": {ID: id}}, c.Places()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.ContainerOf(100); got != ids {
		t.Errorf("ContainerOf: %+v", got)
	}
}

// PIDs of a container are other processes than the host's: nothing is guessed, and the page says why.
func TestForeignPIDNamespace(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0-1", Cgroup: "/docker/" + strings.Repeat("a", 64)}})
	p.FromContainer(t)
	p.End(t, 2)
	c := looking(t, Options{NUMA: true, NUMAMaps: true, Processes: true, Containers: true, Sysfs: sysfs(t), Procfs: string(p)}, holding("100", "0"))
	s := c.containers.Status()
	if s.LastReason != failure.Unsupported || !strings.Contains(s.Hint, "hostPID") || !strings.Contains(s.LastError, "PIDs of a container") {
		t.Errorf("reason %s, hint %q, error %q", s.LastReason, s.Hint, s.LastError)
	}
	want := `numa_cpu_list_info{cpus="0-1",node="0"} 1
numa_cpu_list_info{cpus="2-3",node="1"} 1
process_placement_unknown{vendor="metax"} 1
metax: where the processes may run is not known: ` + s.LastError + "\n"
	if diff := cmp.Diff(want, toldOfProcesses(t, c)); diff != "" || len(c.Places()) > 0 {
		t.Errorf("%v (-want +got):\n%s", c.Places(), diff)
	}
}

// What cannot be read stays so for hours: it is told all the time and counted once, or the
// alert on what tools print in an unknown way would fire.
func TestContainerWarningsAreCountedOnce(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {Cgroup: "/user.slice/kubepods/pod" + podUID}})
	c := looking(t, Options{Processes: true, Containers: true, Procfs: string(p)}, holding("100", "0"))
	for range 10 {
		c.cards[0].poller.poll(t.Context())
	}
	if s := c.containers.Status(); s.Warnings != 1 || s.LeftOut.Count != 1 || len(c.Places()) > 0 {
		t.Errorf("%d counted, %d told, places %v", s.Warnings, s.LeftOut.Count, c.Places())
	}
}

// A tool that fails is no failure of who looks at processes.
func TestContainersOfAToolThatFails(t *testing.T) {
	p := processtest.Host(t, nil)
	c := looking(t, Options{Processes: true, Containers: true, Procfs: string(p)}, nil)
	c.cards[0].hardware.tools[0].runner = &scripted{answer: prints("no table")}
	c.containers = newContainers(options().Logger)
	c.cards[0].hardware.looker = &processLooker{host: c.cards[0].hardware.looker.(*processLooker).host, containers: c.containers, timeout: time.Minute}
	c.cards[0].poller.poll(t.Context())
	if c.cards[0].status().Success || !c.containers.Status().Success {
		t.Errorf("%+v", c.Statuses())
	}
}

func TestProcessesAreOff(t *testing.T) {
	id := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		o    Options
		want string // what is told all the same
	}{
		"without processes":  {Options{NUMA: true, NUMAMaps: true}, ""},
		"without containers": {Options{Processes: true}, ""},
		"without nodes":      {Options{NUMAMaps: true, Processes: true, Containers: true}, "process_container_info"},
	} {
		t.Run(name, func(t *testing.T) {
			p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0-1", Cgroup: "/docker/" + id}})
			p.Write(t, "100/numa_maps", "7f00 default N0=1 kernelpagesize_kB=4\n")
			c.o.Sysfs, c.o.Procfs = sysfs(t), string(p)
			got := toldOfProcesses(t, looking(t, c.o, holding("100", "0")))
			if n := strings.Count(got, "process_"); n != min(1, len(c.want)) || !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
		})
	}
	o := options()
	o.Containers, o.Processes = true, true
	if c := New(o); len(c.Statuses()) > 0 {
		t.Error("a collector of containers without any vendor")
	}
	o.Vendors = []VendorOptions{{Vendor: vendorNamed("metax"), Command: "mx-smi"}}
	if c := New(o); len(c.Statuses()) != 2 || c.Statuses()[1].Collector != "containers" {
		t.Errorf("with a vendor: %+v", c.Statuses())
	}
	o.Processes = false
	if c := New(o); len(c.Statuses()) != 1 || c.ContainerOf(os.Getpid()) != (model.Container{}) {
		t.Error("a collector of containers although nothing is told by process")
	}
}

// A process's file on a dead mount would keep the cards from being read.
func TestFilesOfProcessesThatHang(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {}})
	if err := errors.Join(os.Remove(p.Path("100/cgroup")), syscall.Mkfifo(p.Path("100/cgroup"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o := Options{Processes: true, Containers: true, Procfs: string(p), Timeout: 50 * time.Millisecond}
	c := looking(t, o, holding("100", "0"))
	if s := c.containers.Status(); !c.cards[0].status().Success || s.LastReason != failure.Timeout {
		t.Errorf("cards %t, containers %+v", c.cards[0].status().Success, s)
	}
}

// A warning of one vendor's processes would be counted again after each look at the other's.
func TestContainersOfTwoVendors(t *testing.T) {
	c := newContainers(options().Logger)
	metax, ascend := &processLooker{}, &processLooker{}
	var unread host.Look
	unread.Warnings.Add("process 7: reading its cgroup: permission denied")
	for range 3 {
		c.report(metax, time.Now(), unread)
		c.report(ascend, time.Now(), host.Look{})
	}
	if s := c.Status(); s.Warnings != 1 || s.LeftOut.Count != 1 {
		t.Errorf("%d warnings counted, %d hold now, want 1 and 1", s.Warnings, s.LeftOut.Count)
	}
}
