// Package collector turns what the vendor tools and the kernel say about
// accelerators and NUMA nodes into metrics. It polls them in the background; a
// scrape reads memory only.
package collector

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/hygon"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/nvidia"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// Vendors is the one list a new vendor is added to, in the order of their flags.
func Vendors() []model.Vendor {
	return []model.Vendor{metax.Vendor(), ascend.Vendor(), nvidia.Vendor(), hygon.Vendor()}
}

// Options says what to collect. Interval, InventoryInterval and Timeout must be
// positive.
type Options struct {
	// Vendors are the enabled ones; the others cost nothing and have no series.
	Vendors []VendorOptions
	// NUMA enables the metrics of the NUMA nodes.
	NUMA bool
	// NUMAMaps enables accelerator_process_node_memory_bytes, where NUMA and Processes are
	// enabled too.
	NUMAMaps bool
	// Processes enables the series of each process.
	Processes bool
	// Containers enables accelerator_process_container_info, where Processes and a vendor are
	// enabled too.
	Containers bool
	// PodLogs is the folder of the kubelet's log folders, usually /var/log/pods. It need not
	// be there.
	PodLogs string
	// PodResources is the kubelet's socket of the PodResources API, "" for none: then nothing of a kubelet is opened.
	PodResources string
	// TrustDeviceIDs are the vendors, of TrustedIDs, whose device plugins' ids name cards.
	TrustDeviceIDs []string
	// Sysfs and Procfs are where these are mounted, usually /sys and /proc.
	Sysfs, Procfs string
	// Interval is the polling interval of the tools' main tables with their processes, of the
	// NUMA nodes and of the kubelet.
	Interval time.Duration
	// InventoryInterval is the polling interval of slow-changing data such as topology.
	InventoryInterval time.Duration
	// Detail says what is asked beyond the main tables.
	Detail Detail
	// Serials enables accelerator_board_info.
	Serials bool
	// Timeout bounds one run of a tool.
	Timeout time.Duration
	// Variables are the names of variables of our environment that tools get besides
	// the usual ones.
	Variables []string
	// Subreaper starts the tools. Several Collectors of one program share one; nil
	// makes one.
	Subreaper *process.Subreaper
	// NewRunner makes the runner of a program; nil for process.NewRunner.
	NewRunner func(process.Options) Runner
	Logger    log.Logger
}

// Runner runs one program of a vendor, one call at a time.
type Runner interface {
	// RunUntil ends the program when enough says so of what it has printed; nil for never.
	RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (process.Output, error)
	// Stuck is how many children outlived SIGKILL.
	Stuck() int
	Close()
}

// Detail is how much is asked beyond the main tables.
type Detail string

// The levels of detail.
const (
	DetailOff  Detail = "off"
	DetailLean Detail = "lean" // what costs few calls
	DetailFull Detail = "full"
)

// VendorOptions enables a vendor.
type VendorOptions struct {
	model.Vendor
	Command string // program name or path
	// Network is the name or path of the program that knows the cards' network ports, ""
	// for none.
	Network string
	// ExpectedDevices is the expected number of cards, or 0 for the most ever seen or
	// announced.
	ExpectedDevices int
}

// Collector polls the enabled sources and is a prometheus.Collector of what they
// answered. Run must be called for anything but the health series to appear.
type Collector struct {
	cards     []cards
	numa      *poller[host.NUMA]
	processes bool
	series    map[string]series

	containers *containers // nil where it is off
	procfs     process.FS

	allocations *poller[[]kube.Claim] // nil when off
}

// cards is one enabled vendor.
type cards struct {
	poller   *poller[model.Snapshot]
	hardware *hardware
	runners  []Runner // of the hardware's tools
}

