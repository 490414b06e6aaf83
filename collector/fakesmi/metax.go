package fakesmi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// MetaXLayout is one generation of mx-smi's default table.
type MetaXLayout struct {
	Version string // the oldest tool version met with it
	OEM     bool   // ht-smi: the same program under another brand
	cap     bool   // power has a cap
	state   bool   // GPU-State is printed
	perf    bool   // Perf, Persistence-M and sGPU-M are printed
	board   bool   // four cells, Board, power before temperature
}

// MetaXLayouts returns every layout, oldest first.
func MetaXLayouts() []MetaXLayout {
	return []MetaXLayout{
		{Version: "2.1.6"},
		{Version: "2.1.12", cap: true},
		{Version: "2.2.4", cap: true, state: true},
		{Version: "2.2.8", cap: true, state: true, perf: true},
		{Version: "2.2.9", cap: true, state: true, perf: true, board: true},
		{Version: "2.2.9", OEM: true, cap: true, state: true, perf: true, board: true},
	}
}

// Name is how a layout is chosen: its version, with "ht-" before an OEM one's.
func (l MetaXLayout) Name() string {
	if l.OEM {
		return "ht-" + l.Version
	}
	return l.Version
}

// MetaXLayoutNamed finds a layout by name.
func MetaXLayoutNamed(name string) (MetaXLayout, error) {
	return layoutNamed("mx-smi", MetaXLayouts(), name, MetaXLayout.Name)
}

// Reduce returns the part of a model that the layout can show.
func (l MetaXLayout) Reduce(r model.Report) model.Report {
	shown := []model.Metric{"utilization_ratio", "power_watts", "temperature_celsius", "memory_used_bytes", "memory_total_bytes"}
	if l.cap {
		shown = append(shown, "power_limit_watts")
	}
	if l.perf {
		shown = append(shown, "performance_level")
	} else {
		r.Slices = nil
	}
	r.Devices = slices.Clone(r.Devices)
	for i := range r.Devices {
		d := &r.Devices[i]
		d.UUID, d.NPU, d.Chip, d.CPUAffinity, d.NUMANode = "", "", "", "", nil
		d.Readings = keep(d.Readings, shown...)
		if !l.state {
			d.Health = nil
		}
		if !l.board {
			d.Board = ""
		}
	}
	return r
}

// names are those of the tool, the brand and the runtime.
func (l MetaXLayout) names() (tool, brand, runtime string) {
	if l.OEM {
		return "ht-smi", "Mars", "HPCC"
	}
	return "mx-smi", "MetaX", "MACA"
}

// Print writes what the tool prints without arguments. At is the local time in
// the Timestamp line.
func (l MetaXLayout) Print(w io.Writer, r model.Report, at time.Time) error {
	x := &box{}
	l.preamble(x, at)
	x.line("Attached GPUs                                     : %d", max(r.Announced, len(r.Devices)))
	l.titles(x, r.Tool)
	l.cards(x, r)
	if len(r.Slices) > 0 {
		printSlices(x, r.Slices)
	}
	printProcesses(x, r.Processes)
	x.line("\nEnd of Log")
	return x.flush(w)
}

func (l MetaXLayout) preamble(x *box, at time.Time) {
	tool, brand, _ := l.names()
	x.line("%s  version: %s\n", tool, l.Version)
	x.line("=================== %s System Management Interface Log ===================", brand)
	x.line("Timestamp                                         : %s\n", at.Format(time.ANSIC))
}

func (l MetaXLayout) titles(x *box, t *model.Tool) {
	x.begin(81)
	if t == nil {
		return
	}
	tool, _, runtime := l.names()
	x.row(fmt.Sprintf(" %-35s Kernel Mode Driver Version: %s", strings.ToUpper(tool)+" "+t.Version, t.DriverVersion))
	x.row(fmt.Sprintf(" %-35s BIOS Version: %s", runtime+" Version: "+cmp.Or(t.RuntimeVersion, "unknown"), t.FirmwareVersion))
}

func (l MetaXLayout) cards(x *box, r model.Report) {
	end := "+"
	x.widths = []int{36, 21, 22}
	if l.board {
		end = "|"
		x.widths = []int{18, 17, 21, 22}
	}
	x.rule("|", "+", end, '-')
	words := record{
		board: "Board", name: "NAME", gpu: "GPU", persistence: "Persistence-M", bus: "Bus-id", util: "GPU-Util", mode: "sGPU-M",
		power: "Power", temp: "Temp", perf: "Perf", memory: "Memory-Usage", state: "GPU-State",
	}
	if l.cap {
		words.power = "Pwr:Usage/Cap"
	}
	if l.board {
		words.name, words.persistence = "Name", "Persist-M"
	}
	l.rows(x, words)
	x.rule("|", "+", "|", '=')
	for i := range r.Devices {
		d := &r.Devices[i]
		isSliced := slices.ContainsFunc(r.Slices, func(s model.Slice) bool { return s.Device == d.ID })
		l.rows(x, l.record(d, isSliced))
		x.rule("+", "+", "+", '-')
	}
}

// record is the texts of a card's two rows, or of the header's.
type record struct {
	board, name, gpu, persistence, bus, util, mode string
	power, temp, perf, memory, state               string
}

