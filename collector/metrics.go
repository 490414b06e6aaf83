package collector

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
)

// Describe implements prometheus.Collector; the set is static.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs.all {
		ch <- d
	}
}

// Collect implements prometheus.Collector from memory alone: it runs no tool and
// reads no file.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	e := emitter{descs: &c.descs, ch: ch}
	for i := range c.cards {
		v := &c.cards[i]
		e.vendor = v.poller.name
		e.status(v.poller.Status())
		if n := v.hardware.expected(); n > 0 {
			e.gauge(e.devicesExpected, float64(n), e.vendor)
		}
		if s, ok := v.poller.fresh(); ok {
			e.snapshot(s, c.processes)
		}
	}
	if c.numa != nil {
		e.status(c.numa.Status())
		if s, ok := c.numa.fresh(); ok {
			e.nodes(s)
		}
	}
}

// emitter writes const metrics of one scrape.
type emitter struct {
	*descs
	ch     chan<- prometheus.Metric
	vendor string
}

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) counter(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// optional leaves out what was not printed.
func (e emitter) optional(d *prometheus.Desc, v *float64, labels ...string) {
	if v != nil {
		e.gauge(d, *v, labels...)
	}
}

func (e emitter) status(s Status) {
	e.gauge(e.success, oneIf(s.Success), s.Collector)
	e.gauge(e.duration, s.Duration.Seconds(), s.Collector)
	last := 0.0
	if !s.LastSuccess.IsZero() {
		last = float64(s.LastSuccess.UnixMilli()) / 1e3
	}
	e.gauge(e.lastSuccess, last, s.Collector)
	for _, r := range failure.Reasons() {
		e.counter(e.failures, float64(s.Failures[r]), s.Collector, string(r))
	}
	e.gauge(e.stuck, float64(s.Stuck), s.Collector)
	e.counter(e.warnings, float64(s.Warnings), s.Collector)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (e emitter) snapshot(s *model.Snapshot, processes bool) {
	if t := s.Tool; t != nil {
		e.gauge(e.toolInfo, 1, e.vendor, t.Name, t.Version, t.DriverVersion, t.RuntimeVersion, t.FirmwareVersion)
	}
	e.gauge(e.devices, float64(s.Seen), e.vendor)
	for i := range s.Devices {
		e.device(&s.Devices[i])
	}
	for _, d := range s.Missing {
		e.gauge(e.missingInfo, 1, e.vendor, d.ID, d.Name, d.BusID, d.UUID)
	}
	for _, l := range s.Links {
		e.gauge(e.link, 1, e.vendor, l.Device, l.Peer, l.Type)
	}
	for _, x := range s.Slices {
		e.gauge(e.sliceInfo, 1, e.vendor, x.Device, x.ID)
		e.optional(e.sliceUsed, x.MemoryUsedBytes, e.vendor, x.Device, x.ID)
		e.optional(e.sliceQuota, x.MemoryQuotaBytes, e.vendor, x.Device, x.ID)
		e.optional(e.sliceCompute, x.ComputeQuotaRatio, e.vendor, x.Device, x.ID)
		e.optional(e.sliceUtil, x.UtilizationRatio, e.vendor, x.Device, x.ID)
	}
	if !processes {
		return
	}
	for _, p := range s.Processes {
		e.gauge(e.process, p.UsedBytes, e.vendor, p.Device, p.PID, p.Name)
	}
}

func (e emitter) device(d *model.Device) {
	e.gauge(e.info, 1, e.vendor, d.ID, d.Name, d.BusID, d.UUID, d.Board, d.NPU, d.Chip)
	if h := d.Health; h != nil {
		e.gauge(e.healthy, oneIf(h.OK), e.vendor, d.ID)
		e.gauge(e.healthInfo, 1, e.vendor, d.ID, h.State, h.Reason)
	}
	e.optional(e.utilization, d.UtilizationRatio, e.vendor, d.ID)
	e.optional(e.power, d.PowerWatts, e.vendor, d.ID)
	e.optional(e.powerLimit, d.PowerLimitWatts, e.vendor, d.ID)
	e.optional(e.temperature, d.TemperatureCelsius, e.vendor, d.ID, "chip")
	for _, m := range d.Memory {
		e.optional(e.memoryUsed, m.UsedBytes, e.vendor, d.ID, m.Type)
		e.optional(e.memoryTotal, m.TotalBytes, e.vendor, d.ID, m.Type)
	}
	e.optional(e.hugepagesUsed, d.HugepagesUsed, e.vendor, d.ID)
	if d.HugepagesTotal != nil {
		// Untyped, since a gauge must not be called _total and this is no counter.
		e.ch <- prometheus.MustNewConstMetric(e.hugepagesTotal, prometheus.UntypedValue, *d.HugepagesTotal, e.vendor, d.ID)
	}
	e.optional(e.performance, d.PerformanceLevel, e.vendor, d.ID)
	if d.NUMANode != nil {
		e.gauge(e.numaNode, float64(*d.NUMANode), e.vendor, d.ID)
	}
	if d.CPUAffinity != "" {
		e.gauge(e.cpuAffinity, 1, e.vendor, d.ID, d.CPUAffinity)
	}
}

func (e emitter) nodes(s *numa.Snapshot) {
	for _, n := range s.Nodes {
		node := strconv.Itoa(n.ID)
		e.optional(e.nodeTotal, n.MemoryTotalBytes, node)
		e.optional(e.nodeFree, n.MemoryFreeBytes, node)
		e.optional(e.nodeUsed, n.MemoryUsedBytes, node)
		if n.CPUs != nil {
			e.gauge(e.nodeCPUs, float64(len(n.CPUs)), node)
		}
		for peer, distance := range n.Distances {
			e.gauge(e.nodeDistance, float64(distance), node, strconv.Itoa(peer))
		}
		for _, result := range slices.Sorted(maps.Keys(n.Allocations)) {
			e.counter(e.nodeAllocations, float64(n.Allocations[result]), node, result)
		}
	}
}
