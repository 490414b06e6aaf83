package hygon

import "github.com/accelerator-exporter/accelerator_exporter/collector/smitext"

var memoryRows = smitext.Rows{
	{Word: "vram total memory", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "vram total used memory", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Total: "memory_total_bytes"},
}

var tempRows = smitext.Rows{
	{Word: "temperature (sensor edge)", Metric: "temperature_celsius", Labels: []string{"edge"}, Unit: smitext.Celsius},
	{Word: "temperature (sensor junction)", Metric: "temperature_celsius", Labels: []string{"junction"}, Unit: smitext.Celsius},
	{Word: "temperature (sensor mem)", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius},
	{Word: "temperature (sensor core)", Metric: "temperature_celsius", Labels: []string{"core"}, Unit: smitext.Celsius},
}

var clockRows = smitext.Rows{
	{Word: "sclk clock", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz, NotZero: true},
	{Word: "mclk clock", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz, NotZero: true},
	{Word: "pcie speed", Metric: "pcie_link_transfers_per_second", Unit: smitext.Transfers, NotZero: true},
	{Word: "pcie width", Metric: "pcie_link_width", Unit: smitext.Lanes, NotZero: true},
}

// eccRows read the RAS blocks by their names in the driver, which hy-smi has of rocm-smi.
func eccRows() smitext.Rows {
	var all smitext.Rows
	for _, block := range []string{
		"umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "sem", "mp0", "mp1", "fuse",
	} {
		all = append(all,
			smitext.Row{Word: block + " ue", Metric: "ecc_errors_total", Labels: []string{block, "uncorrectable"}, Underflow: true},
			smitext.Row{Word: block + " ce", Metric: "ecc_errors_total", Labels: []string{block, "correctable"}, Underflow: true})
	}
	return all
}
