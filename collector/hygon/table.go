package hygon

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// words is one line for each header word that is a metric. VRAM% is none: it is a rounded share of bytes that another
// command prints.
var words = smitext.Vocabulary{
	{Text: "temp", Field: smitext.Field{Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius}},
	{Text: "avgpwr", Field: smitext.Field{Metric: "power_watts", Unit: smitext.Watts}},
	{Text: "pwrcap", Field: smitext.Field{Metric: powerLimit, Unit: smitext.Watts}},
	{Text: "dcu%", Field: smitext.Field{Metric: "utilization_ratio", Unit: smitext.Percent}},
	{Text: "hcu%", Field: smitext.Field{Metric: "utilization_ratio", Unit: smitext.Percent}},
	{Text: "gpu%", Field: smitext.Field{Metric: "utilization_ratio", Unit: smitext.Percent}},
	{Text: "dec%", Field: smitext.Field{Metric: "engine_utilization_ratio", Labels: []string{"decode"}, Unit: smitext.Percent}},
	{Text: "enc%", Field: smitext.Field{Metric: "engine_utilization_ratio", Labels: []string{"encode"}, Unit: smitext.Percent}},
	{Text: "sclk", Field: smitext.Field{Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz}},
	{Text: "mclk", Field: smitext.Field{Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz}},
}

const powerLimit model.Metric = "power_limit_watts"

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
	header *smitext.Header
	row    smitext.Record
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
		p.header = words.Header([]string{text})
	case p.header == nil || !isCard:
	case p.cards[first]:
		p.report.Warn("card %s is printed twice", first)
	default:
		p.readCard(first, text)
	}
}

// readCard reads a row. One with other values than the header has words is no card: which value is missing is not known.
func (p *tableParser) readCard(id, text string) {
	p.row.Read(p.header, []string{text})
	if _, isWhole := p.row.Get(p.header.Columns[0].Word); !isWhole {
		p.report.Warn("card %s: cannot read %.80q: not as many values as the header has columns", id, text)
		return
	}
	d := model.Device{ID: id, Readings: make(model.Readings, 0, 8)}
	p.row.Readings(&d.Readings, isNone, func(err error) { p.report.Warn("card %s: %v", id, err) })
	_, hasTemperature := d.Readings.Get("temperature_celsius", "chip")
	_, hasPower := d.Readings.Get("power_watts")
	if !hasTemperature && !hasPower && len(d.Readings) > 0 {
		p.report.Warn("card %s: neither temperature nor power: its other values are left out", id)
		d.Readings = nil
	}
	p.cards[id] = true
	p.report.Devices = append(p.report.Devices, d)
}

// isNone reports whether a cell says that there is nothing, in words that rocm-smi has too.
func isNone(c *smitext.Column, text string) bool {
	isZeroLimit := c.Field.Metric == powerLimit && strings.Trim(text, "0.W") == ""
	return isZeroLimit || strings.EqualFold(text, "none") || strings.EqualFold(text, "unsupported")
}
