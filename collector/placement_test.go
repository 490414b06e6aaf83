package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

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

// cardsWith answers as mx-smi does of cards that these processes hold.
func cardsWith(table []model.Process) func(context.Context, []string) (command.Output, error) {
	l, m := fakesmi.MetaXLayouts()[4], fakesmi.MetaXMachine("2.2.9", fakesmi.Load{})
	m.Processes = table
	return func(_ context.Context, args []string) (command.Output, error) {
		var b bytes.Buffer
		var err error
		switch strings.Join(args, " ") {
		case "":
			err = l.Print(&b, m, time.Unix(0, 0))
		case "-L":
			err = l.PrintList(&b, m)
		case "topo -n":
			err = l.PrintTopology(&b, m, nil, time.Unix(0, 0))
		default:
			return command.Output{ExitCode: 1}, nil
		}
		return command.Output{Stdout: b.Bytes()}, err
	}
}

// placed is a collector of the stand-in of mx-smi, whose first four cards are on node 0 and
// hold the memory of the given processes, and what a user scrapes of placement.
func placed(t *testing.T, o Options, table []model.Process) string {
	t.Helper()
	o.Interval, o.InventoryInterval, o.Timeout, o.Logger = options().Interval, options().InventoryInterval, options().Timeout, options().Logger
	c := New(o)
	h := newHardware(vendors()[0], &scripted{answer: cardsWith(table)}, numaNodes{o.Sysfs}, 0, o)
	if o.NUMA && o.Processes {
		h.places = &places{procfs: process.FS(o.Procfs), sysfs: o.Sysfs}
	}
	c.cards = append(c.cards, cards{poller: newPoller("metax", h, o), hardware: h})
	c.cards[0].poller.poll(t.Context())
	if c.numa != nil {
		c.numa.poll(t.Context())
	}
	var kept []string
	about := regexp.MustCompile(`^accelerator_(process_(near|cpus|placement|node)|numa_node_conflict|numa_cpu_list)`)
	for line := range strings.Lines(scrape(t, c)) {
		if about.MatchString(line) {
			kept = append(kept, strings.TrimPrefix(line, "accelerator_"))
		}
	}
	for _, text := range c.Statuses() {
		for _, w := range text.LeftOut.Texts {
			kept = append(kept, text.Collector+": "+w+"\n")
		}
	}
	return strings.Join(kept, "")
}

func held(pid string, devices ...string) (all []model.Process) {
	for _, d := range devices {
		all = append(all, model.Process{Device: d, PID: pid, Name: "python", UsedBytes: 1 << 30})
	}
	return all
}

