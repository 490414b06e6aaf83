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
	c500 := card{idleWatts: 56, fullWatts: 310, idleMiB: 826, modelMiB: 52000, cacheMiB: 9000, totalMiB: 65536, memory: "vram"}
	const last = 7
	for i := range last + 1 {
		id := strconv.Itoa(i)
		d := model.Device{
			ID: id, Board: id, Name: "MetaX C500",
			BusID:           fmt.Sprintf("0000:%02x:00.0", 0x11+8*i),
			UUID:            fmt.Sprintf("GPU-7c1e%04x-0d5a-4b1f-9a11-5e0000000%03d", i*257, i),
			Health:          m.faults.health(id, "Available", notAvailable),
			PowerLimitWatts: value(350),
			NUMANode:        new(int),
			CPUAffinity:     "0-1",
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
			m.leaveBehind(&d, c500)
		}
		m.read(&d, i, w, c500)
		d.PerformanceLevel = value(m.level(&d))
		m.report.Devices = append(m.report.Devices, d)
	}
	m.report.Links = links(m.report.Devices, func(i, j int) string {
		if i/4 == j/4 {
			return "MX"
		}
		return "NODE"
	})
	m.report.Announced = len(m.report.Devices)
	return m.report
}

// level is the clock's, which goes up with the first work and not step by step.
func (m *machine) level(d *model.Device) float64 {
	const lowest, throttled, highest = 0, 3, 9
	switch {
	case m.faults.has(d.ID, FaultPowerCap):
		return throttled
	case *d.UtilizationRatio > 0.05:
		return highest
	}
	return lowest
}

// notAvailable is how mx-smi -L speaks of a card that failed.
func notAvailable(reason string) model.Health {
	if reason == "" {
		reason = "Layout Node Not Found"
	}
	return model.Health{State: "Not Available", Reason: reason}
}

// AscendMachine is a server with eight 910B4 chips, all of which serve the model.
// chips is how many dies an NPU has: 1, or 2 as on A3.
func AscendMachine(version string, chips int, l Load, faults ...Fault) model.Report {
	m := machine{load: l, faults: faults}
	m.report.Tool = &model.Tool{Name: "npu-smi", Version: version, DriverVersion: version}
	npu := card{idleWatts: 84, fullWatts: 290, idleMiB: 2826, modelMiB: 24500, cacheMiB: 4400, totalMiB: 32768, memory: "hbm"}
	for i := range 8 {
		d := model.Device{
			ID: strconv.Itoa(i), NPU: strconv.Itoa(i / chips), Chip: strconv.Itoa(i % chips), Name: "910B4",
			BusID:       fmt.Sprintf("0000:%02X:00.0", 0x41+0x10*i),
			Health:      m.faults.health(strconv.Itoa(i), "OK", inState),
			CPUAffinity: "0-1",
		}
		if chips > 1 {
			d.Name = "Ascend910"
		}
		m.read(&d, i, m.serve(&d, i, npu), npu)
		if i%chips > 0 {
			d.PowerWatts = nil // printed on the first die alone
		}
		m.report.Devices = append(m.report.Devices, d)
	}
	m.report.Links = links(m.report.Devices, func(i, j int) string {
		if i/chips == j/chips {
			return "SIO"
		}
		return "HCCS"
	})
	m.report.Announced = len(m.report.Devices)
	return m.report
}

// Ascend310PMachine is a server with four 310P3 chips, all of which serve the
// model: cards without HBM and without a reading of their power, with huge pages.
func Ascend310PMachine(version string, l Load, faults ...Fault) model.Report {
	m := machine{load: l, faults: faults}
	m.report.Tool = &model.Tool{Name: "npu-smi", Version: version, DriverVersion: version}
	npu := card{idleMiB: 1851, modelMiB: 14200, cacheMiB: 3600, totalMiB: 21527, memory: "ddr"}
	for i := range 4 {
		d := model.Device{
			ID: strconv.Itoa(i), NPU: strconv.Itoa(i), Chip: "0", Name: "310P3",
			BusID:          fmt.Sprintf("0000:%02X:00.0", 1+0x20*i),
			Health:         m.faults.health(strconv.Itoa(i), "OK", inState),
			CPUAffinity:    "0-1",
			HugepagesTotal: value(512),
		}
		w := m.serve(&d, i, npu)
		m.read(&d, i, w, npu)
		d.HugepagesUsed = value(math.Round(w.heldMiB / 64))
		d.PowerWatts = nil
		m.report.Devices = append(m.report.Devices, d)
	}
	m.report.Links = links(m.report.Devices, func(int, int) string { return "PHB" })
	m.report.Announced = len(m.report.Devices)
	return m.report
}

// inState is how npu-smi speaks of a card that is not OK.
func inState(state string) model.Health {
	if state == "" {
		state = "Alarm"
	}
	return model.Health{State: state}
}

// machine is a report in the making.
type machine struct {
	report model.Report
	load   Load
	faults Faults
}

// card is how one kind of card answers to load.
type card struct {
	idleWatts, fullWatts        float64
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

// leaveBehind gives a card that nobody uses, and that is nevertheless full, the
// process of somebody who forgot it.
func (m *machine) leaveBehind(d *model.Device, c card) {
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
		m.report.Slices = append(m.report.Slices, model.Slice{
			Device: d.ID, ID: strconv.Itoa(i + 1),
			MemoryUsedBytes: value(s.usedMiB * bytesPerMiB), MemoryQuotaBytes: value(s.quotaMiB * bytesPerMiB),
			ComputeQuotaRatio: value(s.quota), UtilizationRatio: value(math.Round(s.busy*100) / 100),
		})
	}
	return all
}

// read fills in the readings of the card with index i.
func (m *machine) read(d *model.Device, i int, w work, c card) {
	busy := m.faults.busy(d.ID, w.busy)
	used := c.idleMiB + m.faults.held(d.ID, w.heldMiB, c)
	d.UtilizationRatio = value(math.Round(busy*100) / 100)
	d.PowerWatts = value(math.Round(c.idleWatts + float64(i%5) + (c.fullWatts-c.idleWatts)*busy))
	d.TemperatureCelsius = value(math.Round(35 + float64(i%3) + 34*busy))
	d.Memory = append(d.Memory, model.Memory{Type: c.memory, UsedBytes: value(used * bytesPerMiB), TotalBytes: value(c.totalMiB * bytesPerMiB)})
	m.faults.readings(d)
}

func unit(share float64) float64 { return math.Max(0, math.Min(1, share)) }

func value(v float64) *float64 { return &v }

func links(devices []model.Device, kind func(i, j int) string) []model.Link {
	var all []model.Link
	for i := range devices {
		for j := range devices {
			if i != j {
				all = append(all, model.Link{Device: devices[i].ID, Peer: devices[j].ID, Type: kind(i, j)})
			}
		}
	}
	return all
}
