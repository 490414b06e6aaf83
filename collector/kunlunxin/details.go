package kunlunxin

import (
	"regexp"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// commands are those beside the table, each of which answers for all cards.
func commands() []model.Command {
	return []model.Command{
		// Cards that have a clock are of -m already.
		{Name: "machine", EveryPoll: true, Args: model.SameArgs([]string{"-m"}), When: func(d *model.Device) bool { return !d.Readings.Has("clock_hertz", "core") }, Parse: parseMachine},
		{Name: "list", Inventory: true, Args: model.SameArgs([]string{"-L"}), Parse: model.IgnoreCards(parseList)},
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"topo", "-m"}), Parse: model.IgnoreCards(parseTopology)},
		{Name: "query", Lean: true, Every: time.Minute, Args: model.SameArgs([]string{"-q"}), Parse: parseQuery},
	}
}

// queryRows read what -q has beyond the table and -m, and two values that they may lack.
var queryRows = smitext.Rows{
	{Word: "power readings > enforced power limit", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "clocks > cluster", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz, NotZero: true},
	{Word: "pci > xpu link info > pcie generation > current", Metric: "pcie_link_transfers_per_second", Words: smitext.PCIeGenerations()},
	{Word: "pci > xpu link info > pcie generation > max", Metric: "pcie_link_transfers_per_second_max", Words: smitext.PCIeGenerations()},
	{Word: "pci > xpu link info > link width > current", Metric: "pcie_link_width", Unit: smitext.Lanes, NotZero: true},
	{Word: "pci > xpu link info > link width > max", Metric: "pcie_link_width_max", Unit: smitext.Lanes, NotZero: true},
	{Word: "ecc mode > current", Metric: "ecc_enabled", Labels: []string{""}, Words: map[string]float64{"enabled": 1, "disabled": 0}},
	{Word: "ecc errors > volatile > dram correctable", Metric: "ecc_errors_total", Labels: []string{"dram", "correctable"}},
	{Word: "ecc errors > volatile > dram uncorrectable", Metric: "ecc_errors_total", Labels: []string{"dram", "uncorrectable"}},
	{Word: "ecc errors > aggregate > dram correctable", Metric: "ecc_lifetime_errors_total", Labels: []string{"dram", "correctable"}},
	{Word: "ecc errors > aggregate > dram uncorrectable", Metric: "ecc_lifetime_errors_total", Labels: []string{"dram", "uncorrectable"}},
}

// parseQuery reads the output of -q. Where it cannot ask for a value it says so in words.
func parseQuery(out []byte, cards []model.Device) (model.Report, error) {
	blocks := smitext.ReadKeyValues(out)
	for _, b := range blocks {
		for i, e := range b.Entries {
			if word := strings.ToLower(e.Value); word == "none" || word == "invalid argument" {
				b.Entries[i].Value = ""
			}
		}
	}
	return queryRows.ReadCards(blocks, smitext.FindCard, cards)
}

var listedXPU = regexp.MustCompile(`^XPU (\d+): (?:(.*\S)\s+(GPU-[[:xdigit:]-]+)|([[:xdigit:]]+:[[:xdigit:]:.]+))$`)

// parseList reads the output of -L, which older tools print without names:
//
//	XPU 0: P800 OAM  GPU-…
//	XPU 0: 00000000:21:00.0
func parseList(out []byte) (model.Report, error) {
	var r model.Report
	known := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		m := listedXPU.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case strings.TrimSpace(line) == "":
		case m == nil || known[m[1]] || !strings.HasSuffix(line, "\n"):
			r.Warn("cannot read a line of the list: %.120q", strings.TrimSpace(line))
		default:
			known[m[1]] = true
			r.Listed = append(r.Listed, model.Device{ID: m[1], Name: m[2], UUID: m[3], BusID: m[4]})
		}
	}
	if r.Announced = len(r.Listed); r.Announced == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return r, nil
}

// parseTopology reads the output of topo -m. Where it has no legend the NICs have their own names.
var parseTopology = smitext.TopologyParser(`XPU\d+`, `NIC\d+|mlx\d+_\w+`)
