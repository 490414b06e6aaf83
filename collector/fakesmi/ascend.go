package fakesmi

import (
	"fmt"
	"io"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// AscendLayout is one family of the table of npu-smi info.
type AscendLayout struct {
	Name    string // how the layout is chosen
	Version string // of the tool, as printed
	widths  []int
	// The width of each value inside its cell, as the tool pads it.
	first     int    // NPU and chip
	power     int    // power, and AICore below it
	middle    int    // temperature, and Memory-Usage below it
	hugepages bool   // Hugepages-Usage is printed
	hbm       bool   // HBM-Usage is printed
	number    string // Device, Phy-ID, or "" where the layout has neither
	container bool   // the process table has a column for the id in a container
	noChip    bool   // the NPU has a cell of its own and no chip (Ascend 950)
}

// AscendLayouts returns every layout: families A to E.
func AscendLayouts() []AscendLayout {
	return []AscendLayout{
		{Name: "310-21.0.3", Version: "21.0.3.1", widths: []int{19, 17, 40}, first: 8, power: 18, middle: 20, number: "Device"},
		{Name: "310p-25.5", Version: "25.5.1", widths: []int{31, 17, 54}, first: 8, power: 13, middle: 18, hugepages: true, number: "Device"},
		{Name: "910a-21.0.3", Version: "21.0.3.2", widths: []int{22, 15, 45}, first: 6, power: 11, middle: 18, hbm: true},
		{Name: "910b-23.0", Version: "23.0.7", widths: []int{27, 15, 52}, first: 6, power: 12, middle: 18, hugepages: true, hbm: true},
		{Name: "a3-25.2", Version: "25.2.0", widths: []int{27, 15, 52}, first: 6, power: 12, middle: 18, hugepages: true, hbm: true, number: "Phy-ID"},
		{Name: "a3-26.0", Version: "26.0.rc1", widths: []int{31, 19, 62}, first: 8, power: 14, middle: 20, hugepages: true, hbm: true, number: "Phy-ID", container: true},
		{Name: "950-25.6", Version: "25.6.rc1", widths: []int{8, 18, 15, 53}, first: 0, power: 12, middle: 18, hugepages: true, hbm: true, noChip: true},
	}
}

// AscendLayoutNamed finds a layout by name.
func AscendLayoutNamed(name string) (AscendLayout, error) {
	var names []string
	for _, l := range AscendLayouts() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return AscendLayout{}, fmt.Errorf("no layout %q of npu-smi; there are %s", name, strings.Join(names, ", "))
}

// Reduce returns the part of a model that the layout can show, with the device
// numbers that it gives.
func (l AscendLayout) Reduce(r model.Report) model.Report {
	r.Devices = append([]model.Device(nil), r.Devices...)
	r.Processes = append([]model.Process(nil), r.Processes...)
	r.Slices, r.Announced = nil, 0
	for i := range r.Devices {
		d := &r.Devices[i]
		d.UUID, d.Board, d.CPUAffinity, d.NUMANode, d.PowerLimitWatts, d.PerformanceLevel = "", "", "", nil, nil, nil
		if !l.hugepages {
			d.HugepagesUsed, d.HugepagesTotal = nil, nil
		}
		if l.noChip {
			d.Chip = ""
		}
		if l.number == "" {
			l.renumber(&r, i)
		}
		memory := d.Memory
		d.Memory = nil
		for _, m := range memory {
			if m.Type == "ddr" || m.Type == "hbm" && l.hbm {
				d.Memory = append(d.Memory, m)
			}
		}
	}
	return r
}

// renumber calls a card by its NPU id, as layouts without a number column do.
func (l AscendLayout) renumber(r *model.Report, i int) {
	old := r.Devices[i].ID
	r.Devices[i].ID = r.Devices[i].NPU
	for j := range r.Processes {
		if r.Processes[j].Device == old {
			r.Processes[j].Device = r.Devices[i].NPU
		}
	}
}

// Print writes what npu-smi info prints.
func (l AscendLayout) Print(w io.Writer, r model.Report) error {
	x := &box{}
	if r.Tool != nil {
		x.widths = []int{l.inner()}
		x.rule("+", "+", "+", '-')
		x.row(fmt.Sprintf(" npu-smi %-24s Version: %s", r.Tool.Version, r.Tool.DriverVersion))
	}
	x.widths = l.widths
	x.rule("+", "+", "+", '-')
	first, second := l.header()
	x.row(first...)
	x.row(second...)
	x.rule("+", "+", "+", '=')
	for i := range r.Devices {
		upper, lower := l.rows(&r.Devices[i])
		x.row(upper...)
		x.row(lower...)
		x.rule("+", "+", "+", '=')
	}
	l.processes(x, r)
	return x.flush(w)
}

func (l AscendLayout) inner() int {
	sum := len(l.widths) - 1
	for _, w := range l.widths {
		sum += w
	}
	return sum
}

// identity makes the cells that say which chip a row is of.
func (l AscendLayout) identity(a, b string) []string {
	if l.noChip {
		return []string{" " + a, " " + b}
	}
	return []string{fmt.Sprintf(" %-*s%s", l.first, a, b)}
}

func (l AscendLayout) header() (first, second []string) {
	pages, hbm := "", ""
	if l.hugepages {
		pages = "Hugepages-Usage(page)"
	}
	if l.hbm {
		hbm = "HBM-Usage(MB)"
	}
	if l.noChip {
		return append(l.identity("NPU ID", "Name"), " Health", l.readings("Power(W)", "Temp(C)", pages)),
			append(l.identity("", ""), " Bus-Id", l.readings("NPU Util(%)", "Memory-Usage(MB)", hbm))
	}
	return append(l.identity("NPU", "Name"), " Health", l.readings("Power(W)", "Temp(C)", pages)),
		append(l.identity("Chip", l.number), " Bus-Id", l.readings("AICore(%)", "Memory-Usage(MB)", hbm))
}

func (l AscendLayout) readings(a, b, c string) string {
	return fmt.Sprintf(" %-*s%-*s%s", l.power, a, l.middle, b, c)
}

func (l AscendLayout) rows(d *model.Device) (upper, lower []string) {
	pages, hbm := "", ""
	if l.hugepages {
		pages = usage(d.HugepagesUsed, d.HugepagesTotal, 1)
	}
	if l.hbm {
		m := memoryOf(d, "hbm")
		hbm = usage(m.UsedBytes, m.TotalBytes, mib)
	}
	ddr := memoryOf(d, "ddr")
	health := notPrinted
	if d.Health != nil {
		health = d.Health.State
	}
	number := ""
	if l.number != "" {
		number = d.ID
	}
	none := notPrinted
	if l.number == "Phy-ID" {
		none = "-" // the second die of an A3 card
	}
	upper = append(l.identity(d.NPU, d.Name), " "+health,
		l.readings(tenths(d.PowerWatts, none), number1(d.TemperatureCelsius), pages))
	chip := d.Chip
	if l.noChip {
		chip = ""
	}
	lower = append(l.identity(chip, number), " "+text(d.BusID),
		l.readings(number100(d.UtilizationRatio), usage(ddr.UsedBytes, ddr.TotalBytes, mib), hbm))
	return upper, lower
}

func number1(v *float64) string { return number(v, 1, "") }

func number100(v *float64) string { return number(v, 100, "") }

// usage prints "used / total" with the tool's five digits, so that a full card
// has no blank before the slash; a memory that is not there prints as 0 / 0.
func usage(used, total *float64, scale float64) string {
	if used == nil && total == nil {
		return fmt.Sprintf("%-5d/ %d", 0, 0)
	}
	return fmt.Sprintf("%-5s/ %s", number(used, scale, ""), number(total, scale, ""))
}

func (l AscendLayout) processes(x *box, r model.Report) {
	x.widths = []int{l.inner() - 70, 15, 26, 26}
	head := []string{" NPU     Chip", " Process id", " Process name", " Process memory(MB)"}
	if l.noChip {
		head[0] = " NPU ID"
	}
	if l.container {
		x.widths = append(x.widths[:4:4], 25)
		x.widths[0] = 25
		head = append(head, " Process id in container")
	}
	x.rule("+", "+", "+", '-')
	x.row(head...)
	x.rule("+", "+", "+", '=')
	for i := range r.Devices {
		d := &r.Devices[i]
		none := true
		for _, p := range r.Processes {
			if p.Device != d.ID {
				continue
			}
			none = false
			at := fmt.Sprintf(" %-8s%s", d.NPU, d.Chip)
			if l.noChip {
				at = " " + d.NPU
			}
			cells := []string{at, " " + p.PID, " " + p.Name, fmt.Sprintf(" %.0f", p.UsedBytes*mib)}
			if l.container {
				cells = append(cells, " "+notPrinted)
			}
			x.row(cells...)
		}
		if none {
			x.line("| No running processes found in NPU %-*s|", l.inner()-35, d.NPU)
		}
		x.rule("+", "+", "+", '=')
	}
}

// PrintMapping writes what npu-smi info -m prints, with the board controllers'
// rows that are no chips.
func (l AscendLayout) PrintMapping(w io.Writer, r model.Report) error {
	x := &box{}
	x.line("\t%-31s%-31s%-31s%s", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")
	for i, d := range r.Devices {
		chip := d.Chip
		if chip == "" {
			chip = "0"
		}
		x.line("\t%-31s%-31s%-31d%s", d.NPU, chip, i, "Ascend "+d.Name)
		if i+1 == len(r.Devices) || r.Devices[i+1].NPU != d.NPU {
			x.line("\t%-31s%-31d%-31s%s", d.NPU, 9, "-", "Mcu")
		}
	}
	return x.flush(w)
}

// PrintList writes what npu-smi info -l prints.
func (l AscendLayout) PrintList(w io.Writer, r model.Report) error {
	chips := map[string]int{}
	var npus []string
	for _, d := range r.Devices {
		if chips[d.NPU] == 0 {
			npus = append(npus, d.NPU)
		}
		chips[d.NPU]++
	}
	x := &box{}
	x.line("\t%-31s: %d", "Total Count", len(npus))
	for _, npu := range npus {
		x.line("\n\t%-31s: %s\n\t%-31s: %d", "NPU ID", npu, "Chip Count", chips[npu])
	}
	return x.flush(w)
}

// PrintTopology writes what npu-smi info -t topo prints.
func (l AscendLayout) PrintTopology(w io.Writer, r model.Report) error {
	prefix := "NPU"
	if l.number == "Phy-ID" {
		prefix = "Phy-ID"
	}
	return Matrix{
		CardPrefix: prefix, Width: 11, CPUs: true, None: "NA", Self: "X",
		LegendLines: "\n  X    = the card itself\n  HCCS = over HCCS\n  SIO  = between two dies\n  SYS  = between NUMA nodes\n  NA   = not known\n",
	}.Print(w, r)
}
