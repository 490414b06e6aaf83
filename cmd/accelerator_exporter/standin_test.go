package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// machine is a host with eight cards of each vendor. On the first is a process in a pod, that of MetaX behind port 8000, and
// on the second one whose cgroup is not trusted, so that there is a warning all the time.
type machine struct {
	procfs processtest.Procfs
	sysfs  string
	live   bool // what the tools show changes by itself

	mu     sync.Mutex
	orders map[string]string // of the stand-in
}

// day0 is when the stand-in's counters have begun long ago.
var day0 = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

func newMachine(t testing.TB, live bool) *machine {
	m := &machine{sysfs: nodes(t), live: live, orders: map[string]string{}}
	all := map[int]processtest.Process{}
	for i, v := range collector.Vendors() {
		pid := 100 * (i + 1)
		m.orders[v.Tools[0]+".processes"] = fmt.Sprintf("0 %d python 4000\n1 %d python 5000\n", pid, pid+1)
		all[pid] = processtest.Process{Cgroup: "/kubepods/burstable/pod" + podUID + "/" + containerID, CPUs: "0-3", Mems: "0-1", Files: []string{fmt.Sprintf("socket:[%d]", pid)}}
		all[pid+1] = processtest.Process{Cgroup: "/user.slice/kubepods/pod" + podUID, CPUs: "0-1", Mems: "0"}
	}
	m.procfs = processtest.Host(t, all)
	listens(t, m.procfs, map[int]int{8000: 100})
	for bus := range 256 { // of every card there is
		processtest.CardOnNode(t, m.sysfs, fmt.Sprintf("0000:%02x:00.0", bus), 0)
	}
	return m
}

// order gives a tool an order of the stand-in's, "" for none.
func (m *machine) order(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders[name] = text
}

// shows is what the tools show: where it is live, a load that is another one each minute.
func (m *machine) shows() (smi.State, time.Time) {
	now, busy := day0.Add(12*time.Hour), 0.5
	if m.live {
		now = time.Now()
		_, busy = math.Modf(math.Trunc(now.Sub(day0).Minutes()) * math.Phi)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	load := smi.Load{Busy: busy, Cache: busy / 2, PID: 100, Process: "python", BusySeconds: now.Sub(day0).Seconds() / 2}
	return smi.State{Load: load, Orders: maps.Clone(m.orders), Since: day0}, now
}

// fault is what a tool does wrong in the calls of a command.
type fault string

const (
	hang    fault = "hang"    // prints nothing until the timeout
	halfway fault = "halfway" // prints half its answer, and hangs
	slow    fault = "slow"    // needs 8 s more
	refusal fault = "refusal" // does not know the command
	cut     fault = "cut"     // ends after half the lines
	torn    fault = "torn"    // leaves out a line in the middle
	exit    fault = "exit"    // exits 1 without a word
	flaky   fault = "flaky"   // exits 1 every other time
	stuck   fault = "stuck"   // of a tool: a child outlives SIGKILL
)

// standIn answers the tools of a machine, each call after a while of virtual time.
type standIn struct {
	*machine
	t       testing.TB
	adapt   func(vendor string, c *model.Command) bool   // changes a command, and reports whether it is asked at all
	printed func(c model.Command, key string, v float64) // gets each value that was read, nil for nobody
	at      atomic.Int64                                 // the line at which answers are damaged, 0 for the middle
	says    map[string]string                            // what a call prints in any case, by tool and arguments

	mu     sync.Mutex
	faults map[string]fault  // by vendor and command, such as "ascend ecc", or by tool
	known  map[string]bool   // vendors and commands
	names  map[string]string // which of these was asked last, by tool and arguments: two of them may ask the same
	whole  map[string][]byte // what a tool would have printed last, of one that printed something else
	calls  int
}

func newStandIn(t testing.TB, m *machine) *standIn {
	return &standIn{machine: m, t: t, adapt: soon, faults: map[string]fault{}, known: map[string]bool{}, names: map[string]string{}, whole: map[string][]byte{}}
}

// soon has a command asked every minute, and about two cards only.
func soon(_ string, c *model.Command) bool {
	c.Every = min(c.Every, time.Minute)
	if when := c.When; c.Scope != model.Host {
		c.When = func(d *model.Device) bool { return (d.ID == "0" || d.ID == "5") && (when == nil || when(d)) }
	}
	return true
}

func (s *standIn) set(where string, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[where] = f
}

// asked is how many calls there were.
func (s *standIn) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// commands are those that were asked, such as "ascend ecc".
func (s *standIn) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.known))
}

