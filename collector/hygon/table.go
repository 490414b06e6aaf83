package hygon

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// tableRows have one line for each header word that is a metric. VRAM% is none: it is a rounded share of bytes that
// another command prints.
var tableRows = smitext.Rows{
	{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: "avgpwr", Metric: "power_watts", Unit: smitext.Watts},
	{Word: "pwrcap", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "dcu%", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "hcu%", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "gpu%", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "dec%", Metric: "engine_utilization_ratio", Labels: []string{"decode"}, Unit: smitext.Percent},
	{Word: "enc%", Metric: "engine_utilization_ratio", Labels: []string{"encode"}, Unit: smitext.Percent},
	{Word: "sclk", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "mclk", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
}

var (
	tableHeader = regexp.MustCompile(`^(?:[DH]CU|GPU)\s+Temp\b`)
	// banner is what stands between the rules of the first line, before the words that all builds have.
	banner = regexp.MustCompile(`(?m)^[=\s]*(.*?)\s*System Management Interface`)
)

const endLine = "End of SMI Log"

// checkBanner returns an error for the output of another tool of this family.
func checkBanner(out []byte) error {
	m := banner.FindSubmatch(out)
	if m == nil || len(m[1]) == 0 {
		return nil
	}
	return failure.Errorf(failure.Parse, "the banner is that of %.40q, not of hy-smi, which has no name in it", m[1])
}

// tableParser reads the rows below a header.
type tableParser struct {
	report model.Report
	header smitext.Header
	cards  map[string]bool // cards read
}

// ParseTable reads the output of hy-smi without arguments. It fails with failure.Parse when the output is another
// program's or holds no whole card, and with failure.NoDevice when the table is empty.
func ParseTable(out []byte) (model.Report, error) {
	if err := checkBanner(out); err != nil {
		return model.Report{}, err
	}
	p := &tableParser{cards: map[string]bool{}}
	for line := range smitext.Lines(out) {
		p.readLine(line.Text)
	}
	isCut := banner.Match(out) && !bytes.Contains(out, []byte(endLine))
	switch {
	case len(p.report.Devices) == 0 && p.header != nil && p.report.Warnings.Count == 0 && !isCut:
		return model.Report{}, failure.Errorf(failure.NoDevice, "the tool lists no card")
	case len(p.report.Devices) == 0:
		return model.Report{}, failure.Errorf(failure.Parse, "no complete card in the output")
	case isCut:
		p.report.Warn("the table has no end line: cards may be missing")
	}
	return p.report, nil
}

func (p *tableParser) readLine(text string) {
	first, _, _ := strings.Cut(text, " ")
	_, isCard := smitext.Index(first)
	switch {
	case tableHeader.MatchString(text):
		p.header = tableRows.Header([]string{text})
	case p.header == nil || !isCard:
	case p.cards[first]:
		p.report.Warn("card %s is printed twice", first)
	default:
		p.readCard(first, text)
	}
}

// readCard reads a row. One with other values than the header has words is no card: which value is missing is not known.
func (p *tableParser) readCard(id, text string) {
	b := p.header.Block([]string{text})
	if b.Find("temp") == nil {
		p.report.Warn("card %s: cannot read %.80q: not as many values as the header has columns", id, text)
		return
	}
	for i, e := range b.Entries {
		if word := strings.ToLower(e.Value); word == "none" || word == "unsupported" { // rocm-smi has them too
			b.Entries[i].Value = ""
		}
	}
	d := model.Device{ID: id, Readings: make(model.Readings, 0, 8)}
	tableRows.Read(&b, &d, &d.Readings, func(err error) { p.report.Warn("card %s: %v", id, err) })
	if !d.Readings.Has("temperature_celsius", "chip") && !d.Readings.Has("power_watts") && len(d.Readings) > 0 {
		p.report.Warn("card %s: neither temperature nor power: its other values are left out", id)
		d.Readings = nil
	}
	p.cards[id] = true
	p.report.Devices = append(p.report.Devices, d)
}
