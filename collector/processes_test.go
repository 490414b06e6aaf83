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
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
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

// looking is a collector of the stand-in of mx-smi, after a while. Its first four cards are on node 0 and hold the memory
// of the given processes.
func looking(t *testing.T, o Options, table []model.Process, check func(t *testing.T, c *Collector, tool *scripted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Interval, o.InventoryInterval, o.Timeout, o.Logger, o.Detail = options().Interval, options().InventoryInterval, options().Timeout, options().Logger, DetailOff
		tool := &scripted{answer: cardsWith(t, table)}
		c := newScripted(o, VendorOptions{Vendor: vendorNamed("metax"), Command: "mx-smi"}, tool, nil)
		start(t, c)
		time.Sleep(15 * time.Second)
		check(t, c, tool)
	})
}

// processSeries are what a user scrapes of where processes run, and the warnings on the page.
func processSeries(t *testing.T, c *Collector) string {
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

func TestWhereProcessesRun(t *testing.T) {
	id := strings.Repeat("a", 64)
	p, sys := processtest.Host(t, map[int]processtest.Process{
		100: {CPUs: "0-1", Mems: "0-1", Cgroup: "/kubepods/pod" + podUID + "/" + id}, // bound to the cards' node
		200: {CPUs: "2-3", Mems: "1", Cgroup: "/system.slice/vllm.service"},          // to the other one
		300: {CPUs: "0-3,64-127", Mems: "0", Cgroup: "/"},                            // to none; the machine could have 128 CPUs
		500: {Mems: "0", Cgroup: "/docker/" + id},
	}), processtest.Nodes(t)
	p.FromContainer(t)
	p.Write(t, "100/numa_maps", "7f00 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n7f01 default N1=1 kernelpagesize_kB=2048\n")
	p.Write(t, "200/numa_maps", "7f00 default N0=0 kernelpagesize_kB=4\n")
	p.Write(t, "300/numa_maps", "7f00 default N0=1 kernelpa")
	logs := t.TempDir()
	if err := os.MkdirAll(filepath.Join(logs, "team-a_llm-0_"+podUID, "vllm"), 0o755); err != nil {
		t.Fatal(err)
	}
	processtest.CardOnNode(t, sys, "0000:11:00.0", 0)
	processtest.CardOnNode(t, sys, "0000:19:00.0", 1)
	processtest.CardOnNode(t, sys, "0000:21:00.0", -1)
	var table []model.Process
	for _, rows := range [][]model.Process{
		holding("100", "0", "1"), holding("200", "2"), holding("300", "3"), holding("400", "3"), holding("500", "3"), // 400 has ended
	} {
		table = append(table, rows...)
	}
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
metax: the memory of process 500 by node is not known: no such file or directory
`
	o := Options{NUMA: true, NUMAMaps: true, Processes: true, Containers: true, Sysfs: sys, Procfs: string(p), PodLogs: logs}
	looking(t, o, table, func(t *testing.T, c *Collector, _ *scripted) {
		if diff := cmp.Diff(want, processSeries(t, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// PIDs of a container are other processes than the host's: nothing is guessed, and the page says why.
func TestForeignPIDNamespace(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0-1", Cgroup: "/docker/" + strings.Repeat("a", 64)}})
	p.FromContainer(t)
	p.End(t, 2)
	o := Options{NUMA: true, NUMAMaps: true, Processes: true, Containers: true, Sysfs: processtest.Nodes(t), Procfs: string(p)}
	looking(t, o, holding("100", "0"), func(t *testing.T, c *Collector, _ *scripted) {
		s := c.containers.Status()
		if s.LastReason != failure.Unsupported || !strings.Contains(s.Hint, "hostPID") || !strings.Contains(s.LastError, "PIDs of a container") {
			t.Errorf("reason %s, hint %q, error %q", s.LastReason, s.Hint, s.LastError)
		}
		want := `numa_cpu_list_info{cpus="0-1",node="0"} 1
numa_cpu_list_info{cpus="2-3",node="1"} 1
process_placement_unknown{vendor="metax"} 1
`
		if diff := cmp.Diff(want, processSeries(t, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
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
			c.o.Sysfs, c.o.Procfs = processtest.Nodes(t), string(p)
			looking(t, c.o, holding("100", "0"), func(t *testing.T, collector *Collector, _ *scripted) {
				got := processSeries(t, collector)
				if n := strings.Count(got, "process_"); n != min(1, len(c.want)) || !strings.Contains(got, c.want) {
					t.Errorf("%s", got)
				}
			})
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
	if c := New(o); len(c.Statuses()) != 1 {
		t.Error("a collector of containers although nothing is told by process")
	}
}

// A file on a dead mount costs what it would have said, and neither the cards nor their nodes.
func TestFilesOfProcessesThatHang(t *testing.T) {
	p, sys := processtest.Host(t, map[int]processtest.Process{100: {}}), processtest.Nodes(t)
	if err := errors.Join(os.Remove(p.Path("100/cgroup")), syscall.Mkfifo(p.Path("100/cgroup"), 0o600)); err != nil {
		t.Fatal(err)
	}
	processtest.CardOnNode(t, sys, "0000:11:00.0", 1)
	o := options()
	o.Containers, o.NUMA, o.Sysfs, o.Procfs, o.Timeout, o.Interval = true, true, sys, string(p), 50*time.Millisecond, 100*time.Millisecond
	c := newScripted(o, VendorOptions{Vendor: vendorNamed("metax"), Command: "mx-smi"}, &scripted{answer: cardsWith(t, holding("100", "0"))}, nil)
	start(t, c)
	eventually(t, "the containers fail", func() bool { return c.containers.Status().LastReason == failure.Timeout })
	eventually(t, "the cards are there, with their nodes", func() bool {
		cards := c.Cards()[0]
		return cards.Known && cards.Devices[0].NUMAConflict != nil
	})
}

// One vendor whose processes cannot be looked at, and one whose can, are one collector that fails: it must not flap.
func TestContainersOfTwoVendors(t *testing.T) {
	lines := 0
	c := newContainers(log.LoggerFunc(func(...any) error { lines++; return nil }))
	var unread, broken host.Placements
	unread.Warnings.Add("process 7: reading its cgroup: permission denied")
	broken.Err = failure.Errorf(failure.Timeout, "no end")
	for range 10 {
		c.report("metax", time.Now(), unread, true)
		c.report("ascend", time.Now(), broken, true)
		if s := c.Status(); s.Success {
			t.Fatal("it works while it fails for one vendor")
		}
	}
	if s := c.Status(); s.Warnings != 1 || s.LeftOut.Count != 1 || lines != 2 {
		t.Errorf("%d warnings counted, %d hold now, %d lines; want 1, 1 and 2", s.Warnings, s.LeftOut.Count, lines)
	}
	c.report("ascend", time.Now(), host.Placements{}, true)
	if s := c.Status(); !s.Success || s.LeftOut.Count != 1 || lines != 3 {
		t.Errorf("when it works again: %+v, %d lines", s, lines)
	}
}
