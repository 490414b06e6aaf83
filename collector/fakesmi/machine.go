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
// the model. version is printed as the tool's own.
func MetaXMachine(version string, l Load) model.Report {
	r := model.Report{Tool: &model.Tool{
		Name: "mx-smi", Version: version, DriverVersion: "3.9.12", RuntimeVersion: "3.5.1.8", FirmwareVersion: "1.31.4.0",
	}}
	for i := range 8 {
		d := model.Device{
			ID: strconv.Itoa(i), Board: strconv.Itoa(i), Name: "MetaX C500",
			BusID:           fmt.Sprintf("0000:%02x:00.0", 0x11+8*i),
			UUID:            fmt.Sprintf("GPU-7c1e%04x-0d5a-4b1f-9a11-5e0000000%03d", i*257, i),
			Health:          &model.Health{OK: true, State: "Available"},
			PowerLimitWatts: value(350),
			NUMANode:        new(int),
			CPUAffinity:     "0-1",
		}
		serve(&r, &d, i, i < 4, l, card{idleWatts: 56, fullWatts: 310, idleMiB: 826, modelMiB: 52000, cacheMiB: 9000, totalMiB: 65536, memory: "vram"})
		d.PerformanceLevel = value(math.Round(9 * *d.UtilizationRatio))
		r.Devices = append(r.Devices, d)
	}
	r.Links = links(r.Devices, func(i, j int) string {
		if i/4 == j/4 {
			return "MX"
		}
		return "NODE"
	})
	r.Announced = len(r.Devices)
	return r
}

// AscendMachine is a server with eight 910B4 chips, all of which serve the model.
// chips is how many dies an NPU has: 1, or 2 as on A3.
func AscendMachine(version string, chips int, l Load) model.Report {
	r := model.Report{Tool: &model.Tool{Name: "npu-smi", Version: version, DriverVersion: version}}
	for i := range 8 {
		d := model.Device{
			ID: strconv.Itoa(i), NPU: strconv.Itoa(i / chips), Chip: strconv.Itoa(i % chips), Name: "910B4",
			BusID:       fmt.Sprintf("0000:%02X:00.0", 0x41+0x10*i),
			Health:      &model.Health{OK: true, State: "OK"},
			CPUAffinity: "0-1",
		}
		if chips > 1 {
			d.Name = "Ascend910"
		}
		serve(&r, &d, i, true, l, card{idleWatts: 84, fullWatts: 290, idleMiB: 2826, modelMiB: 24500, cacheMiB: 4400, totalMiB: 32768, memory: "hbm"})
		if i%chips > 0 {
			d.PowerWatts = nil // printed on the first die alone
		}
		r.Devices = append(r.Devices, d)
	}
	r.Links = links(r.Devices, func(i, j int) string {
		if i/chips == j/chips {
			return "SIO"
		}
		return "HCCS"
	})
	r.Announced = len(r.Devices)
	return r
}

// card is how one kind of card answers to load.
type card struct {
	idleWatts, fullWatts        float64
	idleMiB, modelMiB, cacheMiB float64
	totalMiB                    float64
	memory                      string
}

// serve fills in the readings of the card with index i. Cards differ a little, as
// real ones do, and always in the same way.
func serve(r *model.Report, d *model.Device, i int, serving bool, l Load, c card) {
	serving = serving && l.PID != 0
	busy, used := 0.0, c.idleMiB
	if serving {
		busy = math.Max(0, math.Min(1, l.Busy)) * (0.97 - 0.02*float64(i%4))
		held := math.Round(c.modelMiB + c.cacheMiB*math.Max(0, math.Min(1, l.Cache)))
		used += held
		r.Processes = append(r.Processes, model.Process{
			Device: d.ID, PID: strconv.Itoa(l.PID), Name: l.Process, UsedBytes: held * bytesPerMiB,
		})
	}
	d.UtilizationRatio = value(math.Round(busy*100) / 100)
	d.PowerWatts = value(math.Round(c.idleWatts + float64(i%5) + (c.fullWatts-c.idleWatts)*busy))
	d.TemperatureCelsius = value(math.Round(35 + float64(i%3) + 34*busy))
	d.Memory = []model.Memory{{Type: c.memory, UsedBytes: value(used * bytesPerMiB), TotalBytes: value(c.totalMiB * bytesPerMiB)}}
}

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
