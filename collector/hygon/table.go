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

// ParseTable reads the output of hy-smi without arguments. It fails with failure.Parse when the output is another
// program's or holds no whole card, and with failure.NoDevice when the table is empty.
func ParseTable(out []byte) (r model.Report, err error) {
	if err := checkBanner(out); err != nil {
		return r, err
	}
	var header smitext.Header
	known := map[string]bool{}
	for line := range smitext.Lines(out) {
		id, _, _ := strings.Cut(line.Text, " ")
		switch {
		case tableHeader.MatchString(line.Text):
			header = tableRows.Header([]string{line.Text})
		case header == nil || !smitext.IsIndex(id):
		case known[id]:
			r.Warn("card %s is printed twice", id)
		default:
			known[id] = readCard(&r, id, header.Block([]string{line.Text}))
		}
	}
	isCut := banner.Match(out) && !bytes.Contains(out, []byte(endLine))
	r, err = smitext.CheckCards(r, header != nil && !isCut)
	if err == nil && isCut {
		r.Warn("the table has no end line: cards may be missing")
	}
	return r, err
}

// readCard adds the card of a row, and reports whether it did. A row with other values than the header has words is no
// card: which value is missing is not known.
func readCard(r *model.Report, id string, b smitext.Block) bool {
	if b.Find("temp") == nil {
		r.Warn("card %s: cannot read %.80q: not as many values as the header has columns", id, b.Text)
		return false
	}
	for i, e := range b.Entries {
		if word := strings.ToLower(e.Value); word == "none" || word == "unsupported" { // words of rocm-smi
			b.Entries[i].Value = ""
		}
	}
	d := model.Device{ID: id, Readings: make(model.Readings, 0, 8)}
	tableRows.Read(&b, &d, &d.Readings, func(err error) { r.Warn("card %s: %v", id, err) })
	if !d.Readings.Has("temperature_celsius", "chip") && !d.Readings.Has("power_watts") && len(d.Readings) > 0 {
		r.Warn("card %s: neither temperature nor power: its other values are left out", id)
		d.Readings = nil
	}
	r.Devices = append(r.Devices, d)
	return true
}
