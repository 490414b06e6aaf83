package fakesmi

import (
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

func (l MetaXLayout) tool() string {
	if l.OEM {
		return "ht-smi"
	}
	return "mx-smi"
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
	brand := "MetaX"
	if l.OEM {
		brand = "Mars"
	}
	x.line("%s  version: %s\n", l.tool(), l.Version)
	x.line("=================== %s System Management Interface Log ===================", brand)
	x.line("Timestamp                                         : %s\n", at.Format(time.ANSIC))
}

func (l MetaXLayout) titles(x *box, t *model.Tool) {
	x.widths = []int{81}
	x.rule("+", "+", "+", '-')
	if t == nil {
		return
	}
	runtime := "MACA"
	if l.OEM {
		runtime = "HPCC"
	}
	x.row(fmt.Sprintf(" %-35s Kernel Mode Driver Version: %s", strings.ToUpper(l.tool())+" "+t.Version, t.DriverVersion))
	x.row(fmt.Sprintf(" %-35s BIOS Version: %s", runtime+" Version: "+text(t.RuntimeVersion, "unknown"), t.FirmwareVersion))
}

func (l MetaXLayout) cards(x *box, r model.Report) {
	sliced := map[string]bool{}
	for _, s := range r.Slices {
		sliced[s.Device] = true
	}
	if l.board {
		x.widths = []int{18, 17, 21, 22}
	} else {
		x.widths = []int{36, 21, 22}
	}
	x.rule("|", "+", l.ruleEnd(), '-')
	for _, row := range l.header() {
		x.row(row...)
	}
	x.rule("|", "+", "|", '=')
	for i := range r.Devices {
		first, second := l.rows(&r.Devices[i], sliced[r.Devices[i].ID])
		x.row(first...)
		x.row(second...)
		x.rule("+", "+", "+", '-')
	}
}

func (l MetaXLayout) ruleEnd() string {
	if l.board {
		return "|"
	}
	return "+"
}

func (l MetaXLayout) header() [2][]string {
	switch {
	case l.board:
		return [2][]string{
			{ends(18, "Board", "Name"), ends(17, "GPU", "Persist-M"), " Bus-id", ends(22, "GPU-Util", "sGPU-M")},
			{" Pwr:Usage/Cap", ends(17, "Temp", "Perf"), " Memory-Usage", " GPU-State"},
		}
	case l.perf:
		return [2][]string{
			{ends(36, "GPU     NAME", "Persistence-M"), " Bus-id", ends(22, "GPU-Util", "sGPU-M")},
			{ends(36, "Temp    Pwr:Usage/Cap", "Perf"), " Memory-Usage", " GPU-State"},
		}
	}
	power, state := " Temp        Power", ""
	if l.cap {
		power = " Temp        Pwr:Usage/Cap"
	}
	if l.state {
		state = " GPU-State"
	}
	return [2][]string{{" GPU         NAME", " Bus-id", " GPU-Util"}, {power, " Memory-Usage", state}}
}

func (l MetaXLayout) rows(d *model.Device, sliced bool) (first, second []string) {
	rs := d.Readings
	util := whole(rs, 100, "%", "utilization_ratio")
	temp := whole(rs, 1, "C", "temperature_celsius", "chip")
	power := whole(rs, 1, "W", "power_watts")
	if l.cap {
		power += " / " + whole(rs, 1, "W", "power_limit_watts")
	}
	perf := notPrinted
	if _, ok := rs.Get("performance_level"); ok {
		perf = "P" + whole(rs, 1, "", "performance_level")
	}
	memory := " " + whole(rs, mib, "", "memory_used_bytes", "vram") + "/" + whole(rs, mib, "", "memory_total_bytes", "vram") + " MiB"
	bus := " " + text(d.BusID, notPrinted)
	state := ""
	if l.state {
		state = " " + stateOf(d.Health)
	}
	mode := l.sliceMode(sliced)
	switch {
	case l.board:
		return []string{ends(18, d.Board, d.Name), ends(17, d.ID, "Off"), bus, ends(22, util, mode)},
			[]string{" " + power, ends(17, temp, perf), memory, state}
	case l.perf:
		return []string{ends(36, fmt.Sprintf("%-8s%s", d.ID, d.Name), "Off"), bus, ends(22, util, mode)},
			[]string{ends(36, fmt.Sprintf("%-8s%s", temp, power), perf), memory, state}
	}
	return []string{fmt.Sprintf(" %-12s%s", d.ID, d.Name), bus, " " + util},
		[]string{fmt.Sprintf(" %-12s%s", temp, power), memory, state}
}

// sliceMode is the cell sGPU-M, whose words changed with 2.2.9.
func (l MetaXLayout) sliceMode(sliced bool) string {
	switch {
	case l.board && sliced:
		return "Enabled"
	case l.board:
		return "Disabled"
	case sliced:
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
	x.widths = []int{81}
	x.rule("+", "+", "+", '-')
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
	x.widths = []int{81}
	x.rule("+", "+", "+", '-')
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
	x.line("%s  version: %s", l.tool(), l.Version)
	for _, d := range r.Devices {
		state := stateOf(d.Health)
		if d.UUID != "" {
			state = stateOf(d.Health) + " (UUID: " + d.UUID + ")"
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
	return matrix{
		header: x.b.String(), cardPrefix: "GPU", nics: nics, width: 8, node: true,
		legend: "  X    = the card itself\n  MX   = over MetaXLink\n  NODE = inside one NUMA node\n  SYS  = between NUMA nodes\n  NA   = not known\n",
	}.print(w, r)
}
