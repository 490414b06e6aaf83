package enflame

import (
	"bytes"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// queryRows read the answer to -q. A word that other sections have too stands with its own: from 1.7 on, windows of PCIe
// have a total size. Before 1.4 memory in use has another word, and holds the reserved part. Error Records and Error
// Details have no row, since they do not say what they count.
var queryRows = smitext.Rows{
	{Word: "gcu usage", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "cur power", Metric: "power_watts", Unit: smitext.Watts},
	{Word: "power capa", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "gcu temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: "memory temp", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius},
	{Word: "board temp", Metric: "temperature_celsius", Labels: []string{"board"}, Unit: smitext.Celsius},
	{Word: "device mem info > total size", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "device mem info > mem size", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "device mem info > used size", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
	{Word: "device mem info > mem usage", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
	{Word: "mem clk", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
	{Word: "vdd gcu", Metric: "rail_volts", Labels: []string{"core"}, Unit: smitext.Volts},
	{Word: "vdd soc", Metric: "rail_volts", Labels: []string{"soc"}, Unit: smitext.Volts},
	{Word: "vdd memqc", Metric: "rail_volts", Labels: []string{"memory"}, Unit: smitext.Volts},
	{Word: "encoder usage", Metric: "engine_utilization_ratio", Labels: []string{"encoder"}, Unit: smitext.Percent},
	{Word: "decoder usage", Metric: "engine_utilization_ratio", Labels: []string{"decoder"}, Unit: smitext.Percent},
	{Word: "ecc mode > current", Metric: "ecc_enabled", Labels: []string{""}, Words: enabled},
	{Word: "mem ecc", Metric: "ecc_enabled", Labels: []string{""}, Words: enabled},
	{Word: "cur link speed", Metric: "pcie_link_transfers_per_second", Words: smitext.PCIeGenerations()},
	{Word: "max link speed", Metric: "pcie_link_transfers_per_second_max", Words: smitext.PCIeGenerations()},
	{Word: "cur link width", Metric: "pcie_link_width", Unit: smitext.Lanes, NotZero: true},
	{Word: "max link width", Metric: "pcie_link_width_max", Unit: smitext.Lanes, NotZero: true},
}

var enabled = map[string]float64{"enable": 1, "disable": 0}

// readQuery reads the sections of each card.
func readQuery(r *model.Report, out []byte) {
	isTorn := !bytes.HasSuffix(out, []byte("\n"))
	blocks := smitext.ReadKeyValues(append(bytes.Clone(out), '\n'))
	blocks = slices.DeleteFunc(blocks, func(b smitext.Block) bool { return b.Card == "" })
	if len(blocks) == 0 {
		return
	}
	last := len(blocks) - 1
	if isTorn {
		r.Warn("the last line has no end")
		blocks[last].Entries[len(blocks[last].Entries)-1].Value = ""
	}
	if isCut(blocks, isTorn) {
		r.Warn("card %s: its end is cut off", blocks[last].Card)
		blocks = blocks[:last]
	}
	for i := range blocks {
		queryRows.AddCard(r, queriedCard(&blocks[i]), &blocks[i])
	}
}

// queriedCard returns who a card is, and its health: True is the one word that has been seen.
func queriedCard(b *smitext.Block) model.Device {
	text := func(word string) string { return smitext.Label(b.Value(word)) }
	d := model.Device{ID: b.Card, Name: text("dev name"), UUID: text("dev uuid")}
	if bus := text("domain") + ":" + text("bus") + ":" + text("dev") + "." + text("func"); smitext.PCIAddress(bus) {
		d.BusID = bus
	}
	if state := text("health"); state != "" {
		d.Health = &model.Health{OK: strings.EqualFold(state, "true"), State: state}
	}
	return d
}

// isCut reports whether the text ends inside the last card, which then has another last word than each card before it.
// Of a single card a torn last line is the only sign.
func isCut(blocks []smitext.Block, isTorn bool) bool {
	lastWord := func(b smitext.Block) string { return b.Entries[len(b.Entries)-1].Word }
	last := len(blocks) - 1
	if last == 0 {
		return isTorn
	}
	if state := blocks[last].Value("health"); state != "" && !strings.EqualFold(state, "true") {
		return false // a sick card may print less than the others
	}
	return !slices.ContainsFunc(blocks[:last], func(b smitext.Block) bool { return lastWord(b) == lastWord(blocks[last]) })
}
