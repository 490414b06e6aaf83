// Package collector turns what the vendor tools and the kernel say about
// accelerators and NUMA nodes into metrics. It polls them in the background; a
// scrape reads memory only.
package collector

import (
	"context"
	"sync"
	"time"

	"github.com/go-kit/log"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/enflame"
	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/hygon"
	"github.com/accelerator-exporter/accelerator_exporter/collector/iluvatar"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kunlunxin"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/moorethreads"
	"github.com/accelerator-exporter/accelerator_exporter/collector/nvidia"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// The collectors besides those of vendors: of the kernel's NUMA nodes, of the containers that processes run in, and of what
// the kubelet allocated.
const (
	numaName        = "numa"
	containersName  = "containers"
	allocationsName = "allocations"
)

// Vendors is the one list a new vendor is added to, in the order of their flags.
func Vendors() []model.Vendor {
	return []model.Vendor{
		metax.Vendor(), ascend.Vendor(), nvidia.Vendor(), hygon.Vendor(),
		iluvatar.Vendor(), kunlunxin.Vendor(), moorethreads.Vendor(), enflame.Vendor(),
	}
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
	// TrustDeviceIDs are the vendors whose device plugins' ids name cards, kube.Ascend or none.
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
	// NewRunner makes the runner of a program; nil for process.NewRunner with one Subreaper.
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

// Collector polls the enabled sources and is a prometheus.Gatherer of what they
// answered. Run must be called for anything but the health series to appear.
type Collector struct {
	vendors     []*vendorCollector
	numa        *poller[host.NUMA]    // nil where it is off
	containers  *containers           // nil where it is off
	allocations *poller[[]kube.Claim] // nil where it is off
	healths     []*health             // of all of these
	processes   bool
	series      map[string]*series

	mu       sync.Mutex // polls do not wait for it
	parts    []*part    // of the last scrape
	families []*dto.MetricFamily
	wrong    error // why a sample of them is missing
}

// New prepares the collector. Nothing is run or read before Run.
func New(o Options) *Collector {
	c := &Collector{processes: o.Processes, series: newSeries()}
	if o.NewRunner == nil {
		subreaper := process.NewSubreaper()
		o.NewRunner = func(p process.Options) Runner {
			p.Subreaper = subreaper
			return process.NewRunner(p)
		}
	}
	if o.Containers && o.Processes && len(o.Vendors) > 0 {
		c.containers = newContainers(o.Logger)
	}
	for _, v := range o.Vendors {
		vendor := newVendorCollector(v, c.containers, o)
		c.vendors, c.healths = append(c.vendors, vendor), append(c.healths, vendor.poller.health)
	}
	if o.NUMA {
		c.numa = newPoller(newHealth(numaName, o.Logger), o, func(context.Context) (result[host.NUMA], error) {
			nodes, err := host.ReadNUMA(o.Sysfs)
			return result[host.NUMA]{value: nodes, taken: time.Now(), warnings: nodes.Warnings}, err
		})
		c.healths = append(c.healths, c.numa.health)
	}
	if c.containers != nil {
		c.healths = append(c.healths, c.containers.health)
	}
	if o.PodResources != "" {
		c.allocations = newPoller(newHealth(allocationsName, o.Logger), o, c.readClaims(o))
		c.healths = append(c.healths, c.allocations.health)
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

// Look polls every vendor once in place of Run, and asks for its inventories, which have the states of some vendors' cards.
func (c *Collector) Look(ctx context.Context) {
	var wg sync.WaitGroup
	for _, v := range c.vendors {
		wg.Go(func() {
			defer v.table.runner.Close()
			v.poller.poll(ctx)
			for until := time.Now().Add(v.poller.maxAge); !v.table.hasInventory(); {
				newer := v.between(ctx, until)
				if newer == nil {
					return
				}
				v.poller.store(*newer, v.poller.lastTaken())
			}
		})
	}
	wg.Wait()
}

// Statuses returns the health of every enabled collector.
func (c *Collector) Statuses() []Status {
	var all []Status
	for _, h := range c.healths {
		all = append(all, h.Status())
	}
	return all
}