func (l MetaXLayout) record(d *model.Device, isSliced bool) record {
	rs := d.Readings
	c := record{
		board: d.Board, name: d.Name, gpu: d.ID, persistence: "Off", bus: cmp.Or(d.BusID, notPrinted), mode: l.sliceMode(isSliced),
		util:   whole(rs, 100, "%", "utilization_ratio"),
		power:  whole(rs, 1, "W", "power_watts"),
		temp:   whole(rs, 1, "C", "temperature_celsius", "chip"),
		perf:   notPrinted,
		memory: whole(rs, mib, "", "memory_used_bytes", "vram") + "/" + whole(rs, mib, "", "memory_total_bytes", "vram") + " MiB",
		state:  stateOf(d.Health),
	}
	if l.cap {
		c.power += " / " + whole(rs, 1, "W", "power_limit_watts")
	}
	if _, ok := rs.Get("performance_level"); ok {
		c.perf = "P" + whole(rs, 1, "", "performance_level")
	}
	return c
}

func (l MetaXLayout) rows(x *box, c record) {
	bus, memory, state := " "+c.bus, " "+c.memory, " "+c.state
	if !l.state {
		state = ""
	}
	switch {
	case l.board:
		x.row(ends(18, c.board, c.name), ends(17, c.gpu, c.persistence), bus, ends(22, c.util, c.mode))
		x.row(" "+c.power, ends(17, c.temp, c.perf), memory, state)
	case l.perf:
		x.row(ends(36, fmt.Sprintf("%-8s%s", c.gpu, c.name), c.persistence), bus, ends(22, c.util, c.mode))
		x.row(ends(36, fmt.Sprintf("%-8s%s", c.temp, c.power), c.perf), memory, state)
	default:
		x.row(fmt.Sprintf(" %-12s%s", c.gpu, c.name), bus, " "+c.util)
		x.row(fmt.Sprintf(" %-12s%s", c.temp, c.power), memory, state)
	}
}

// sliceMode is the cell sGPU-M, whose words changed with 2.2.9.
func (l MetaXLayout) sliceMode(isSliced bool) string {
	switch {
	case l.board && isSliced:
		return "Enabled"
	case l.board:
		return "Disabled"
	case isSliced:
		return "*sGPU"
	}
	return "Native"
}

func stateOf(h *model.Health) string {
	switch {
	case h == nil:
		return notPrinted
	case h.Reason != "":
		return h.State + "(" + h.Reason + ")"
	}
	return h.State
}

func printSlices(x *box, slices []model.Slice) {
	x.line("")
	x.begin(81)
	x.row(" Sliced GPU")
	x.widths = []int{36, 21, 22}
	x.rule("|", "+", "|", '-')
	x.row(" Minor    GPU    sGPU-Id    Compute", " Vram Quota", " sGPU-Util")
	x.rule("|", "+", "|", '=')
	for i, s := range slices {
		x.row(fmt.Sprintf(" %03d      %-7s%-11s%s", 22+i, s.Device, s.ID, whole(s.Readings, 100, "%", "slice_compute_quota_ratio")),
			" "+whole(s.Readings, mib, "", "slice_memory_used_bytes")+"/"+whole(s.Readings, mib, "", "slice_memory_quota_bytes")+" MiB",
			" "+whole(s.Readings, 100, "%", "slice_utilization_ratio"))
	}
	x.rule("+", "+", "+", '-')
}

func printProcesses(x *box, processes []model.Process) {
	x.line("")
	x.begin(81)
	x.row(" Process:")
	x.row("  GPU                    PID         Process Name                 GPU Memory")
	x.row("                                                                  Usage(MiB)")
	x.rule("|", "=", "|", '=')
	for _, p := range processes {
		x.row(fmt.Sprintf("  %-19s%7s         %-29s%.0f", p.Device, p.PID, p.Name, p.UsedBytes*mib))
	}
	if len(processes) == 0 {
		x.row("  no process found")
	}
	x.rule("+", "+", "+", '-')
}

// PrintList writes what the tool prints for -L.
func (l MetaXLayout) PrintList(w io.Writer, r model.Report) error {
	x := &box{}
	tool, _, _ := l.names()
	x.line("%s  version: %s", tool, l.Version)
	for _, d := range r.Devices {
		state := stateOf(d.Health)
		if d.UUID != "" {
			state += " (UUID: " + d.UUID + ")"
		}
		x.line("GPU#%-5s%-12s%-15s%s", d.ID, d.Name, d.BusID, state)
	}
	x.line("")
	return x.flush(w)
}

// PrintTopology writes what the tool prints for topo -m or, with NICs, topo -n.
func (l MetaXLayout) PrintTopology(w io.Writer, r model.Report, nics []string, at time.Time) error {
	x := &box{}
	l.preamble(x, at)
	x.line("Attached GPUs                                     : %d", len(r.Devices))
	x.line("Device link type matrix")
	matrix{
		cardPrefix: "GPU", nics: nics, width: 8, node: true,
		legend: "  X    = the card itself\n  MX   = over MetaXLink\n  NODE = inside one NUMA node\n  SYS  = between NUMA nodes\n  NA   = not known\n",
	}.print(x, r)
	return x.flush(w)
}
