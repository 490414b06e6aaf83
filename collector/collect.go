package collector

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Describe says which metrics Gather may give; the set is static.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.series {
		ch <- s.desc
	}
}

// Gather implements prometheus.Gatherer from memory alone: it runs no tool and reads no file. Families of cards and nodes are
// those of the last scrape until a source has something new.
func (c *Collector) Gather() ([]*dto.MetricFamily, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, parts := &part{}, c.keptParts()
	if !slices.Equal(parts, c.parts) {
		c.parts = parts
		c.families, c.wrong = families(parts)
	}
	e := emitter{series: c.series, part: own}
	for _, s := range c.Statuses() {
		e.status(s)
	}
	for _, v := range c.vendors {
		e.vendor = v.Name
		e.runs(v.tools())
		if n := v.expected(); n > 0 {
			e.put("devices_expected", float64(n), e.vendor)
		}
	}
	if c.allocations != nil {
		c.allocated(e)
	}
	all, err := families([]*part{own})
	all = append(all, c.families...)
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all, errors.Join(err, c.wrong)
}

// keptParts returns a part for each source with a fresh value, in the order of precedence: where two parts have the same
// sample, the first one counts.
func (c *Collector) keptParts() (parts []*part) {
	known := map[any]*part{}
	for _, p := range c.parts {
		known[p.source] = p
	}
	keep := func(source any, vendor string, fill func(emitter)) {
		p := known[source]
		if p == nil {
			p = &part{source: source}
			fill(emitter{c.series, p, vendor})
		}
		parts = append(parts, p)
	}
	for _, v := range c.vendors {
		if s := v.poller.fresh(); s != nil {
			keep(s, v.Name, func(e emitter) { e.snapshot(s, c.processes) })
		}
		for _, t := range v.tools() {
			for _, r := range t.readings() {
				keep(r, v.Name, func(e emitter) { e.readings(r.readings, e.vendor, r.device) })
			}
		}
	}
	if c.numa != nil {
		if s := c.numa.fresh(); s != nil {
			keep(s, "", func(e emitter) { e.nodes(s) })
		}
	}
	return parts
}

// emitter writes samples into a part.
type emitter struct {
	series map[string]*series
	part   *part
	vendor string
}

// put writes a sample of one of Metrics, with all its labels. It may shorten what is in labels.
func (e emitter) put(name string, v float64, labels ...string) { e.part.add(e.series[name], v, labels) }

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
