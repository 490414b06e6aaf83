package fakesmi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

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
	family    family // of the chips, by which the deeper commands differ
}

// family is a kind of chips, or several.
type family uint8

const (
	is310 family = 1 << iota
	is310P
	is910A
	is910B
	isA3
	is950

	everyFamily = is310 | is310P | is910A | is910B | isA3 | is950
)

// AscendLayouts returns every layout: families A to E.
func AscendLayouts() []AscendLayout {
	return []AscendLayout{
		{Name: "310-21.0.3", Version: "21.0.3.1", widths: []int{19, 17, 40}, first: 8, power: 18, middle: 20, number: "Device", family: is310},
		{Name: "310p-25.5", Version: "25.5.1", widths: []int{31, 17, 54}, first: 8, power: 13, middle: 18, hugepages: true, number: "Device", family: is310P},
		{Name: "910a-21.0.3", Version: "21.0.3.2", widths: []int{22, 15, 45}, first: 6, power: 11, middle: 18, hbm: true, family: is910A},
		{Name: "910b-23.0", Version: "23.0.7", widths: []int{27, 15, 52}, first: 6, power: 12, middle: 18, hugepages: true, hbm: true, family: is910B},
		{Name: "a3-25.2", Version: "25.2.0", widths: []int{27, 15, 52}, first: 6, power: 12, middle: 18, hugepages: true, hbm: true, number: "Phy-ID", family: isA3},
		{Name: "a3-26.0", Version: "26.0.rc1", widths: []int{31, 19, 62}, first: 8, power: 14, middle: 20, hugepages: true, hbm: true, number: "Phy-ID", container: true, family: isA3},
		{Name: "950-25.6", Version: "25.6.rc1", widths: []int{8, 18, 15, 53}, first: 0, power: 12, middle: 18, hugepages: true, hbm: true, noChip: true, family: is950},
	}
}

// AscendLayoutNamed finds a layout by name.
func AscendLayoutNamed(name string) (AscendLayout, error) {
	return layoutNamed("npu-smi", AscendLayouts(), name, func(l AscendLayout) string { return l.Name })
}

// Reduce returns the part of a model that the layout can show, with the device
// numbers that it gives.
func (l AscendLayout) Reduce(r model.Report) model.Report {
	shown := []model.Metric{"utilization_ratio", "power_watts", "temperature_celsius", "memory_used_bytes", "memory_total_bytes"}
	if l.hugepages {
		shown = append(shown, "hugepages_used", "hugepages_total")
	}
	isOther := func(m model.Reading) bool {
		return len(m.Labels) > 0 && m.Labels[0] != "chip" && m.Labels[0] != "ddr" && (m.Labels[0] != "hbm" || !l.hbm)
	}
	r.Devices, r.Processes = slices.Clone(r.Devices), slices.Clone(r.Processes)
	r.Slices, r.Announced = nil, 0
	for i := range r.Devices {
		d := &r.Devices[i]
		d.UUID, d.Board, d.CPUAffinity, d.NUMANode = "", "", "", nil
		d.Readings = slices.DeleteFunc(keep(d.Readings, shown...), isOther)
		if l.noChip {
			d.Chip = ""
		}
		if l.number == "" { // a card is called by its NPU id
			for j := range r.Processes {
				if r.Processes[j].Device == d.ID {
					r.Processes[j].Device = d.NPU
				}
			}
			d.ID = d.NPU
		}
	}
	return r
}

// Print writes what npu-smi info prints.
func (l AscendLayout) Print(w io.Writer, r model.Report) error {
	x := &box{}
	if r.Tool != nil {
		x.begin(l.inner())
		x.row(fmt.Sprintf(" npu-smi %-24s Version: %s", r.Tool.Version, r.Tool.DriverVersion))
	}
	x.begin(l.widths...)
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
	npu, chip, util, pages, hbm := "NPU", "Chip", "AICore(%)", "", ""
	if l.noChip {
		npu, chip, util = "NPU ID", "", "NPU Util(%)"
	}
	if l.hugepages {
		pages = "Hugepages-Usage(page)"
	}
	if l.hbm {
		hbm = "HBM-Usage(MB)"
	}
	return append(l.identity(npu, "Name"), " Health", l.readings("Power(W)", "Temp(C)", pages)),
		append(l.identity(chip, l.number), " Bus-Id", l.readings(util, "Memory-Usage(MB)", hbm))
}

func (l AscendLayout) readings(a, b, c string) string {
	return fmt.Sprintf(" %-*s%-*s%s", l.power, a, l.middle, b, c)
}

func (l AscendLayout) rows(d *model.Device) (upper, lower []string) {
	health, power, pages, hbm, number := notPrinted, notPrinted, "", "", ""
	if d.Health != nil {
		health = d.Health.State
	}
	if v, ok := d.Readings.Get("power_watts"); ok {
		power = strconv.FormatFloat(v, 'f', 1, 64)
	} else if l.number == "Phy-ID" {
		power = "-" // the second die of an A3 card
	}
	if l.hugepages {
		pages = usage(d.Readings, 1, "hugepages_used", "hugepages_total")
	}
	if l.hbm {
		hbm = usage(d.Readings, mib, "memory_used_bytes", "memory_total_bytes", "hbm")
	}
	if l.number != "" {
		number = d.ID
	}
	upper = append(l.identity(d.NPU, d.Name), " "+health,
		l.readings(power, whole(d.Readings, 1, "", "temperature_celsius", "chip"), pages))
	lower = append(l.identity(d.Chip, number), " "+cmp.Or(d.BusID, notPrinted),
		l.readings(whole(d.Readings, 100, "", "utilization_ratio"), usage(d.Readings, mib, "memory_used_bytes", "memory_total_bytes", "ddr"), hbm))
	return upper, lower
}

// usage prints "used / total" with the tool's five digits, so that a full card
// has no blank before the slash; a memory that is not there prints as 0 / 0.
func usage(rs model.Readings, scale float64, used, total model.Metric, labels ...string) string {
	part, all := whole(rs, scale, "", used, labels...), whole(rs, scale, "", total, labels...)
	if part == notPrinted && all == notPrinted {
		part, all = "0", "0"
	}
	return fmt.Sprintf("%-5s/ %s", part, all)
}

func (l AscendLayout) processes(x *box, r model.Report) {
	widths := []int{l.inner() - 70, 15, 26, 26}
	head := []string{" NPU     Chip", " Process id", " Process name", " Process memory(MB)"}
	if l.noChip {
		head[0] = " NPU ID"
	}
	if l.container {
		widths = []int{25, 15, 26, 26, 25}
		head = append(head, " Process id in container")
	}
	x.begin(widths...)
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
		x.line("\t%-31s%-31s%-31d%s", d.NPU, cmp.Or(d.Chip, "0"), i, "Ascend "+d.Name)
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
	x := &box{}
	matrix{
		cardPrefix: prefix, width: 11,
		legend: "\n  X    = the card itself\n  HCCS = over HCCS\n  SIO  = between two dies\n  SYS  = between NUMA nodes\n  NA   = not known\n",
	}.print(x, r)
	return x.flush(w)
}