// vendors are those of these names, or all.
func (s *standIn) vendors(names ...string) (all []collector.VendorOptions) {
	for _, v := range collector.Vendors() {
		o := collector.VendorOptions{Vendor: v, Command: v.Tools[0]}
		if len(v.NetworkTools) > 0 {
			o.Network = v.NetworkTools[0]
		}
		if len(names) == 0 || slices.Contains(names, v.Name) {
			o.Table = s.watch(o, []model.Command{v.Table})[0]
			o.Commands = s.watch(o, v.Commands)
			all = append(all, o)
		}
	}
	return all
}

// watch returns the commands that are asked. Of each it is known which it is and what was read of its answers.
func (s *standIn) watch(v collector.VendorOptions, commands []model.Command) (watched []model.Command) {
	for _, c := range commands {
		if !s.adapt(v.Name, &c) {
			continue
		}
		tool, args, parse, more := v.Command, c.Args, c.Parse, c.More
		if c.Network {
			tool = v.Network
		}
		c.Args = func(d model.Device) [][]string {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.known[v.Name+" "+c.Name] = true
			for _, list := range args(d) {
				s.names[tool+" "+strings.Join(list, " ")] = v.Name + " " + c.Name
			}
			return args(d)
		}
		c.Parse = func(out []byte, cards []model.Device) (model.Report, error) {
			r, err := parse(out, cards)
			if err == nil {
				s.read(v.Name, tool, c, r, cards, parse)
			}
			return r, err
		}
		if more != nil {
			c.More = func(out []byte, card model.Device) []model.Command { return s.watch(v, more(out, card)) }
		}
		watched = append(watched, c)
	}
	return watched
}

// read gets what was read of an answer. A damaged one has no other values than the whole one.
func (s *standIn) read(vendor, tool string, c model.Command, r model.Report, cards []model.Device, parse func([]byte, []model.Device) (model.Report, error)) {
	s.mu.Lock()
	whole := s.whole[tool]
	s.mu.Unlock()
	values, truth := valuesOf(vendor, r), map[string]float64{}
	if whole != nil {
		full, _ := parse(whole, cards)
		truth = valuesOf(vendor, full)
	}
	for key, v := range values {
		if w, ok := truth[key]; whole != nil && (!ok || v != w) {
			s.t.Errorf("%s %s: of a damaged answer %s is read as %v, of the whole one as %v, %t", vendor, c.Name, key, v, w, ok)
		}
		if s.printed != nil {
			s.printed(c, key, v)
		}
	}
}

// valuesOf are the values of an answer by metric and labels.
func valuesOf(vendor string, r model.Report) map[string]float64 {
	all := map[string]float64{}
	put := func(readings model.Readings, labels ...string) {
		for _, x := range readings {
			all[valueKey(string(x.Metric), slices.Concat(labels, x.Labels))] = x.Value
		}
	}
	for _, d := range slices.Concat(r.Devices, r.Listed) {
		put(d.Readings, vendor, d.ID)
		if d.Health != nil {
			all[valueKey("healthy", []string{vendor, d.ID})] = map[bool]float64{true: 1}[d.Health.OK]
		}
	}
	for _, x := range r.Slices {
		put(x.Readings, vendor, x.Device, x.ID)
	}
	for _, p := range r.Processes {
		all[valueKey("process_memory_used_bytes", []string{vendor, p.Device, p.PID, p.Name})] = p.UsedBytes
	}
	return all
}

// valueKey is the same for a reading and for its series, whose labels are in another order.
func valueKey(metric string, labels []string) string {
	slices.Sort(labels)
	return metric + " " + strings.Join(labels, " ")
}

// runner makes the runner of one tool.
func (s *standIn) runner(o process.Options) collector.Runner {
	tool, ok := smi.Find(o.Path)
	if !ok {
		s.t.Errorf("no stand-in of %s", o.Path)
	}
	return &toolRunner{standIn: s, tool: tool, Options: o}
}

// toolRunner runs one tool.
type toolRunner struct {
	*standIn
	process.Options
	tool *smi.Tool
	busy atomic.Bool
}

func (r *toolRunner) Stuck() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[fault]int{stuck: 1}[r.faults[r.Path]]
}

func (*toolRunner) Close() {}

