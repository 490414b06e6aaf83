package fakesmi

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	narrow = 30 // width of a key
	wide   = 40 // of one of ecc

	hasHBM  = is910A | is910B | isA3 | is950
	hasDies = everyFamily &^ is950
	hasMCU  = is310P | is910A | is910B | isA3
)

// queries are the types of npu-smi info -t.
func queries() []query {
	return []query{
		{name: "usages", on: everyFamily, width: narrow, fields: usageFields()},
		{name: "common", on: everyFamily, width: narrow, fields: commonFields(), board: []field{
			{hasMCU, "Chip Name", fixed("mcu")},
			{hasMCU, "Temperature(C)", number(0, func(c *AscendCard) float64 { return c.BoardCelsius[0] })},
			{is310P | is910A, "NPU Real-time Power(W)", number(1, func(c *AscendCard) float64 { return c.BoardWatts })},
		}},
		{name: "volt", on: everyFamily, width: narrow, fields: []field{
			{everyFamily, "Voltage(V)", number(2, func(c *AscendCard) float64 { return c.Volts })},
			closing(),
		}},
		{name: "temp", on: everyFamily, width: narrow, fields: []field{
			{is910A | is910B | isA3, "NPU Temperature (C)", celsius},
			{is310 | is310P | is950, "Temperature (C)", celsius},
			closing(),
		}, board: []field{
			{hasMCU, "LM75A_TE (C)", number(0, func(c *AscendCard) float64 { return c.BoardCelsius[0] })},
			{hasMCU, "LM75B_TE (C)", number(0, func(c *AscendCard) float64 { return c.BoardCelsius[1] })},
			{hasMCU, "Chip Name", fixed("MCU")},
		}},
		{name: "memory", on: everyFamily, width: narrow, fields: memoryFields()},
		{name: "ecc", on: everyFamily, width: wide, fields: eccFields()},
		{name: "ecc-enable", on: everyFamily, width: narrow, bare: everyFamily, fields: []field{
			{is310, "ECC-Enable Status", truth(func(c *AscendCard) bool { return c.DDR.ECCEnabled })},
			{is310P | is910A, "DDR ECC-Enable Status", truth(func(c *AscendCard) bool { return c.DDR.ECCEnabled })},
			{hasHBM &^ is910A, "HBM ECC-Enable Status", truth(func(c *AscendCard) bool { return c.HBM.ECCEnabled })},
		}},
		{name: "health", on: everyFamily, width: narrow, fields: healthFields(), chip: codedHealthFields(), board: []field{
			{hasMCU, "Health", fixed("OK")}, {hasMCU, "Chip Name", fixed("MCU")},
		}},
		{name: "board", on: everyFamily, width: narrow, bare: everyFamily, fields: boardFields(), chip: chipFields()},
		{name: "hccs", on: hasHBM&^is950 | is310P, width: narrow, die: true, fields: hccsFields()},
		{name: "sensors", on: everyFamily &^ is310, width: narrow, die: true, bare: everyFamily, fields: []field{
			{everyFamily, "Soc Max Temperature (C)", number(0, func(c *AscendCard) float64 { return c.SocMax })},
			{hasHBM, "SFP Temperature (C)", number(0, func(c *AscendCard) float64 { return c.SFP })},
			{hasHBM, "NDIE Temperature (C)", number(0, func(c *AscendCard) float64 { return c.NDIE })},
			{hasHBM, "HBM Temperature (C)", number(0, func(c *AscendCard) float64 { return c.HBM.Celsius })},
		}},
		{name: "pcie-err", on: everyFamily &^ is310, width: narrow, die: true, fields: pcieFields()},
		{name: "sio-info", on: isA3 | is950, die: true, bare: everyFamily, fields: []field{
			{everyFamily, "TX Error Count", counter(func(c *AscendCard) uint64 { return c.SIOSend })},
			{everyFamily, "RX Error Count", counter(func(c *AscendCard) uint64 { return c.SIOReceive })},
		}},
	}
}

func pcieFields() []field {
	return []field{
		{everyFamily, "TX Error Count", counter(func(c *AscendCard) uint64 { return c.PCIe.Send })},
		{everyFamily, "RX Error Count", counter(func(c *AscendCard) uint64 { return c.PCIe.Receive })},
		{everyFamily, "Lcrc Error Count", counter(func(c *AscendCard) uint64 { return c.PCIe.LCRC })},
		{everyFamily, "Ecrc Error Count", counter(func(c *AscendCard) uint64 { return c.PCIe.ECRC })},
		{everyFamily, "Retry Count", counter(func(c *AscendCard) uint64 { return c.PCIe.Retries })},
	}
}

