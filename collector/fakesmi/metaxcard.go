package fakesmi

import (
	"fmt"
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// MetaXCard is what mx-smi's deeper commands tell of one card, in the units that they
// print. NaN is a value that the tool does not have.
type MetaXCard struct {
	Device, Name, BusID string
	Versions            []Word
	Serials             []Word

	GPU, Encoder, Decoder            float64 // %
	Sensor                           int     // which one Hotspot is of; another one from call to call
	Hotspot                          float64 // °C, as those of Board
	Board                            []Figure
	Rails, Ways                      []Supply
	Total, Limit                     float64 // W
	Levels                           []Figure
	Clocks                           []Clock
	Memories                         []Memory
	ECC                              MetaXECC
	Throttles                        []Throttle
	PCIe, PCIeMax                    PCIeLink
	PCIeReceive, PCIeSend, HBM       float64 // MB/s
	Registers                        []Word
	UncorrectedErrors, CorrectErrors []Figure // by hardware unit
	Slices                           []model.Slice
}

// Word is a text under a name.
type Word struct{ Name, Text string }

// Figure is a number under a name.
type Figure struct {
	Name  string
	Value float64
}

// Supply is a way that power takes.
type Supply struct {
	Name                 string
	Volts, Amperes, Watt float64
}

// Clock is one clock of a block of the chip.
type Clock struct {
	Block, Name string
	MHz         float64
}

// Memory is one kind of memory, in KiB.
type Memory struct {
	Name        string
	Total, Used float64
}

// MetaXECC is whether errors are corrected, and how many were.
type MetaXECC struct {
	Enabled                            bool
	SRAMCorrectable, SRAMUncorrectable uint64
	DRAMCorrectable, DRAMUncorrectable uint64
	RetiredPages                       uint64
}

// Throttle is a reason for a lower clock.
type Throttle struct {
	Reason string
	Active bool
}

// PCIeLink is a link's speed in GT/s and its lanes.
type PCIeLink struct {
	Speed float64
	Width int
}

// MetaXCards is what the cards of a machine tell under their faults, at a moment of
// its life.
func MetaXCards(r model.Report, faults Faults, l *Life) []MetaXCard {
	all := make([]MetaXCard, 0, len(r.Devices))
	for i := range r.Devices {
		d := &r.Devices[i]
		c := MetaXCard{Device: d.ID, Name: "MXC500", BusID: d.BusID, Registers: metaXRegisters()}
		c.identify(r.Tool, i)
		for _, s := range r.Slices {
			if s.Device == d.ID {
				c.Slices = append(c.Slices, s)
			}
		}
		c.work(d, faults.throttled(d.ID))
		c.heat(d, l)
		c.supply(d)
		c.fail(d.ID, faults, l)
		all = append(all, c)
	}
	return all
}

func (c *MetaXCard) identify(t *model.Tool, i int) {
	versions := model.Tool{}
	if t != nil {
		versions = *t
	}
	c.Versions = []Word{
		{"MACA", versions.RuntimeVersion},
		{"BIOS", versions.FirmwareVersion},
		{"KMD", versions.DriverVersion},
		{"SMP0", versions.FirmwareVersion},
		{"SMP1", versions.FirmwareVersion},
		{"CCX0", "1.31.0.0"},
		{"CCX1", "1.31.0.0"},
		{"CCX2", "1.31.0.0"},
		{"VR0", "0.12.0.4"},
		{"VR1", "0.12.0.4"},
		{"MCU", "1.2.5.0"},
	}
	c.Serials = []Word{{"chip serial", fmt.Sprintf("TP00A1_%02d_3_1", i)}, {"board serial", fmt.Sprintf("AENA0000%06d", i)}}
}

// work fills in what follows from how busy the card is.
func (c *MetaXCard) work(d *model.Device, throttled bool) {
	busy, level := reading(d, "utilization_ratio"), reading(d, "performance_level")
	const lowestMHz, stepMHz, slowed = 400, 125, 0.6
	core := math.Round(lowestMHz + stepMHz*level)
	if throttled {
		core = math.Round(core * slowed)
	}
	c.GPU, c.Encoder, c.Decoder = math.Round(100*busy), 0, 0
	c.Levels = []Figure{{"xcore", level}, {"mc", 3}, {"soc", 2}, {"dnoc", 1}, {"vpue", 0}, {"vpud", 0}, {"ccx", 0}}
	c.Clocks = []Clock{
		{"CSC", "CSC_SMPCLK", 457},
		{"CSC", "CSC_RNOCCLK", 457},
		{"CSC", "GLB_RISCV_APBCLK", 160},
		{"CSC", "GLB_REFCLK100", 100},
		{"XCORE", "XCORE_CLK", core},
		{"MC1", "MC1_DFICLK", 1800},
		{"MC1", "MC1_BYPASSCLK", 642},
		{"MC0", "MC0_DFICLK", 1800},
		{"MC0", "MC0_BYPASSCLK", 642},
		{"VPUE", "VPU_ENCCLK", 535},
		{"VPUD", "VPU_DECCLK0", 525},
		{"VPUD", "VPU_DECCLK1", 525},
		{"VPUD", "VPU_DECCLK2", 525},
		{"VPUD", "VPU_DECCLK3", 525},
		{"SOC", "SOC_CLK", 1200},
		{"DNOC", "DNOC_CLK", 1200},
		{"CCX", "CCX_CLK", 535},
	}
	const perKiB = 1.0 / 1024
	used, total := reading(d, "memory_used_bytes", "vram")*perKiB, reading(d, "memory_total_bytes", "vram")*perKiB
	c.Memories = []Memory{{"vis_vram", total, used}, {"vram", total, used}, {"xtt", 528350766, 207256}}
	c.PCIeReceive, c.PCIeSend, c.HBM = math.Round(2300*busy), math.Round(1900*busy), 1+math.Round(590000*busy)
}

func (c *MetaXCard) heat(d *model.Device, l *Life) {
	chip := reading(d, "temperature_celsius", "chip")
	c.Sensor, c.Hotspot = l.Now.At.Second()%6, chip
	c.Board = []Figure{
		{"DrMOS_soc", chip - 7.5},
		{"DrMOS_core", chip - 9.5},
		{"tdiode", chip - 5.125},
		{"air-inlet", math.Min(chip-8, 28.625)},
		{"air-outlet", math.Min(chip-6.5, 41)},
	}
}

// supply shares out the card's power; the ways of the board are all of it.
func (c *MetaXCard) supply(d *model.Device) {
	c.Total, c.Limit = reading(d, "power_watts"), reading(d, "power_limit_watts")
	way := func(name string, volts, share float64) Supply {
		return Supply{Name: name, Volts: volts, Amperes: share * c.Total / volts, Watt: share * c.Total}
	}
	c.Rails = []Supply{way("soc", 0.738, 0.25), way("core", 0.722, 0.45), way("hbm", 1.218, 0.1), way("pcie", 0.902, 0.05)}
	c.Ways = []Supply{way("Way 0", 11.984, 0.4), way("Way 1", 11.984, 0.45), way("Way 2", 11.968, 0.15)}
}

// fail fills in what tells of faults: why the clock is low, links, errors.
func (c *MetaXCard) fail(device string, faults Faults, l *Life) {
	active := map[string]bool{
		"Idle": c.GPU == 0, "Low Usage": c.GPU > 0 && c.GPU < 10,
		"Over Power":            faults.has(device, FaultPowerCap),
		"Chip Over Temperature": faults.has(device, FaultHot), "Thermal Over Temperature": faults.has(device, FaultHot),
	}
	for _, reason := range []string{
		"Idle", "Applications Limit", "Over Power", "Chip Over Temperature", "VR Over Temperature", "Hbm Over Temperature",
		"Thermal Over Temperature", "Pcc", "Power Brake", "Didt", "Low Usage", "Other",
	} {
		c.Throttles = append(c.Throttles, Throttle{reason, active[reason]})
	}
	c.PCIeMax = PCIeLink{Speed: 32, Width: 16}
	c.PCIe = c.PCIeMax
	if faults.has(device, FaultLinkLanes) {
		c.PCIe.Width = 8
	}
	if faults.has(device, FaultPCIeSlow) {
		c.PCIe.Speed = 16
	}
	c.ECC = MetaXECC{
		Enabled:         true,
		SRAMCorrectable: l.grownIn(device, FaultECC, 1, 0.01), SRAMUncorrectable: 0,
		DRAMCorrectable: l.grownIn(device, FaultECC, 12, 0.5), DRAMUncorrectable: l.grownIn(device, FaultECC, 1, 0.02),
		RetiredPages: l.grownIn(device, FaultECC, 1, 0.01),
	}
	if errors := l.grownIn(device, FaultRAS, 4, 0.2); errors > 0 {
		c.CorrectErrors = []Figure{{"MCCTL1", float64(errors)}}
		c.UncorrectedErrors = []Figure{{"MCCTL1", float64(l.grownIn(device, FaultRAS, 1, 0.01))}}
	}
	if faults.has(device, FaultRAS) {
		for i := range c.Registers {
			if c.Registers[i].Name == "MCCTL1 register0" {
				c.Registers[i].Text = "0xea3003"
			}
		}
	}
}

// metaXRegisters are the units' error registers of a healthy card.
func metaXRegisters() []Word {
	all := []Word{
		{"PCIE register0", "0xd000"},
		{"MCCTL0 register0", "0xff3000"},
		{"MCCTL1 register0", "0xea3000"},
		{"MCCTL2 register0", "0xf73000"},
		{"MCCTL3 register0", "0xff3000"},
		{"SMP0 register0", "0x0"},
		{"SMP1 register0", "0x1000"},
		{"FUSE register0", "0x2000"},
		{"INT register0", "0x9000"},
		{"INT register1", "0xa000"},
	}
	each := func(unit string, first, last int, registers ...string) {
		for i := first; i <= last; i++ {
			for k, text := range registers {
				all = append(all, Word{fmt.Sprintf("%s%d register%d", unit, i, k), text})
			}
		}
	}
	each("CCX", 0, 2, "0xc000", "0xa000")
	each("DHUB", 1, 7, "0xe000")
	each("VPUE", 0, 0, "0xa000")
	each("VPUD", 0, 7, "0xa000")
	all = append(all, Word{"HAG register0", "0xa000"})
	each("DMA", 0, 4, "0x9000", "0xa000")
	all = append(all, Word{"ATH register0", "0xa000"})
	each("ATUL2", 0, 1, "0xa000", "0xa000")
	return append(all, Word{"XSC register0", "0x7000"}, Word{"CE register0", "0x7000"})
}

// reading is a card's, NaN where it has none.
func reading(d *model.Device, m model.Metric, labels ...string) float64 {
	if v, ok := d.Readings.Get(m, labels...); ok {
		return v
	}
	return math.NaN()
}