func (r *toolRunner) RunUntil(ctx context.Context, enough func([]byte) bool, args ...string) (out process.Output, err error) {
	if !r.busy.CompareAndSwap(false, true) {
		r.t.Errorf("two calls of %s at a time", r.Path)
	}
	defer r.busy.Store(false)
	if r.Stuck() > 0 {
		return process.Output{ExitCode: -1}, failure.Errorf(failure.Stuck, "an earlier %s outlived SIGKILL, so no other is started", r.Path)
	}
	ctx, stop := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("no complete answer within %s", r.Timeout))
	defer stop()
	takes := time.Duration(len(r.Path)) * time.Millisecond // of each tool another one, so that nothing happens at once
	for round, whole := 0, []byte(nil); ; round++ {
		a, text := r.answer(round, args)
		select {
		case <-time.After(takes + a.Wait):
		case <-ctx.Done():
		}
		out.Stdout, out.ExitCode, whole = append(out.Stdout, a.Text...), a.Status, append(whole, text...)
		r.keep(whole, out.Stdout)
		if a.Hangs {
			<-ctx.Done()
		}
		switch {
		case ctx.Err() != nil:
			return out, failure.Errorf(failure.Timeout, "running %s: %w", strings.Join(append([]string{r.Path}, args...), " "), context.Cause(ctx))
		case !a.GoesOn || enough != nil && enough(out.Stdout):
			return out, nil
		}
		time.Sleep(time.Second)
	}
}

// keep notes what the tool ought to have printed, where it has not.
func (r *toolRunner) keep(whole, printed []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole[r.Path] = nil; !bytes.Equal(whole, printed) {
		r.whole[r.Path] = bytes.ReplaceAll(whole, []byte("\t"), []byte(" "))
	}
}

// answer is what the tool prints, with the fault of the command, and without.
func (r *toolRunner) answer(round int, args []string) (a smi.Answer, whole []byte) {
	state, now := r.shows()
	a = r.tool.Answer(state, now, round, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	call := r.Path + " " + strings.Join(args, " ")
	if text, ok := r.says[call]; ok {
		a.Text = []byte(text)
	}
	whole = a.Text
	lines := bytes.SplitAfter(whole, []byte("\n"))
	middle := len(lines) / 2
	if at := int(r.at.Load()); at > 0 {
		middle = at % len(lines)
	}
	half := bytes.Join(lines[:middle], nil)
	switch f := r.faults[r.names[call]]; {
	case f == hang:
		a = smi.Answer{Hangs: true}
	case f == halfway:
		a.Text, a.Hangs = half, true
	case f == slow:
		a.Wait += 8 * time.Second
	case f == refusal:
		a = r.tool.Answer(state, now, 0, "no such command")
	case f == cut:
		a.Text = half
	case f == torn:
		a.Text = bytes.Join(slices.Delete(lines, middle, middle+1), nil)
	case f == exit, f == flaky && r.calls%2 == 0:
		a = smi.Answer{Status: 1}
	}
	return a, whole
}

// options are those of a collector of the machine's cards.
func (s *standIn) options(vendors ...string) collector.Options {
	return collector.Options{
		Vendors: s.vendors(vendors...), NewRunner: s.runner, Interval: 30 * time.Second, InventoryInterval: time.Minute, Timeout: 10 * time.Second,
		NUMA: true, Processes: true, Containers: true, Sysfs: s.sysfs, Procfs: string(s.procfs), PodLogs: "/nonexistent",
		Detail: collector.DetailFull, Serials: true, Logger: log.NewNopLogger(),
	}
}

// collect runs a collector until a function ends, which may scrape.
func (s *standIn) collect(o collector.Options, during func(scrape func() map[string]float64)) {
	c := collector.New(o)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	during(func() map[string]float64 { return series(s.t, prometheus.Gatherers{c}) })
	stop()
	running.Wait()
}

// series are the samples of a scrape by name and labels; of a histogram its count. No label is too long or no text, and
// there are not more than Prometheus takes.
func series(t testing.TB, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Error(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName() + labelText(m)
			all[name] = value(m)
			for _, l := range m.GetLabel() {
				if len(l.GetValue()) > 200 || !utf8.ValidString(l.GetValue()) {
					t.Errorf("%q has a label of %d bytes", name, len(l.GetValue()))
				}
			}
		}
	}
	const most = 20_000 // sample_limit in deploy/prometheus
	if len(all) > most {
		t.Errorf("%d series", len(all))
	}
	return all
}

func labelText(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.GetLabel() {
		b.WriteString("{" + l.GetName() + `="` + l.GetValue() + `"}`)
	}
	return b.String()
}

func value(m *dto.Metric) float64 {
	if h := m.GetHistogram(); h != nil {
		return float64(h.GetSampleCount())
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}