func celsius(c *AscendCard) string { return decimals(c.Celsius, 0) }

// closing is the line that ends a die's block.
func closing() field { return field{hasDies, chipID, chip} }

func truth(of func(*AscendCard) bool) func(*AscendCard) string {
	return func(c *AscendCard) string {
		if of(c) {
			return "True"
		}
		return "False"
	}
}

func usageFields() []field {
	percent := func(on family, key string, of func(*AscendCard) float64) field { return field{on, key, number(0, of)} }
	ddr, has310P := everyFamily&^is310, is310P
	return []field{
		percent(ddr, "DDR Capacity(MB)", func(c *AscendCard) float64 { return c.DDR.MiB }),
		percent(ddr, "DDR Usage Rate(%)", func(c *AscendCard) float64 { return c.DDR.Usage }),
		percent(ddr, "DDR Hugepages Total(page)", func(c *AscendCard) float64 { return c.Hugepages }),
		percent(ddr, "DDR Hugepages Usage Rate(%)", func(c *AscendCard) float64 { return c.HugepagesUsage }),
		percent(is310, "Memory Capacity(MB)", func(c *AscendCard) float64 { return c.DDR.MiB }),
		percent(is310, "Memory Usage Rate(%)", func(c *AscendCard) float64 { return c.DDR.Usage }),
		percent(hasHBM, "HBM Capacity(MB)", func(c *AscendCard) float64 { return c.HBM.MiB }),
		percent(hasHBM, "HBM Usage Rate(%)", func(c *AscendCard) float64 { return c.HBM.Usage }),
		percent(everyFamily, "Aicore Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.Core }),
		percent(hasHBM&^is910A, "Aivector Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.Vector }),
		percent(everyFamily, "Aicpu Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.AICPU }),
		percent(everyFamily, "Ctrlcpu Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.ControlCPU }),
		percent(has310P, "Vectorcore Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.VectorCore }),
		percent(ddr, "DDR Bandwidth Usage Rate(%)", func(c *AscendCard) float64 { return c.DDR.Bandwidth }),
		percent(is310, "Memory Bandwidth Usage Rate(%)", func(c *AscendCard) float64 { return c.DDR.Bandwidth }),
		percent(hasHBM, "HBM Bandwidth Usage Rate(%)", func(c *AscendCard) float64 { return c.HBM.Bandwidth }),
		percent(has310P, "DVPP VDEC Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.VDEC }),
		percent(has310P, "DVPP VPC Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.VPC }),
		percent(has310P, "DVPP VENC Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.VENC }),
		percent(has310P, "DVPP JPEGE Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.JPEGE }),
		percent(has310P, "DVPP JPEGD Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.JPEGD }),
		percent(isA3|is950, "NPU Utilization(%)", func(c *AscendCard) float64 { return c.Use.NPU }),
		percent(isA3|is950, "Aicube Usage Rate(%)", func(c *AscendCard) float64 { return c.Use.Cube }),
		closing(),
	}
}

func commonFields() []field {
	return []field{
		closing(), // here it opens the block
		{everyFamily, "Memory Usage Rate(%)", number(0, func(c *AscendCard) float64 { return c.DDR.Usage })},
		{hasHBM, "HBM Usage Rate(%)", number(0, func(c *AscendCard) float64 { return c.HBM.Usage })},
		{everyFamily, "Aicore Usage Rate(%)", number(0, func(c *AscendCard) float64 { return c.Use.Core })},
		{everyFamily, "Aicore Freq(MHZ)", number(0, func(c *AscendCard) float64 { return c.RatedMHz })},
		{everyFamily, "Aicore curFreq(MHZ)", number(0, func(c *AscendCard) float64 { return c.MHz })},
		{hasHBM, "Aicore Count", number(0, func(c *AscendCard) float64 { return c.Cores })},
		{everyFamily, "Temperature(C)", celsius},
		{hasHBM, "NPU Real-time Power(W)", number(1, func(c *AscendCard) float64 { return c.Watts })},
	}
}

func memoryFields() []field {
	return []field{
		{is310P, "Total DDR Capacity(MB)", number(0, func(c *AscendCard) float64 { return c.DDR.MiB })},
		{everyFamily, "DDR Capacity(MB)", number(0, func(c *AscendCard) float64 { return c.DDR.MiB })},
		{is310 | is310P, "Clock Speed(MHz)", number(0, func(c *AscendCard) float64 { return c.DDR.MHz })},
		{hasHBM, "DDR Clock Speed(MHz)", number(0, func(c *AscendCard) float64 { return c.DDR.MHz })},
		{hasHBM, "HBM Capacity(MB)", number(0, func(c *AscendCard) float64 { return c.HBM.MiB })},
		{hasHBM, "HBM Clock Speed(MHz)", number(0, func(c *AscendCard) float64 { return c.HBM.MHz })},
		{hasHBM, "HBM Temperature(C)", number(0, func(c *AscendCard) float64 { return c.HBM.Celsius })},
		{hasHBM, "HBM Manufacturer ID", fixed("0x56")},
		closing(),
	}
}

func eccFields() []field {
	fields := []field{
		{is310, chipID, chip},
		{is310, "Single-bit Error Count", counter(func(c *AscendCard) uint64 { return c.DDR.ECC.Single })},
		{is310, "Double-bit Error Count", counter(func(c *AscendCard) uint64 { return c.DDR.ECC.Double })},
	}
	for _, m := range []struct {
		name string
		on   family
		of   func(*AscendCard) *AscendECC
	}{
		{"DDR", is310P | is910A, func(c *AscendCard) *AscendECC { return &c.DDR.ECC }},
		{"HBM", hasHBM, func(c *AscendCard) *AscendECC { return &c.HBM.ECC }},
	} {
		add := func(on family, key string, of func(*AscendECC) uint64) {
			fields = append(fields, field{on, m.name + " " + key, counter(func(c *AscendCard) uint64 { return of(m.of(c)) })})
		}
		add(m.on, "Single Bit Error Count", func(e *AscendECC) uint64 { return e.Single })
		add(m.on, "Double Bit Error Count", func(e *AscendECC) uint64 { return e.Double })
		add(m.on, "Single Bit Aggregate Total Err Cnt", func(e *AscendECC) uint64 { return e.TotalSingle })
		add(m.on, "Double Bit Aggregate Total Err Cnt", func(e *AscendECC) uint64 { return e.TotalDouble })
		add(m.on, "Single Bit Isolated Pages Count", func(e *AscendECC) uint64 { return e.PagesSingle })
		add(m.on, "Double Bit Isolated Pages Count", func(e *AscendECC) uint64 { return e.PagesDouble })
		add(m.on&^is910A, "Single Bit Next-Isolated Pages Count", func(e *AscendECC) uint64 { return e.NextSingle })
		add(m.on&^is910A, "Double Bit Next-Isolated Pages Count", func(e *AscendECC) uint64 { return e.NextDouble })
	}
	return append(fields, field{hasDies &^ is310, chipID, chip})
}

func hccsFields() []field {
	lanes := func(of func(HCCSLink) string) func(*AscendCard) string {
		return func(c *AscendCard) string {
			var b strings.Builder
			for _, link := range c.Links {
				fmt.Fprintf(&b, "%-20s ", of(link))
			}
			return "[" + b.String() + "]"
		}
	}
	sum := func(of func(HCCSLink) uint64) func(*AscendCard) string {
		return lanes(func(h HCCSLink) string { return strconv.FormatUint(of(h), 10) })
	}
	const bitsOfLane, bytesOfPacket, lanesOfLink = 56, 20, 4
	told := hasHBM // a 310P tells neither health nor lanes
	return []field{
		{told, "hccs health status ", func(c *AscendCard) string {
			for _, link := range c.Links {
				if link.Lanes < lanesOfLink {
					return "NOK"
				}
			}
			return "OK"
		}},
		{told, "hccs lane mode ", lanes(func(h HCCSLink) string { return strconv.Itoa(h.Lanes) })},
		{told, "hccs link lane list ", lanes(func(h HCCSLink) string {
			return strings.Repeat("1", h.Lanes) + strings.Repeat("0", max(0, lanesOfLink-h.Lanes))
		})},
		{told, "hccs link speed ", lanes(func(h HCCSLink) string { return strconv.Itoa(bitsOfLane * h.Lanes) })},
		{everyFamily, "hccs tx packets ", sum(func(h HCCSLink) uint64 { return h.SendPackets })},
		{everyFamily, "hccs tx bytes ", sum(func(h HCCSLink) uint64 { return bytesOfPacket * h.SendPackets })},
		{everyFamily, "hccs rx packets ", sum(func(h HCCSLink) uint64 { return h.ReceivePackets })},
		{everyFamily, "hccs rx bytes ", sum(func(h HCCSLink) uint64 { return bytesOfPacket * h.ReceivePackets })},
		{everyFamily, "hccs retry count ", sum(func(h HCCSLink) uint64 { return h.Retries })},
		{everyFamily, "hccs error count ", sum(func(h HCCSLink) uint64 { return h.Errors })},
		{everyFamily, "hccs first error lane ", func(c *AscendCard) string {
			if c.FirstErrorLane < 0 {
				return notPrinted
			}
			return strconv.Itoa(c.FirstErrorLane)
		}},
	}
}
