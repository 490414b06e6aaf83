package hygon

import (
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

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

// readBlocks reads the lines about cards. A last line without its end may be cut and is left out.
func readBlocks(out []byte) ([]smitext.Block, error) {
	if err := checkBanner(out); err != nil {
		return nil, err
	}
	var blocks []smitext.Block
	for line := range strings.Lines(string(out)) {
		m := cardLine.FindStringSubmatch(line)
		if m == nil || !strings.HasSuffix(line, "\n") {
			continue
		}
		if last := len(blocks) - 1; last < 0 || blocks[last].Card != m[1] {
			blocks = append(blocks, smitext.Block{Card: m[1]})
		}
		b := &blocks[len(blocks)-1]
		b.Entries = append(b.Entries, entries(m[2])...)
	}
	return blocks, nil
}

// entries are the values of a fact, none where it is of no kind.
func entries(fact string) (all []smitext.Entry) {
	for _, f := range facts {
		if m := f.text.FindStringSubmatch(fact); m != nil {
			for i, end := range f.ends {
				all = append(all, smitext.NewEntry(m[1]+end, m[i+2]))
			}
			break
		}
	}
	return all
}