func TestPlacementOfProcesses(t *testing.T) {
	p, sys := processtest.Host(t, map[int]processtest.Process{
		100: {CPUs: "0-1", Mems: "0-1"},      // bound to the cards' node
		200: {CPUs: "2-3", Mems: "1"},        // to the other one
		300: {CPUs: "0-3,64-127", Mems: "0"}, // to none; the machine could have 128 CPUs
		500: {}, 600: {},
		700: {Mems: "0"},
	}), sysfs(t)
	p.Write(t, "500/status", "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n"+strings.Repeat("Groups:\t1\n", maxStatus/10))
	if err := errors.Join(os.Remove(p.Path("600/status")), syscall.Mkfifo(p.Path("600/status"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cardNode(t, sys, "0000:11:00.0", 0)
	cardNode(t, sys, "0000:19:00.0", 1)
	cardNode(t, sys, "0000:21:00.0", -1)
	var table []model.Process
	for _, of := range [][]model.Process{
		held("100", "0", "1"), held("200", "2"), held("300", "3"),
		held("400", "3"), held("500", "3"), held("600", "3"), held("700", "3"), // gone, huge, a pipe, torn
	} {
		table = append(table, of...)
	}
	got := placed(t, Options{NUMA: true, Processes: true, Sysfs: sys, Procfs: string(p)}, table)
	want := `numa_cpu_list_info{cpus="0-1",node="0"} 1
numa_cpu_list_info{cpus="2-3",node="1"} 1
numa_node_conflict{device="0",vendor="metax"} 0
numa_node_conflict{device="1",vendor="metax"} 1
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
process_placement_unknown{vendor="metax"} 4
metax: card 1 is on NUMA node 0 by the tool's topology, which is taken, and on node 1 by its PCI device
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// PIDs of a container are other processes than the host's, so they tell nothing.
func TestPlacementInAnotherPIDNamespace(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0-1"}})
	p.FromContainer(t)
	p.End(t, 2)
	got := placed(t, Options{NUMA: true, NUMAMaps: true, Processes: true, Sysfs: sysfs(t), Procfs: string(p)}, held("100", "0"))
	why := string(p) + " has the PIDs of a container, not the host's\n"
	want := `numa_cpu_list_info{cpus="0-1",node="0"} 1
numa_cpu_list_info{cpus="2-3",node="1"} 1
process_placement_unknown{vendor="metax"} 1
metax: where the processes may run is not known: ` + why + "numa: the memory of the processes by node is not known: " + why
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlacementIsOff(t *testing.T) {
	for name, o := range map[string]Options{"without processes": {NUMA: true, NUMAMaps: true}, "without nodes": {NUMAMaps: true, Processes: true}} {
		t.Run(name, func(t *testing.T) {
			p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0-1"}})
			p.Write(t, "100/numa_maps", "7f00 default N0=1 kernelpagesize_kB=4\n")
			o.Sysfs, o.Procfs = sysfs(t), string(p)
			if got := placed(t, o, held("100", "0")); strings.Contains(got, "process_") {
				t.Errorf("processes are told all the same:\n%s", got)
			}
		})
	}
}

func TestMemoryOfProcessesByNode(t *testing.T) {
	p := processtest.Host(t, nil)
	for pid := 100; pid <= 500; pid += 100 {
		p.Add(t, pid, processtest.Process{CPUs: "0-1", Mems: "0-1"})
	}
	p.Write(t, "100/numa_maps", "7f00 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n7f01 default N1=1 kernelpagesize_kB=2048\n")
	p.Write(t, "200/numa_maps", "")
	p.Write(t, "300/numa_maps", "7f00 default N0=1 kernelpa")
	if err := syscall.Mkfifo(p.Path("400/numa_maps"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := append(append(held("100", "0", "1"), held("200", "0")...), append(held("300", "0"), append(held("400", "0"), held("600", "0")...)...)...)
	got := placed(t, Options{NUMA: true, NUMAMaps: true, Processes: true, Sysfs: sysfs(t), Procfs: string(p)}, table)
	got = regexp.MustCompile(`(?m)^(process_near|process_cpus|numa_).*\n`).ReplaceAllString(got, "")
	want := `process_node_memory_bytes{node="0",pid="100",vendor="metax"} 4096
process_node_memory_bytes{node="1",pid="100",vendor="metax"} 2.105344e+06
process_placement_unknown{vendor="metax"} 1
numa: the memory of process 300 by node is not known: the last line is cut
numa: the memory of process 400 by node is not known: not a file
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Memory that may not be read stays so: it is told all the time and counted once, or the alert
// on what tools print in an unknown way would fire for ever.
func TestMemoryThatMayNotBeReadIsCountedOnce(t *testing.T) {
	sys, p := sysfs(t), processtest.Host(t, map[int]processtest.Process{100: {}, 200: {}})
	listed := []container.Listed{{Vendor: "metax", PID: "100"}}
	source := &numaSource{nodes: numaNodes{sys}, memory: &nodeMemory{
		procfs: process.FS(p), most: time.Minute, cards: func() []cards { return nil }, listed: func() []container.Listed { return listed },
		look: func(context.Context, string) (map[int]int64, error) { return nil, os.ErrPermission },
	}}
	n := newPoller(numaName, source, options())
	polled := func(what string, told int, counted uint64) {
		t.Helper()
		for range 10 {
			n.poll(t.Context())
		}
		if s := n.Status(); s.Warnings != counted || s.LeftOut.Count != told {
			t.Errorf("%s: %d counted, %d told", what, s.Warnings, s.LeftOut.Count)
		}
	}
	polled("one process", 1, 1)
	listed = append(listed, container.Listed{Vendor: "metax", PID: "200"})
	polled("one more", 2, 2)
	listed = listed[:1]
	polled("it has ended", 1, 2)
	p.FromContainer(t)
	p.End(t, 2)
	polled("in another PID namespace", 1, 2)
	source.memory.listed = func() []container.Listed { return nil }
	polled("all have ended", 0, 2)
}

// A number that is given to another process while it is looked at has nothing to tell.
func TestOfProcess(t *testing.T) {
	p := processtest.Host(t, map[int]processtest.Process{100: {CPUs: "0-1", Mems: "0"}, 200: {CPUs: "0-1", Mems: "0"}})
	allowed := func(pid int) (numa.Allowed, error) { return readAllowed(process.FS(p), pid) }
	cases := []struct {
		name, printed, want string
		before, after       func() // its files are read
	}{
		{"it stays", "100", "<nil>", nil, nil},
		{"another has its number", "100", "the process has ended", nil, func() { p.Add(t, 100, processtest.Process{Start: 6, CPUs: "0-1", Mems: "0"}) }},
		{"it ends", "100", "the process has ended", nil, func() { p.End(t, 100) }},
		{"it has ended", "100", "the process has ended", nil, nil},
		{"it ends before it is read", "200", "the process has ended", func() { p.End(t, 200) }, nil},
		{"no PID", "-1", "no PID", nil, nil},
		{"no number", "../1", "no PID", nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ofProcess(process.FS(p), c.printed, func(pid int) (numa.Allowed, error) {
				if c.before != nil {
					c.before()
				}
				a, err := allowed(pid)
				if c.after != nil {
					c.after()
				}
				return a, err
			})
			if fmt.Sprint(err) != c.want || (err == nil) != (got.CPUs != nil) {
				t.Errorf("%v, %v, want the error %s", got, err, c.want)
			}
		})
	}
}

// The kernel has who reads numa_maps wait for a process whose memory management hangs:
// that must not keep the exporter from the rest, nor cost a reader at each poll.
func TestMemoryOfProcessesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processtest.Host(t, nil)
		var readers atomic.Int32
		answer := make(chan struct{})
		m := nodeMemory{
			procfs: process.FS(p), most: time.Minute, cards: func() []cards { return nil },
			look: func(_ context.Context, pid string) (map[int]int64, error) {
				readers.Add(1)
				defer readers.Add(-1)
				if pid != "100" {
					<-answer
				}
				return map[int]int64{1: 4096}, nil
			},
		}
		m.listed = func() (all []container.Listed) {
			for _, pid := range []string{"1", "100", "2", "3", "4", "5", "6"} {
				all = append(all, container.Listed{Vendor: "metax", PID: pid})
			}
			return all
		}
		hung := func(text string, pids ...int) (all []string) {
			for _, pid := range pids {
				all = append(all, fmt.Sprintf("the memory of process %d by node is not known: %s", pid, text))
			}
			return all
		}
		const late, again, others = "the kernel does not answer in time", "the kernel has not answered an earlier question", "the kernel does not answer about other processes"
		for i, want := range [][]string{
			append(hung(late, 1, 2, 3, 4), hung(others, 5, 6)...),
			append(append(hung(again, 1), hung(others, 100)...), append(hung(again, 2, 3, 4), hung(others, 5, 6)...)...),
			nil,
		} {
			if i == 2 {
				close(answer)
				synctest.Wait()
			}
			m.read(t.Context())
			if diff := cmp.Diff(want, m.warnings.Texts); diff != "" {
				t.Errorf("reading %d (-want +got):\n%s", i, diff)
			}
			if i < 2 && readers.Load() != maxHanging {
				t.Errorf("reading %d: %d readers hang, want %d", i, readers.Load(), maxHanging)
			}
		}
		if len(m.held) != 7 {
			t.Errorf("after all have answered: %v", m.held)
		}
	})
}

// Where there is no time for all, somebody is told whose memory is not known.
func TestMemoryOfMoreProcessesThanThereIsTimeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := nodeMemory{
			procfs: process.FS(processtest.Host(t, nil)), most: 1500 * time.Millisecond, cards: func() []cards { return nil },
			listed: func() []container.Listed {
				return []container.Listed{{Vendor: "metax", PID: "1"}, {Vendor: "metax", PID: "2"}, {Vendor: "ascend", PID: "3"}}
			},
			look: func(context.Context, string) (map[int]int64, error) {
				time.Sleep(900 * time.Millisecond)
				return map[int]int64{0: 4096}, nil
			},
		}
		m.read(t.Context())
		want := []string{
			"the memory of process 2 by node is not known: the kernel does not answer in time",
			"the memory of 1 of 3 processes by node is not known: the others took all of 1.5s",
		}
		if diff := cmp.Diff(want, m.warnings.Texts); diff != "" || len(m.held) != 1 {
			t.Errorf("%v (-want +got):\n%s", m.held, diff)
		}
		time.Sleep(time.Second) // until the late reader ends
	})
}
