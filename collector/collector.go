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
	"github.com/accelerator-exporter/accelerator_exporter/collector/moorethreads"
	"github.com/accelerator-exporter/accelerator_exporter/collector/nvidia"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// Vendors is the one list a new vendor is added to, in the order of their flags.
func Vendors() []model.Vendor {
	return []model.Vendor{metax.Vendor(), ascend.Vendor(), nvidia.Vendor(), hygon.Vendor(), moorethreads.Vendor()}
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
	vendors   []*vendorCollector
	numa      *poller[host.NUMA]
	processes bool
	series    map[string]series

	containers *containers // nil where it is off
	procfs     process.FS

	allocations *poller[[]kube.Claim] // nil when off
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
		c.vendors = append(c.vendors, newVendorCollector(v, c.containers, o))
	}
	if o.NUMA {
		c.numa = newPoller(numaSource{o.Sysfs}, newHealth(numaName, o.Logger), o)
	}
	if o.PodResources != "" {
		c.allocations = newPoller(newAllocations(c, o), newHealth(allocationsName, o.Logger), o)
	}
	return c
}

// wants reports whether a command is part of what is asked for.
func (o Options) wants(c model.Command) bool {
	switch {
	case c.Processes && !o.Processes:
		return false
	case c.Inventory, c.EveryPoll:
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
	for _, v := range c.vendors {
		wg.Go(func() { v.run(ctx) })
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
	for _, v := range c.vendors {
		all = append(all, v.status())
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
	for _, v := range c.vendors {
		s, ok := v.poller.fresh()
		if !ok {
			continue
		}
		for _, p := range s.Processes {
			ref := DeviceRef{Vendor: v.Name, Device: p.Device}
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
