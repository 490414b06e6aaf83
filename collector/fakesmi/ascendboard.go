package fakesmi

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// boardFields are those of a card.
func boardFields() []field {
	named := everyFamily &^ (is310 | is910A)
	bus := func(c *AscendCard) string { return c.BusID }
	version := func(c *AscendCard) string { return c.Version }
	return []field{
		{everyFamily, "NPU ID", npu},
		{named, "Product Name", fixed("IT21EXAMPLE")},
		{is950, "NPU Name", func(c *AscendCard) string { return c.Name }},
		{is950, "Chip Name", func(c *AscendCard) string { return c.Name }},
		{is950, "Chip Version", fixed("V1")},
		{named, "Model", fixed(notPrinted)},
		{named, "Manufacturer", fixed("Huawei")},
		{named, "Serial Number", func(c *AscendCard) string { return c.Serial }},
		{everyFamily, "Software Version", version},
		{everyFamily, "Firmware Version", fixed("7.5.0.3.220")},
		{everyFamily, "Compatibility", fixed("OK")},
		{everyFamily, "Board ID", fixed("0x64")},
		{is950, "Main Board ID", fixed("0x68(1P)")},
		{everyFamily, "PCB ID", fixed("A")},
		{everyFamily, "BOM ID", fixed("1")},
		{everyFamily, "PCIe Bus Info", bus},
		{everyFamily, "Slot ID", npu},
		{everyFamily, "Class ID", fixed(notPrinted)},
		{everyFamily, "PCI Vendor ID", fixed("0x19E5")},
		{everyFamily, "PCI Device ID", fixed("0xD802")},
		{everyFamily, "Subsystem Vendor ID", fixed("0x19E5")},
		{everyFamily, "Subsystem Device ID", fixed("0x3005")},
		{everyFamily, "Chip Count", func(c *AscendCard) string { return strconv.Itoa(c.Dies) }},
		{is950, "DDie ID", dieID},
		{is950, "Chip Position ID", fixed("0")},
	}
}

// chipFields are those of a die.
func chipFields() []field {
	two := is910A | is910B | isA3
	return []field{
		{hasDies, "NPU ID", npu},
		{hasDies, chipID, chip},
		{hasDies, "Chip Type", fixed("Ascend")},
		{hasDies, "Chip Name", func(c *AscendCard) string { return c.Name }},
		{hasDies, "Chip Version", fixed("V1")},
		{hasDies, "Board ID", fixed("0x64")},
		{two, "PCB ID", fixed(notPrinted)},
		{two, "BOM ID", fixed("1")},
		{two, "VDie ID", dieID},
		{two, "NDie ID", dieID},
		{hasDies &^ two, "Die ID", dieID},
		{hasDies, "Chip Position ID", chip},
		{hasDies, "PCIe Bus Info", func(c *AscendCard) string { return c.BusID }},
		{hasDies, "Firmware Version", fixed("7.5.0.3.220")},
	}
}

func dieID(c *AscendCard) string {
	return fmt.Sprintf("10000000 20000000 30000000 40000000 5000%04s", c.Device)
}

func npu(c *AscendCard) string { return c.NPU }

func chip(c *AscendCard) string { return c.Chip }

// healthFields are those of a card: but on a 950 without codes.
func healthFields() []field {
	return []field{
		{everyFamily, "Health", func(c *AscendCard) string { return cmp.Or(c.Health, notPrinted) }},
		{is950, "Error Code", errorCode},
		{is950, "Error Information", errorText},
		closing(),
	}
}

// codedHealthFields are those of a die.
func codedHealthFields() []field {
	return []field{
		{hasDies, "Health Status", codedHealth},
		{hasDies, "Error Code", errorCode},
		{hasDies, "Error Information", errorText},
	}
}

// codedHealth is the health behind -c: what has no code is told as OK there.
func codedHealth(c *AscendCard) string {
	if len(c.ErrorCodes) == 0 {
		return "OK"
	}
	return c.Health
}

func errorCode(c *AscendCard) string { return cmp.Or(strings.Join(c.ErrorCodes, " "), notPrinted) }

// errorText has a line for each code, with an empty one between.
func errorText(c *AscendCard) string {
	var lines []string
	for _, code := range c.ErrorCodes {
		lines = append(lines, "node type=unit of "+code+", sensor type=Memory, event state=Multi-bit error.")
	}
	return cmp.Or(strings.Join(lines, fmt.Sprintf("\n\n\t%-*s : ", narrow, "")), notPrinted)
}
