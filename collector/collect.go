package collector

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
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
	for _, s := range c.Statuses() {
		e.status(s)
	}
	for _, v := range c.vendors {
		e.vendor = v.Name
		e.runs(v.tools())
		if n := v.expected(); n > 0 {
			e.put("devices_expected", float64(n), e.vendor)
		}
		var table []model.Device
		if s := v.poller.fresh(); s != nil {
			e.snapshot(s, c.processes)
			table = s.Devices
		}
		e.details(table, v)
	}
	if c.numa != nil {
		if s := c.numa.fresh(); s != nil {
			e.nodes(s)
		}
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

// metric makes a sample: the one place where texts of tools become labels. Lists are labels as they are.
func (e emitter) metric(name string, v float64, labels []string, lists ...string) prometheus.Metric {
	s := e.series[name]
	for i := range labels {
		labels[i] = labelValue(labels[i])
	}
	m, err := prometheus.NewConstMetric(s.desc, s.kind, v, append(labels, lists...)...)
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

func (e emitter) runs(tools []*tool) {
	for _, t := range tools {
		for command, r := range t.lastRuns() {
			e.put("collector_command_duration_seconds", r.duration.Seconds(), e.vendor, command)
			e.put("collector_command_success", oneIf(r.success), e.vendor, command)
		}
	}
}

// details writes the readings that the main table lacks; of two commands with the same, the first holds.
func (e emitter) details(table []model.Device, v *vendorCollector) {
	written := map[string]bool{}
	for i := range table {
		for _, r := range table[i].Readings {
			written[sampleID(table[i].ID, r)] = true
		}
	}
	var all []*cardReadings
	for _, t := range v.tools() {
		all = append(all, t.readings()...)
	}
	for _, ofCard := range e.samples(&v.samples, all) {
		for _, s := range ofCard {
			if !written[s.id] {
				written[s.id] = true
				e.ch <- s.metric
			}
		}
	}
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
	if s.UnreadProcesses != nil {
		e.put("process_placement_unknown", float64(*s.UnreadProcesses), e.vendor)
	}
	for _, p := range s.Placements {
		if c := p.Container; c != (model.Container{}) {
			e.put("process_container_info", 1, e.vendor, p.PID, c.ID, c.PodUID, c.Namespace, c.Pod, c.Name)
		}
		if p.CPUs != "" {
			e.putLists("process_cpus_info", []string{p.CPUs, p.Nodes}, e.vendor, p.PID)
		}
		for _, near := range p.Near {
			if near.CPUs != nil {
				e.put("process_near_cpus_ratio", *near.CPUs, e.vendor, near.Device, p.PID)
			}
			if near.Memory != nil {
				e.put("process_near_memory_allowed", oneIf(*near.Memory), e.vendor, near.Device, p.PID)
			}
		}
		for node, bytes := range p.NodeBytes {
			if bytes > 0 {
				e.put("process_node_memory_bytes", bytes, e.vendor, p.PID, strconv.Itoa(node))
			}
		}
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
		e.putLists("cpu_affinity_info", []string{d.CPUAffinity}, e.vendor, d.ID)
	}
}

func (e emitter) nodes(s *host.NUMA) {
	for _, n := range s.Nodes {
		id := strconv.Itoa(n.ID)
		e.readings(n.Readings, id)
		if n.CPUs != nil {
			e.putLists("numa_cpu_list_info", []string{cpulist.Format(n.CPUs)}, id)
		}
	}
}
