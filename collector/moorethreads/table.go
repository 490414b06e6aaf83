package moorethreads

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// cardRows and processRows have one line for each header word that is a metric, or holds blanks, or has values that do.
// Perf is none: nothing but P0 was ever printed, of idle and of busy cards.
var (
	cardRows = smitext.Rows{
		{Word: "name", Form: smitext.FormPhrase},
		{Word: "device type", Form: smitext.FormPhrase},
		{Word: "mpc capable"},
		{Word: "%gpu", Metric: "utilization_ratio", Unit: smitext.Percent},
		// Without an IOMMU more is in use than there is.
		{Word: "mem", Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, MayExceed: true, Labels: []string{"vram"}, Unit: smitext.Bytes},
		{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
		{Word: "pcie lane width", Metric: "pcie_link_width", Total: "pcie_link_width_max", Form: smitext.FormUsage, Unit: smitext.Lanes},
	}
	processRows = smitext.Rows{
		{Word: smitext.ProcessName, Form: smitext.FormPhrase},
		{Word: "gpu memory", As: smitext.ProcessMemory},
	}
)

var (
	title         = regexp.MustCompile(`^([^\s:|]+):\s*(\S+)\s+Driver Version:\s*(\S+)`)
	cardHeader    = regexp.MustCompile(`^ID\s+Name\s*\|`)
	secondHeader  = regexp.MustCompile(`^Device Type\b.*\|`)
	processHeader = regexp.MustCompile(`^ID\s+PID\b`)
)

// tableParser reads the table of cards, of which each has two lines that are read, then that of processes:
//
//	0    MTT S80        |00000000:04:00.0    |0%    2MiB(16384MiB)
//	     Physical       |4x(16x)             |49C   YES
//	                                         |      N/A
//
// The third line, of the ECC mode, may be missing.
type tableParser struct {
	report        model.Report
	headers       [2]smitext.Header // of a card's lines, in the table of cards
	processHeader smitext.Header    // in the table of processes
	first         *smitext.Block    // waits for its second line
	isEnded       bool              // the table of cards is there with its last line
}

// parseTable reads the output of mthreads-gmi without arguments. It fails with failure.Parse when the output is another
// program's or holds no whole card, and with failure.NoDevice when the table is whole and empty. A last line without its
// end may be cut and is left out.
func parseTable(out []byte) (model.Report, error) {
	var p tableParser
	for line := range smitext.Lines(out[:bytes.LastIndexByte(out, '\n')+1]) {
		if m := title.FindStringSubmatch(line.Text); m != nil {
			if m[1] != tool {
				return model.Report{}, failure.Errorf(failure.Parse, "the title is that of %.40q, not of %s", m[1], tool)
			}
			p.report.Tool = &model.Tool{Name: tool, Version: smitext.Label(m[2]), DriverVersion: smitext.Label(m[3])}
			continue
		}
		p.readLine(line.Text)
	}
	isCut := p.headers[0] != nil || p.processHeader != nil
	p.endCard()
	r, err := smitext.CheckCards(p.report, p.isEnded)
	if err == nil && isCut {
		r.Warn("the last table has no end line: cards or processes may be missing")
	}
	return r, err
}

func (p *tableParser) readLine(text string) {
	cells := strings.Split(text, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	number, _, _ := strings.Cut(text, " ")
	isEntry := smitext.IsIndex(number)
	switch {
	case text != "" && strings.Trim(text, "-") == "":
		p.endCard()
		p.isEnded = p.isEnded || p.headers[1] != nil
		p.headers, p.processHeader = [2]smitext.Header{}, nil
	case cardHeader.MatchString(text):
		p.headers[0] = cardRows.Header(cells)
	case secondHeader.MatchString(text):
		p.headers[1] = cardRows.Header(cells)
	case processHeader.MatchString(text):
		p.processHeader = processRows.Header([]string{text})
	case isEntry && p.processHeader != nil:
		row := p.processHeader.Block([]string{text})
		row.AddProcess(&p.report, row.Value("id"))
	case isEntry && p.headers[0] != nil:
		p.endCard()
		first := p.headers[0].Block(cells)
		p.first = &first
	case p.first != nil && len(cells) >= len(p.headers[1]):
		p.readCard(p.headers[1].Block(cells))
	case p.headers[0] != nil && len(cells) == len(p.headers[0]):
		p.report.Warn("a line that is no card's: %.80q", text)
	}
}

// endCard leaves out a card whose second line did not come.
func (p *tableParser) endCard() {
	if p.first != nil {
		p.report.Warn("cannot read the card %.80q: its record is not whole", p.first.Text)
		p.first = nil
	}
}

// readCard reads the card of a first line and this second one.
func (p *tableParser) readCard(second smitext.Block) {
	b := smitext.Block{Entries: slices.Concat(p.first.Entries, second.Entries)}
	d := model.Device{ID: b.Value("id"), Name: smitext.Label(b.Value("name"))}
	if d.ID == "" || len(second.Entries) == 0 {
		return // endCard warns of it
	}
	if bus := b.Value("pcie"); smitext.PCIAddress(bus) {
		d.BusID = bus
	}
	cardRows.AddCard(&p.report, d, &b)
	p.first = nil
}
