package hygon

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

var memoryRows = []smitext.KeyRow{
	smitext.Key("vram total memory", "memory_total_bytes", smitext.Bytes, "vram").NotZero(),
	smitext.Key("vram total used memory", "memory_used_bytes", smitext.Bytes, "vram").Within("memory_total_bytes"),
}

var tempRows = []smitext.KeyRow{
	smitext.Key("temperature (sensor edge)", "temperature_celsius", smitext.Celsius, "edge"),
	smitext.Key("temperature (sensor junction)", "temperature_celsius", smitext.Celsius, "junction"),
	smitext.Key("temperature (sensor mem)", "temperature_celsius", smitext.Celsius, "hbm"),
	smitext.Key("temperature (sensor core)", "temperature_celsius", smitext.Celsius, "core"),
}

var clockRows = []smitext.KeyRow{
	smitext.Key("sclk clock", "clock_hertz", smitext.Hertz, "core").NotZero(),
	smitext.Key("mclk clock", "clock_hertz", smitext.Hertz, "memory").NotZero(),
	smitext.Key("pcie speed", "pcie_link_transfers_per_second", smitext.Transfers).NotZero(),
	smitext.Key("pcie width", "pcie_link_width", smitext.Lanes).NotZero(),
}

// eccRows read the RAS blocks by their names in the driver, which hy-smi has of rocm-smi.
func eccRows() []smitext.KeyRow {
	var all []smitext.KeyRow
	for _, block := range []string{
		"umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "sem", "mp0", "mp1", "fuse",
	} {
		all = append(all,
			smitext.Key(block+" ue", "ecc_errors_total", smitext.Count, block, "uncorrectable").NoUnderflow(),
			smitext.Key(block+" ce", "ecc_errors_total", smitext.Count, block, "correctable").NoUnderflow())
	}
	return all
}

// cardLine is a line about one card: HCU[0], tabs, a colon, and a fact.
var cardLine = regexp.MustCompile(`^\s*(?:[DH]CU|GPU)\[(\d+)\]\s*:\s*(.*?)\s*$`)

// rewrite is a kind of line that has more than one value, or has no colon, and the "key : value" lines in its place.
type rewrite struct {
	line *regexp.Regexp
	as   []string
}

var rewrites = []rewrite{
	{regexp.MustCompile(`^Bus Id\s*:\s*(\S+)\s*:\s*(\S.*)$`), []string{"PCI Bus: $1", "Health: $2"}},
	{regexp.MustCompile(`^([sm]clk) clock level:?\s+\d+\s+\((\w+)\)$`), []string{"$1 clock: $2"}},
	{regexp.MustCompile(`^pcie clock level:?\s+\d+\s+\(([^,()]+),\s*(x\d+)\b`), []string{"pcie speed: $1", "pcie width: $2"}},
	{regexp.MustCompile(`^Block (\w+) is:\s+\w+\s+\(ue:\s*(\d+),\s*ce:\s*(\d+)\)$`), []string{"$1 ue: $2", "$1 ce: $3"}},
	{regexp.MustCompile(`^\(Topology\) Numa Node:?\s+(-?\d+)$`), []string{"Numa Node: $1"}},
}

// readBlocks reads the lines about cards as "key : value" text. A last line without its end may be cut and is left out.
func readBlocks(out []byte) ([]smitext.Block, error) {
	if err := checkBanner(out); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for line := range strings.Lines(string(out)) {
		m := cardLine.FindStringSubmatch(line)
		if m == nil || !strings.HasSuffix(line, "\n") {
			continue
		}
		for _, entry := range entriesOf(m[2]) {
			fmt.Fprintf(&text, "[device %s] %s\n", m[1], entry)
		}
	}
	return smitext.ReadKeyValues(text.Bytes()), nil
}

func entriesOf(line string) []string {
	for _, r := range rewrites {
		m := r.line.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		var all []string
		for _, as := range r.as {
			all = append(all, string(r.line.ExpandString(nil, as, line, m)))
		}
		return all
	}
	return []string{line}
}
