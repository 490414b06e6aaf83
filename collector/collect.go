package collector

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
	"github.com/accelerator-exporter/accelerator_exporter/internal/label"
)

// Describe implements prometheus.Collector; the set is static.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector from memory alone: it runs no tool and
// reads no file.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	e := emitter{series: c.series, ch: ch}
	for i := range c.cards {
		v := &c.cards[i]
		e.vendor = v.poller.name
		e.status(v.poller.Status())
		e.commands(v.hardware.commands.all())
		if n := v.hardware.expected(); n > 0 {
			e.put("devices_expected", float64(n), e.vendor)
		}
		s, ok := v.poller.fresh()
		if ok {
			e.snapshot(s, c.processes)
		} else {
			s = &model.Snapshot{}
		}
		e.details(s.Devices, v.hardware.details, func(m model.Metric) bool { return ok || !v.hardware.vendor.InTable(m) })
	}
	if c.numa != nil {
		e.status(c.numa.Status())
		if s, ok := c.numa.fresh(); ok {
			e.nodes(s)
			e.memory(s.memory)
		}
	}
	if c.containers != nil {
		e.status(c.containers.Status())
		e.places(c.placed())
	}
	if c.allocations != nil {
		c.allocated(e)
	}
}

// emitter writes const metrics of one scrape.
type emitter struct {
	series map[string]series
	ch     chan<- prometheus.Metric
	vendor string
}

// put writes a sample of one of Metrics, with all its labels. It may shorten what is in
// labels.
func (e emitter) put(name string, v float64, labels ...string) { e.ch <- e.metric(name, v, labels) }

// metric makes a sample: the one place where texts of tools become labels.
func (e emitter) metric(name string, v float64, labels []string) prometheus.Metric {
	s := e.series[name]
	for i := range labels {
		labels[i] = label.Value(labels[i])
	}
	m, err := prometheus.NewConstMetric(s.desc, s.kind, v, labels...)
	if err != nil { // a panic here would cost the other collectors their series
		m = prometheus.NewInvalidMetric(s.desc, fmt.Errorf("%s: %w", name, err))
	}
	return m
}

// readings writes what was printed, behind the labels of its card, slice or node.
func (e emitter) readings(all model.Readings, labels ...string) {
	for i := range all {
		e.put(string(all[i].Metric), all[i].Value, append(labels, all[i].Labels...)...)
	}
}

func (e emitter) status(s Status) {
	e.put("collector_success", oneIf(s.Success), s.Collector)
	e.put("collector_duration_seconds", s.Duration.Seconds(), s.Collector)
	last := 0.0
	if !s.LastSuccess.IsZero() {
		last = float64(s.LastSuccess.UnixMilli()) / 1e3
	}
	e.put("collector_last_success_timestamp_seconds", last, s.Collector)
	for _, r := range failure.Reasons() {
		e.put("collector_failures_total", float64(s.Failures[r]), s.Collector, string(r))
	}
	e.put("collector_stuck_processes", float64(s.Stuck), s.Collector)
	e.put("parse_warnings_total", float64(s.Warnings), s.Collector)
}

func (e emitter) commands(all []commandRun) {
	for _, r := range all {
		e.put("collector_command_duration_seconds", r.duration.Seconds(), e.vendor, r.command)
		e.put("collector_command_success", oneIf(r.success), e.vendor, r.command)
	}
}

// details writes what the details tell and the main table does not; of two that tell the
// same, the first holds. A metric of a table that is stale is not wanted from them either.
func (e emitter) details(table []model.Device, all []*details, wanted func(model.Metric) bool) {
	written := map[string]bool{}
	for i := range table {
		for _, r := range table[i].Readings {
			written[sampleID(table[i].ID, r)] = true
		}
	}
	for _, d := range all {
		for _, t := range d.told() {
			for _, s := range t.samples(e) {
				if !written[s.id] && wanted(s.of) {
					written[s.id] = true
					e.ch <- s.metric
				}
			}
		}
	}
}

// telling is what one answer told of a card. Its samples are made for the first scrape and
// kept: there are thousands, and an answer outlives many scrapes.
type telling struct {
	smi.Told
	once sync.Once
	made []sample
}

