// Package ascend reads what Huawei's npu-smi prints. Five families of the table
// of npu-smi info have been met, tool versions 20.2.0 to 26.0.rc2; they are known
// by their header rows alone, since the widths of different chips overlap.
package ascend

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Header words of the cells that name a chip or a process, or set its rows apart.
const (
	colNPU    = "npu"
	colName   = "name"
	colHealth = "health"
	colChip   = "chip"
	colDevice = "device"
	colPhyID  = "phy-id"
	colBusID  = "bus-id"
)

// tableRows have one line for each header word that is a metric, or holds blanks, or has values that do. What Ascend 950
// calls otherwise is called as elsewhere.
var tableRows = smitext.Rows{
	{Word: "npu id", As: colNPU},
	{Word: colName, Form: smitext.FormPhrase},
	{Word: "power", Metric: "power_watts", Unit: smitext.Watts, Symbol: "W"},
	{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius, Symbol: "C"},
	{Word: "aicore", Metric: "utilization_ratio", Unit: smitext.Percent, Symbol: "%"},
	{Word: "npu util", Metric: "utilization_ratio", Unit: smitext.Percent, Symbol: "%"},
	{Word: "hugepages-usage", Metric: "hugepages_used", Total: "hugepages_total", Form: smitext.FormUsage, Unit: smitext.Pages, Symbol: "page"},
	{Word: "memory-usage", Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"ddr"}, Unit: smitext.Bytes},
	{Word: "hbm-usage", Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"hbm"}, Unit: smitext.Bytes},

	{Word: "process id", As: smitext.PID},
	{Word: "process id in container"},
	{Word: smitext.ProcessName, Form: smitext.FormPhrase},
	{Word: smitext.ProcessMemory},
}

// place is where a chip is; process rows name it so.
type place struct{ npu, chip string }

// chip is one chip as printed, before its name among all chips is known.
type chip struct {
	place
	number string // Device or Phy-ID, "" where there is none
	device model.Device
}

// owner is a process row and the chip it names.
type owner struct {
	place
	process model.Process
}

type infoParser struct {
	report model.Report
	chips  []chip
	owners []owner
}

// ParseInfo reads the output of npu-smi info. It fails with failure.Parse when the
// output is another program's or holds no whole chip.
func ParseInfo(out []byte) (model.Report, error) {
	p := &infoParser{}
	reader := smitext.TableReader{
		Words: tableRows,
		Tables: []smitext.Table{
			{Header: []string{colNPU, colHealth}, Second: []string{colBusID}, Card: p.chip},
			{Header: []string{colNPU, smitext.PID}, Row: p.process},
		},
		Outside: p.outside,
		Report:  &p.report,
	}
	if err := reader.Read(out); err != nil {
		return model.Report{}, err
	}
	ids := p.nameChips()
	if len(p.report.Devices) == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no complete chip in the output")
	}
	for _, o := range p.owners {
		id, ok := ids[o.place]
		if !ok {
			p.report.Warn("process %s runs on a chip that the device table lacks", o.process.PID)
			continue
		}
		o.process.Device = id
		p.report.Processes = append(p.report.Processes, o.process)
	}
	return p.report, nil
}

// outside reads "npu-smi <tool version>   Version: <driver version>".
func (p *infoParser) outside(line smitext.Line) error {
	if line.Kind != smitext.LineRow {
		return nil
	}
	name, rest, _ := strings.Cut(line.Cells[0], " ")
	if !strings.HasSuffix(strings.ToLower(name), "-smi") {
		return nil
	}
	if !strings.EqualFold(name, "npu-smi") {
		return failure.Errorf(failure.Parse, "the title is that of %.40q, not of npu-smi", name)
	}
	version, driver, _ := strings.Cut(rest, "Version:")
	p.report.Tool = &model.Tool{
		Name:          "npu-smi",
		Version:       firstWord(version),
		DriverVersion: firstWord(driver),
	}
	return nil
}

func firstWord(s string) string {
	if fields := strings.Fields(s); len(fields) > 0 {
		return smitext.Label(fields[0])
	}
	return ""
}

// nameChips gives every chip the number a workload selects it by, or all of them their place
// where one number is that of two, and returns the names by place.
func (p *infoParser) nameChips() map[place]string {
	ids := make(map[place]string, len(p.chips))
	seen := make(map[string]bool, len(p.chips))
	unique := true
	for _, c := range p.chips {
		if _, twice := ids[c.place]; twice {
			p.report.Warn("chip %s of NPU %s is printed twice", c.chip, c.npu)
			continue
		}
		c.device.ID = c.number
		if c.number == "" {
			c.device.ID = c.npu
		}
		unique = unique && !seen[c.device.ID]
		seen[c.device.ID] = true
		ids[c.place] = c.device.ID
		p.report.Devices = append(p.report.Devices, c.device)
	}
	for i := range p.report.Devices {
		if d := &p.report.Devices[i]; !unique {
			d.ID = strings.TrimSuffix(d.NPU+"."+d.Chip, ".")
			ids[place{d.NPU, d.Chip}] = d.ID
		}
	}
	return ids
}
