package fakesmi

import (
	"fmt"
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// AscendCard is what the deeper commands of npu-smi and hccn_tool tell of one die, in
// the units that they print. NaN is a value that the tool does not have.
type AscendCard struct {
	NPU, Chip, Device         string // Device is hccn_tool's number
	Dies                      int    // on the NPU
	Name, BusID, Version      string
	Serial                    string
	Health                    string
	ErrorCodes                []string
	DDR, HBM                  AscendMemory
	Hugepages, HugepagesUsage float64 // pages, %
	Use                       AscendUse
	RatedMHz, MHz, Cores      float64
	Celsius, Watts, Volts     float64
	SocMax, SFP, NDIE         float64    // °C
	BoardCelsius              [2]float64 // of the two sensors beside the chips
	BoardWatts                float64
	Links                     []HCCSLink
	FirstErrorLane            int // -1 for none
	PCIe                      PCIeErrors
	SIOSend, SIOReceive       uint64 // errors
	Ports                     []Port
}

// AscendMemory is one memory of a die.
type AscendMemory struct {
	MiB, Usage, Bandwidth float64 // MiB, %, %
	MHz, Celsius          float64
	ECCEnabled            bool
	ECC                   AscendECC
}

// AscendECC counts errors since the driver was loaded, in all, and the pages that they cost.
type AscendECC struct {
	Single, Double           uint64
	TotalSingle, TotalDouble uint64
	PagesSingle, PagesDouble uint64
	NextSingle, NextDouble   uint64
}

// AscendUse is how busy the units of a die are, in %.
type AscendUse struct {
	Core, Vector, Cube, NPU, AICPU, ControlCPU, VectorCore float64
	VDEC, VPC, VENC, JPEGE, JPEGD                          float64
}

// HCCSLink is one link to another card.
type HCCSLink struct {
	Lanes                       int
	SendPackets, ReceivePackets uint64
	Retries, Errors             uint64
}

// PCIeErrors are a die's.
type PCIeErrors struct {
	Send, Receive, LCRC, ECRC, Retries uint64
}

// AscendCards is what the cards of a machine tell under their faults, at a moment of its life.
func (l AscendLayout) AscendCards(r model.Report, faults Faults, life *Life) []AscendCard {
	all := make([]AscendCard, 0, len(r.Devices))
	dies := map[string]int{}
	for _, d := range r.Devices {
		dies[d.NPU]++
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		c := AscendCard{NPU: d.NPU, Chip: d.Chip, Device: d.ID, Dies: dies[d.NPU], Name: d.Name, BusID: d.BusID, FirstErrorLane: -1}
		c.Serial, c.ErrorCodes = fmt.Sprintf("1000C90%05d", i), faults.codes(d.ID)
		if r.Tool != nil {
			c.Version = r.Tool.Version
		}
		if d.Health != nil {
			c.Health = d.Health.State
		}
		c.work(d, faults.throttled(d.ID))
		c.remember(d, l.family)
		c.correct(d.ID, life)
		if l.family&(is310|is950) == 0 {
			c.connect(i, d.ID, faults, life)
		}
		c.PCIe = PCIeErrors{
			Receive: life.grownIn(d.ID, FaultPCIeSlow, 3, 0.5), LCRC: life.grownIn(d.ID, FaultPCIeSlow, 2, 0.2),
			Retries: life.grownIn(d.ID, FaultPCIeSlow, 9, 1),
		}
		c.Ports = l.ports(i, d.ID, faults, life)
		all = append(all, c)
	}
	return all
}

// work fills in what follows from how busy the die is.
func (c *AscendCard) work(d *model.Device, throttled bool) {
	busy := reading(d, "utilization_ratio")
	const idleMHz, ratedMHz, slowedMHz = 800, 1650, 1000
	c.RatedMHz, c.MHz, c.Cores = ratedMHz, idleMHz, 20
	switch {
	case throttled:
		c.MHz = slowedMHz
	case busy > 0.05:
		c.MHz = ratedMHz
	}
	percent := func(share float64) float64 { return math.Round(100 * busy * share) }
	c.Use = AscendUse{
		Core: percent(1), Vector: percent(0.4), Cube: percent(0.7), NPU: percent(1), AICPU: percent(0.02), ControlCPU: 2 + percent(0.1),
		VectorCore: percent(0.3),
	}
	c.Celsius, c.Watts = reading(d, "temperature_celsius", "chip"), reading(d, "power_watts")
	c.Volts = 0.72 + math.Round(16*busy)/100
	c.SocMax, c.SFP, c.NDIE = c.Celsius+2, math.NaN(), c.Celsius-2
	board := math.Round(30 + 8*busy)
	c.BoardCelsius, c.BoardWatts = [2]float64{board, board + 1}, math.Round(10*(40+60*busy))/10
}

// remember fills in the memories.
func (c *AscendCard) remember(d *model.Device, f family) {
	read := func(name string) AscendMemory {
		used, total := reading(d, "memory_used_bytes", name), reading(d, "memory_total_bytes", name)
		if math.IsNaN(total) {
			return AscendMemory{Celsius: math.NaN()}
		}
		return AscendMemory{
			MiB: math.Round(total * mib), Usage: math.Round(100 * used / total), Bandwidth: math.Round(0.8 * c.Use.Core),
			MHz: 1600, Celsius: c.Celsius - 3, ECCEnabled: true,
		}
	}
	c.DDR, c.HBM = read("ddr"), read("hbm")
	if f == is910A {
		c.DDR = AscendMemory{MiB: 15171, Usage: 6, MHz: 1200, Celsius: math.NaN(), ECCEnabled: true}
	}
	pages, used := reading(d, "hugepages_total"), reading(d, "hugepages_used")
	if !math.IsNaN(pages) {
		c.Hugepages, c.HugepagesUsage = pages, math.Round(100*used/pages)
	}
}

// correct fills in the errors of the memory that holds the model.
func (c *AscendCard) correct(device string, life *Life) {
	ecc := AscendECC{Single: life.grownIn(device, FaultECC, 12, 0.5), Double: life.grownIn(device, FaultECC, 1, 0.02)}
	ecc.TotalSingle, ecc.TotalDouble = ecc.Single, ecc.Double
	ecc.PagesDouble = life.grownIn(device, FaultECC, 1, 0.01)
	ecc.NextDouble = ecc.TotalDouble - min(ecc.PagesDouble, ecc.TotalDouble)
	if c.HBM.MiB > 0 {
		c.HBM.ECC = ecc
	} else {
		c.DDR.ECC = ecc
	}
}

// connect fills in the links between cards: one has half its lanes under the fault, and errors.
func (c *AscendCard) connect(i int, device string, faults Faults, life *Life) {
	const links, weak, packets = 7, 2, 52000
	for k := range links {
		share := 1 + 0.03*float64((i+k)%5)
		link := HCCSLink{
			Lanes:          4,
			SendPackets:    life.grown(rate{40 * share, packets * share}),
			ReceivePackets: life.grown(rate{40 * share, packets * (2.1 - share)}),
		}
		if k == weak {
			link.Retries, link.Errors = life.grownIn(device, FaultLinkLanes, 8, 0.5), life.grownIn(device, FaultLinkLanes, 1, 0.02)
			if faults.has(device, FaultLinkLanes) {
				link.Lanes = 2
			}
		}
		c.Links = append(c.Links, link)
	}
	if faults.has(device, FaultLinkLanes) {
		c.FirstErrorLane = weak
	}
	c.SIOReceive = life.grownIn(device, FaultLinkLanes, 1, 0.02)
}