type sample struct {
	id     string // of its metric, card and labels
	of     model.Metric
	metric prometheus.Metric
}

func (t *telling) samples(e emitter) []sample {
	t.once.Do(func() {
		t.made = make([]sample, len(t.Readings))
		for i, r := range t.Readings {
			labels := slices.Concat([]string{e.vendor, t.Device}, r.Labels)
			t.made[i] = sample{sampleID(t.Device, r), r.Metric, e.metric(string(r.Metric), r.Value, labels)}
		}
	})
	return t.made
}

func sampleID(device string, r model.Reading) string {
	return string(r.Metric) + "\xff" + device + "\xff" + strings.Join(r.Labels, "\xff")
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (e emitter) snapshot(s *model.Snapshot, processes bool) {
	if t := s.Tool; t != nil {
		e.put("tool_info", 1, e.vendor, t.Name, t.Version, t.DriverVersion, t.RuntimeVersion, t.FirmwareVersion)
	}
	e.put("devices", float64(s.Seen), e.vendor)
	for i := range s.Devices {
		e.device(&s.Devices[i])
	}
	for _, d := range s.Missing {
		e.put("device_missing_info", 1, e.vendor, d.ID, d.Name, d.BusID, d.UUID)
	}
	for _, l := range s.Links {
		e.put("link_info", 1, e.vendor, l.Device, l.Peer, l.Type)
	}
	for _, x := range s.Slices {
		e.put("slice_info", 1, e.vendor, x.Device, x.ID)
		e.readings(x.Readings, e.vendor, x.Device, x.ID)
	}
	if !processes {
		return
	}
	for _, p := range s.Processes {
		e.put("process_memory_used_bytes", p.UsedBytes, e.vendor, p.Device, p.PID, p.Name)
	}
	e.placements(s)
}

func (e emitter) placements(s *model.Snapshot) {
	if s.Unplaced != nil {
		e.put("process_placement_unknown", float64(*s.Unplaced), e.vendor)
	}
	for _, p := range s.Placements {
		if p.CPUs != "" {
			e.put("process_cpus_info", 1, e.vendor, p.PID, p.CPUs, p.Nodes)
		}
		for _, near := range p.Near {
			if near.CPUs != nil {
				e.put("process_near_cpus_ratio", *near.CPUs, e.vendor, near.Device, p.PID)
			}
			if near.Memory != nil {
				e.put("process_near_memory_allowed", oneIf(*near.Memory), e.vendor, near.Device, p.PID)
			}
		}
	}
}

func (e emitter) places(all []container.Process) {
	for _, p := range all {
		e.put("process_container_info", 1, p.Vendor, p.PID, p.Place.ContainerID, p.Place.PodUID, p.Place.Namespace, p.Place.Pod, p.Place.Container)
	}
}

func (e emitter) device(d *model.Device) {
	e.put("info", 1, e.vendor, d.ID, d.Name, d.BusID, d.UUID, d.Board, d.NPU, d.Chip)
	if h := d.Health; h != nil {
		e.put("healthy", oneIf(h.OK), e.vendor, d.ID)
		e.put("health_info", 1, e.vendor, d.ID, h.State, h.Reason)
	}
	e.readings(d.Readings, e.vendor, d.ID)
	if d.NUMANode != nil {
		e.put("numa_node", float64(*d.NUMANode), e.vendor, d.ID)
	}
	if d.NUMAConflict != nil {
		e.put("numa_node_conflict", oneIf(*d.NUMAConflict), e.vendor, d.ID)
	}
	if d.CPUAffinity != "" {
		e.put("cpu_affinity_info", 1, e.vendor, d.ID, d.CPUAffinity)
	}
}

func (e emitter) nodes(s *numaState) {
	for _, n := range s.Nodes {
		id := strconv.Itoa(n.ID)
		e.readings(n.Readings, id)
		if n.CPUs != nil {
			e.put("numa_cpu_list_info", 1, id, cpulist.Format(n.CPUs))
		}
	}
}

func (e emitter) memory(held []heldMemory) {
	for _, h := range held {
		e.put("process_node_memory_bytes", float64(h.bytes), h.Vendor, h.PID, strconv.Itoa(h.node))
	}
}