// New prepares the collector. Nothing is run or read before Run.
func New(o Options) *Collector {
	c := &Collector{processes: o.Processes, series: newSeries(), procfs: process.FS(o.Procfs)}
	if o.Subreaper == nil {
		o.Subreaper = process.NewSubreaper()
	}
	if o.Containers && o.Processes && len(o.Vendors) > 0 {
		c.containers = newContainers(o.Logger)
	}
	if o.NewRunner == nil {
		o.NewRunner = func(o process.Options) Runner { return process.NewRunner(o) }
	}
	for _, v := range o.Vendors {
		c.cards = append(c.cards, newCards(v, c.containers, o))
	}
	if o.NUMA {
		c.numa = newPoller(numaName, numaSource{o.Sysfs}, o)
	}
	if o.PodResources != "" {
		c.allocations = newPoller(allocationsName, newAllocations(c, o), o)
	}
	return c
}

func newCards(v VendorOptions, c *containers, o Options) cards {
	newRunner := func(path string) Runner {
		return o.NewRunner(process.Options{Path: path, Timeout: o.Timeout, Variables: o.Variables, Subreaper: o.Subreaper})
	}
	runners := []Runner{newRunner(v.Command)}
	h := newHardware(v.Vendor, runners[0], newProcessLooker(c, o), v.ExpectedDevices, o)
	if v.Network != "" {
		runners = append(runners, newRunner(v.Network))
		h.addTool(runners[1], true, v.ClassifyNetwork, o)
	}
	return newCardsOf(h, runners, o)
}

// newCardsOf wires a vendor's poller: its tool's other commands run between polls, and inventories are merged as they
// arrive.
func newCardsOf(h *hardware, runners []Runner, o Options) cards {
	c := cards{poller: newPoller(h.vendor.Name, h, o), hardware: h, runners: runners}
	h.tools[0].asked = func() { c.poller.store(h.merge(), h.taken) }
	c.poller.between = h.tools[0].askUntil
	return c
}

// status is the health of the vendor's collector with that of all its commands.
func (c *cards) status() Status {
	s := c.poller.health.Status()
	for _, t := range c.hardware.tools {
		t.addTo(&s)
	}
	return s
}

// wants reports whether a command is part of what is asked for.
func (o Options) wants(c model.Command) bool {
	switch {
	case c.Inventory:
		return true
	case o.Detail == DetailOff:
		return false
	case c.Serials:
		return o.Serials
	}
	return o.Detail != DetailLean || c.Lean
}

// Run polls until ctx ends, then kills what still runs.
func (c *Collector) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, v := range c.cards {
		wg.Go(func() {
			v.poller.run(ctx)
			v.runners[0].Close()
		})
		if len(v.runners) > 1 {
			const forever = 100 * 365 * 24 * time.Hour
			wg.Go(func() {
				v.hardware.tools[1].askUntil(ctx, time.Now().Add(forever))
				v.runners[1].Close()
			})
		}
	}
	if c.numa != nil {
		wg.Go(func() { c.numa.run(ctx) })
	}
	if c.allocations != nil {
		wg.Go(func() { c.allocations.run(ctx) })
	}
	wg.Wait()
}

// Statuses returns the health of every enabled collector.
func (c *Collector) Statuses() []Status {
	var all []Status
	for i := range c.cards {
		all = append(all, c.cards[i].status())
	}
	if c.numa != nil {
		all = append(all, c.numa.health.Status())
	}
	if c.containers != nil {
		all = append(all, c.containers.Status())
	}
	if c.allocations != nil {
		all = append(all, c.allocations.health.Status())
	}
	return all
}

// DeviceRef names one card.
type DeviceRef struct {
	Vendor, Device string
}

// DevicesOf returns the cards on which one of the processes holds memory, by
// the tools' fresh process lists.
func (c *Collector) DevicesOf(isOne func(pid string) bool) []DeviceRef {
	var refs []DeviceRef
	for _, v := range c.cards {
		s, ok := v.poller.fresh()
		if !ok {
			continue
		}
		for _, p := range s.Processes {
			ref := DeviceRef{Vendor: v.poller.name, Device: p.Device}
			if isOne(p.PID) && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// Detect returns the first of a vendor's tools that can be run, and false when
// there is none.
func Detect(tools []string) (tool string, ok bool) {
	i := slices.IndexFunc(tools, process.Available)
	if i < 0 {
		return "", false
	}
	return tools[i], true
}
