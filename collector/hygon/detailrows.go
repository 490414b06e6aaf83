package hygon

import (
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

var memoryRows = smitext.Rows{
	{Word: "vram total memory", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "vram total used memory", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
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

// cardLine is a line about one card: HCU[0], tabs, a colon, and a fact.
var cardLine = regexp.MustCompile(`^\s*(?:[DH]CU|GPU)\[(\d+)\]\s*:\s*(.*?)\s*$`)

// facts are the kinds of fact: what begins the words of its values, and what ends each.
var facts = []struct {
	text *regexp.Regexp
	ends []string
}{
	{regexp.MustCompile(`^(Bus Id)\s*:\s*(\S+)\s*:\s*(\S.*)$`), []string{"", " health"}},
	{regexp.MustCompile(`^([sm]clk clock) level:?\s+\d+\s+\((\w+)\)$`), []string{""}},
	{regexp.MustCompile(`^(pcie) clock level:?\s+\d+\s+\(([^,()]+),\s*(x\d+)\b`), []string{" speed", " width"}},
	{regexp.MustCompile(`^Block (\w+) is:\s+\w+\s+\(ue:\s*(\d+),\s*ce:\s*(\d+)\)$`), []string{" ue", " ce"}},
	{regexp.MustCompile(`^\(Topology\) (Numa Node):?\s+(-?\d+)$`), []string{""}},
	{regexp.MustCompile(`^([^:]+?)\s*:\s*(.*)$`), []string{""}},
}

// readBlocks reads the lines about cards, a block for each card. A last line without its end may be cut and is left out.
func readBlocks(out []byte) ([]smitext.Block, error) {
	if err := checkBanner(out); err != nil {
		return nil, err
	}
	var blocks []smitext.Block
	known := map[string]int{}
	for line := range strings.Lines(string(out)) {
		m := cardLine.FindStringSubmatch(line)
		if m == nil || !strings.HasSuffix(line, "\n") {
			continue
		}
		if _, ok := known[m[1]]; !ok {
			known[m[1]] = len(blocks)
			blocks = append(blocks, smitext.Block{Card: m[1]})
		}
		b := &blocks[known[m[1]]]
		for _, f := range facts {
			if fact := f.text.FindStringSubmatch(m[2]); fact != nil {
				for i, end := range f.ends {
					b.Entries = append(b.Entries, smitext.NewEntry(fact[1]+end, fact[i+2]))
				}
				break
			}
		}
	}
	return blocks, nil
}
