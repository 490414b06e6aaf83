package fakesmi

import (
	"fmt"
	"math"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Load is what a model server does to the cards of a machine.
type Load struct {
	// Busy is the share of the server's capacity in use, 0 to 1.
	Busy float64
	// Cache is the share of the key-value cache in use, 0 to 1.
	Cache float64
	// PID is the server's process, 0 when none runs.
	PID int
	// Process is its name as the kernel cuts it.
	Process string
}

const bytesPerMiB = 1 << 20

// MetaXMachine is a server with eight C500 cards, of which the first four serve
// the model and the last is cut into slices. version is printed as the tool's own.
func MetaXMachine(version string, l Load, faults ...Fault) model.Report {
	m := machine{load: l, faults: faults}
	m.report.Tool = &model.Tool{
		Name: "mx-smi", Version: version, DriverVersion: "3.9.12", RuntimeVersion: "3.5.1.8", FirmwareVersion: "1.31.4.0",
	}
	c500 := card{idleWatts: 56, fullWatts: 310, limitWatts: 350, idleMiB: 826, modelMiB: 52000, cacheMiB: 9000, totalMiB: 65536, memory: "vram"}
	const last = 7
	for i := range last + 1 {
		id := strconv.Itoa(i)
		d := model.Device{
			ID: id, Board: id, Name: "MetaX C500",
			BusID:       fmt.Sprintf("0000:%02x:00.0", 0x11+8*i),
			UUID:        fmt.Sprintf("GPU-7c1e%04x-0d5a-4b1f-9a11-5e0000000%03d", i*257, i),
			Health:      m.faults.health(id, "Available", model.Health{State: "Not Available", Reason: "Layout Node Not Found"}),
			NUMANode:    new(int),
			CPUAffinity: "0-1",
		}
		if !d.Health.OK {
			d.UUID = "" // not printed for a card that cannot be asked
		}
		var w work
		switch {
		case i < 4:
			w = m.serve(&d, i, c500)
		case i == last:
			w = m.slice(&d)
		default:
			m.addForgotten(&d, c500)
		}
		busy := m.read(&d, i, w, c500)
		put(&d.Readings, "performance_level", m.level(&d, busy))
		m.report.Devices = append(m.report.Devices, d)
	}
	return m.linked(func(i, j int) string {
		if i/4 == j/4 {
			return "MX"
		}
		return "NODE"
	})
}

// level is the clock's, which goes up with the first work and not step by step.
func (m *machine) level(d *model.Device, busy float64) float64 {
	const lowest, throttled, highest = 0, 3, 9
	switch {
	case m.faults.has(d.ID, FaultPowerCap):
		return throttled
	case busy > 0.05:
		return highest
	}
	return lowest
}

// AscendMachine is a server with eight 910B4 chips, all of which serve the model.
// chips is how many dies an NPU has: 1, or 2 as on A3.
func AscendMachine(version string, chips int, l Load, faults ...Fault) model.Report {
	m := ascendMachine(version, l, faults)
	name := "910B4"
	if chips > 1 {
		name = "Ascend910"
	}
	for i := range 8 {
		npu := card{idleWatts: 84, fullWatts: 290, idleMiB: 2826, modelMiB: 24500, cacheMiB: 4400, totalMiB: 32768, memory: "hbm"}
		if i%chips > 0 {
			npu.fullWatts = 0 // printed on the first die alone
		}
		m.addChip(i, chips, name, 0x41+0x10*i, npu)
	}
	return m.linked(func(i, j int) string {
		if i/chips == j/chips {
			return "SIO"
		}
		return "HCCS"
	})
}

// Ascend310PMachine is a server with four 310P3 chips, all of which serve the
// model: cards without HBM and without a reading of their power, with huge pages.
func Ascend310PMachine(version string, l Load, faults ...Fault) model.Report {
	m := ascendMachine(version, l, faults)
	npu := card{idleMiB: 1851, modelMiB: 14200, cacheMiB: 3600, totalMiB: 21527, memory: "ddr"}
	for i := range 4 {
		d, w := m.addChip(i, 1, "310P3", 1+0x20*i, npu)
		put(&d.Readings, "hugepages_used", math.Round(w.heldMiB/64))
		put(&d.Readings, "hugepages_total", 512)
	}
	return m.linked(func(int, int) string { return "PHB" })
}

// Machine is a server with the chips that the layout is printed for.
func (l AscendLayout) Machine(load Load, faults ...Fault) model.Report {
	switch l.family {
	case is310, is310P:
		return Ascend310PMachine(l.Version, load, faults...)
	case isA3:
		return AscendMachine(l.Version, 2, load, faults...)
	}
	return AscendMachine(l.Version, 1, load, faults...)
}

func ascendMachine(version string, l Load, faults Faults) machine {
	m := machine{load: l, faults: faults}
	m.report.Tool = &model.Tool{Name: "npu-smi", Version: version, DriverVersion: version}
	return m
}

// addChip adds the chip with index i, which serves the model.
func (m *machine) addChip(i, chips int, name string, bus int, c card) (*model.Device, work) {
	id := strconv.Itoa(i)
	d := model.Device{
		ID: id, NPU: strconv.Itoa(i / chips), Chip: strconv.Itoa(i % chips), Name: name,
		BusID:       fmt.Sprintf("0000:%02X:00.0", bus),
		Health:      m.faults.health(id, "OK", model.Health{State: "Alarm"}),
		CPUAffinity: "0-1",
	}
	if d.Health.OK && m.faults.has(id, FaultRAS) {
		d.Health = &model.Health{State: "Warning"}
	}
	w := m.serve(&d, i, c)
	m.read(&d, i, w, c)
	m.report.Devices = append(m.report.Devices, d)
	return &m.report.Devices[i], w
}

// machine is a report in the making.
type machine struct {
	report model.Report
	load   Load
	faults Faults
}

// card is how one kind of card answers to load.
type card struct {
	idleWatts, fullWatts        float64 // power is not printed where full is 0
	limitWatts                  float64 // 0 where none is printed
	idleMiB, modelMiB, cacheMiB float64
	totalMiB                    float64
	memory                      string
}

// work is what is done on a card and what memory that takes.
type work struct {
	busy, heldMiB float64
}

// serve gives the card with index i its share of the model server's work. Cards
// differ a little, as real ones do, and always in the same way.
func (m *machine) serve(d *model.Device, i int, c card) work {
	if m.load.PID == 0 {
		return work{}
	}
	w := work{
		busy:    unit(m.load.Busy) * (0.97 - 0.02*float64(i%4)),
		heldMiB: math.Round(c.modelMiB + c.cacheMiB*unit(m.load.Cache)),
	}
	w.busy = m.faults.shared(d.ID, w.busy)
	m.report.Processes = append(m.report.Processes, model.Process{
		Device: d.ID, PID: strconv.Itoa(m.load.PID), Name: m.load.Process, UsedBytes: m.faults.held(d.ID, w.heldMiB, c) * bytesPerMiB,
	})
	return w
}

// addForgotten gives a card that nobody uses, and that is nevertheless full, the
// process of somebody who forgot it.
func (m *machine) addForgotten(d *model.Device, c card) {
	if held := m.faults.held(d.ID, 0, c); held > 0 {
		m.report.Processes = append(m.report.Processes, model.Process{Device: d.ID, PID: "4194303", Name: "python3.11", UsedBytes: held * bytesPerMiB})
	}
}

// slice cuts a card into two slices that others use while the server runs.
func (m *machine) slice(d *model.Device) work {
	var all work
	for i, s := range []struct{ quota, quotaMiB, busy, usedMiB float64 }{{0.25, 16000, 0.6, 10998}, {0.5, 32000, 0.9, 20480}} {
		if m.load.PID == 0 {
			s.busy, s.usedMiB = 0, 0
		}
		s.busy *= unit(m.load.Busy)
		all.busy += s.quota * s.busy
		all.heldMiB += s.usedMiB
		x := model.Slice{Device: d.ID, ID: strconv.Itoa(i + 1)}
		put(&x.Readings, "slice_memory_used_bytes", s.usedMiB*bytesPerMiB)
		put(&x.Readings, "slice_memory_quota_bytes", s.quotaMiB*bytesPerMiB)
		put(&x.Readings, "slice_compute_quota_ratio", s.quota)
		put(&x.Readings, "slice_utilization_ratio", math.Round(s.busy*100)/100)
		m.report.Slices = append(m.report.Slices, x)
	}
	return all
}

// read fills in the readings of the card with index i, and returns its utilization.
func (m *machine) read(d *model.Device, i int, w work, c card) float64 {
	busy := m.faults.busy(d.ID, w.busy)
	used := c.idleMiB + m.faults.held(d.ID, w.heldMiB, c)
	rs := &d.Readings
	put(rs, "utilization_ratio", math.Round(busy*100)/100)
	if c.fullWatts > 0 {
		put(rs, "power_watts", m.faults.watts(d.ID, math.Round(c.idleWatts+float64(i%5)+(c.fullWatts-c.idleWatts)*busy), c))
	}
	if c.limitWatts > 0 {
		put(rs, "power_limit_watts", c.limitWatts)
	}
	put(rs, "temperature_celsius", m.faults.celsius(d.ID, math.Round(35+float64(i%3)+34*busy)), "chip")
	put(rs, "memory_used_bytes", used*bytesPerMiB, c.memory)
	put(rs, "memory_total_bytes", c.totalMiB*bytesPerMiB, c.memory)
	return math.Round(busy*100) / 100
}

func put(to *model.Readings, m model.Metric, v float64, labels ...string) {
	to.Add(model.Reading{Metric: m, Labels: labels, Value: v})
}

func unit(share float64) float64 { return math.Max(0, math.Min(1, share)) }

// linked is the whole report, with a link between each two cards.
func (m *machine) linked(kind func(i, j int) string) model.Report {
	r := m.report
	for i := range r.Devices {
		for j := range r.Devices {
			if i != j {
				r.Links = append(r.Links, model.Link{Device: r.Devices[i].ID, Peer: r.Devices[j].ID, Type: kind(i, j)})
			}
		}
	}
	r.Announced = len(r.Devices)
	return r
}
