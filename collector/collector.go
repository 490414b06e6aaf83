// Package collector turns what the vendor tools and the kernel tell about
// accelerators and NUMA nodes into metrics. It polls them in the background; a
// scrape reads memory only.
package collector

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/allocation"
	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// forEver is longer than any program runs.
const forEver = 100 * 365 * 24 * time.Hour

// vendors is the one list a new vendor is added to.
func vendors() []smi.Vendor {
	return []smi.Vendor{metax.Vendor(), ascend.Vendor()}
}

// Known is a vendor that this program can collect from.
type Known struct {
	Name    string   // value of the label "vendor" and of the collector's flag
	Tools   []string // the program's names, the usual one first
	Network []string // names and usual paths of the program that knows the network ports, the usual one first; often none
}

// Vendors returns the known vendors, in the order of their flags.
func Vendors() []Known {
	var known []Known
	for _, v := range vendors() {
		known = append(known, Known{Name: v.Name, Tools: v.Tools, Network: v.NetworkTools})
	}
	return known
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
	// Processes enables what is told by process.
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
	// Interval is the polling interval of the tools' main tables, of the NUMA nodes, of the
	// processes' containers and of the kubelet.
	Interval time.Duration
	// InventoryInterval is the polling interval of slow-changing data such as topology.
	InventoryInterval time.Duration
	// Detail says what is asked beyond the main tables.
	Detail Detail
	// DetailShare is the share of the time that a tool may be busy with details, above 0 and
	// up to 1.
	DetailShare float64
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
	Logger    log.Logger
}

// Detail is how much is asked beyond the main tables.
type Detail string

// The levels of detail.
const (
	DetailOff  Detail = "off"
	DetailLean Detail = "lean" // what costs few calls
	DetailFull Detail = "full"
)

// VendorOptions enables a vendor by its name.
type VendorOptions struct {
	Name    string
	Command string // program name or path
	// Network is the name or path of the program that knows the cards' network ports, ""
	// for none.
	Network string
	// ExpectedDevices is the expected number of cards, or 0 for the most ever seen or
	// announced.
	ExpectedDevices int
}

// Collector polls the enabled sources and is a prometheus.Collector of what they
// told. Run must be called for anything but the health series to appear.
type Collector struct {
	cards     []cards
	numa      *poller[numaState]
	processes bool
	timeout   time.Duration
	series    map[string]series

	containers *poller[container.Snapshot] // nil where it is off
	reader     container.Reader            // of containers

	allocations *poller[[]allocation.Allocation] // nil when off
	conflicts   *allocations                     // its source
}

// cards is one enabled vendor.
type cards struct {
	poller   *poller[model.Snapshot]
	hardware *hardware
	runner   *command.Runner
	network  *command.Runner // nil for none
}

// New prepares the collector. Nothing is run or read before Run. Unknown vendor
// names are ignored: the caller made its choice from Vendors.
func New(o Options) *Collector {
	c := &Collector{processes: o.Processes, timeout: o.Timeout, series: newSeries()}
	if o.Subreaper == nil {
		o.Subreaper = process.NewSubreaper()
	}
	for _, v := range vendors() {
		i := slices.IndexFunc(o.Vendors, func(e VendorOptions) bool { return e.Name == v.Name })
		if i < 0 {
			continue
		}
		c.cards = append(c.cards, newCards(v, o.Vendors[i], o))
	}
	if o.NUMA {
		source := &numaSource{nodes: numaNodes{o.Sysfs}}
		if o.NUMAMaps && o.Processes {
			source.memory = newNodeMemory(c, o)
		}
		c.numa = newPoller(numaName, source, o)
	}
	if o.Containers && o.Processes && len(c.cards) > 0 {
		c.addContainers(o)
	}
	if o.PodResources != "" {
		c.conflicts = newAllocations(c, o)
		c.allocations = newPoller(allocationsName, c.conflicts, o)
	}
	return c
}

func newCards(v smi.Vendor, enabled VendorOptions, o Options) cards {
	newRunner := func(path string) *command.Runner {
		return command.New(command.Options{Path: path, Timeout: o.Timeout, Variables: o.Variables, Subreaper: o.Subreaper})
	}
	r := newRunner(enabled.Command)
	h := newHardware(v, r, numaNodes{o.Sysfs}, enabled.ExpectedDevices, o)
	if o.NUMA && o.Processes {
		h.places = &places{procfs: process.FS(o.Procfs), sysfs: o.Sysfs}
	}
	c := cards{poller: newPoller(v.Name, h, o), hardware: h, runner: r}
	own := newDetails(o.plan(v.Details, false), r, v.Classify, h.commands, o)
	h.details, c.poller.spare = []*details{own}, own.spend
	if enabled.Network != "" {
		c.network = newRunner(enabled.Network)
		h.details = append(h.details, newDetails(o.plan(v.Details, true), c.network, v.ClassifyNetwork, h.commands, o))
	}
	return c
}

// plan are the details to be asked: of the tool itself, or of the network tool.
func (o Options) plan(all []smi.Detail, network bool) []smi.Detail {
	return slices.DeleteFunc(slices.Clone(all), func(d smi.Detail) bool {
		return d.Network != network || !o.wants(d)
	})
}

// wants reports whether a detail is part of what is asked for.
func (o Options) wants(d smi.Detail) bool {
	switch {
	case o.Detail == DetailOff:
		return false
	case d.Serials:
		return o.Serials
	}
	return o.Detail != DetailLean || d.Lean
}

// Run polls until ctx ends, then kills what still runs.
func (c *Collector) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, v := range c.cards {
		wg.Go(func() {
			v.poller.run(ctx)
			v.runner.Close()
		})
		if v.network != nil {
			wg.Go(func() {
				v.hardware.details[1].spend(ctx, time.Now().Add(forEver))
				v.network.Close()
			})
		}
	}
	if c.numa != nil {
		wg.Go(func() { c.numa.run(ctx) })
	}
	if c.containers != nil {
		wg.Go(func() { c.containers.run(ctx) })
	}
	if c.allocations != nil {
		wg.Go(func() {
			c.awaitTables(ctx, c.timeout)
			c.allocations.run(ctx)
		})
	}
	wg.Wait()
}

// Statuses returns the health of every enabled collector.
func (c *Collector) Statuses() []Status {
	var all []Status
	for _, v := range c.cards {
		all = append(all, v.poller.Status())
	}
	if c.numa != nil {
		all = append(all, c.numa.Status())
	}
	if c.containers != nil {
		all = append(all, c.containers.Status())
	}
	if c.allocations != nil {
		all = append(all, c.allocations.Status())
	}
	return all
}

// DeviceRef names one card.
type DeviceRef struct {
	Vendor, Device string
}

// DevicesOf returns the cards on which one of the processes holds memory, as far
// as the tools' fresh process lists tell.
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

// Detect returns the first of the vendor's tools that can be run, and false when
// there is none.
func (k Known) Detect() (tool string, ok bool) { return firstAvailable(k.Tools) }

// DetectNetwork does the same for the vendor's network tools.
func (k Known) DetectNetwork() (tool string, ok bool) { return firstAvailable(k.Network) }

func firstAvailable(tools []string) (string, bool) {
	i := slices.IndexFunc(tools, command.Available)
	if i < 0 {
		return "", false
	}
	return tools[i], true
}
