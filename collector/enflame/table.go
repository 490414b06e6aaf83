package enflame

import (
	"bytes"
	"regexp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// tableRows have one line for each header word of the drawn table that is a metric, or holds blanks, or has values that
// do. Mem is the total.
var tableRows = smitext.Rows{
	{Word: "name", Form: smitext.FormPhrase},
	{Word: "fw ver"},
	{Word: "boot fw ver"},
	{Word: "gcu virt"},
	{Word: "ecc", Metric: "ecc_enabled", Labels: []string{""}, Words: enabled},
	{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: "pwr", Metric: "power_watts", Total: "power_limit_watts", Form: smitext.FormLimit, Unit: smitext.Watts},
	{Word: "mem", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "dused", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "dev-util", Metric: "utilization_ratio", Unit: smitext.Percent},
}

var (
	banner    = regexp.MustCompile(`(?m)^.*System Management Interface.*$`)
	queryCard = regexp.MustCompile(`(?m)^\s*DEV ID \d`)
	// The frame of 1.20.0 has a * for each bar at its edges.
	wildcard = regexp.MustCompile(`(?m)^[ \t]*\*|\*[ \t\r]*$`)
	// Before 1.6 a blank stands between power and limit, in spite of the header's slash.
	power = regexp.MustCompile(`(\dW) +(\d)`)
)

// parseTable reads the answer to -q, or the table that efsmi prints without arguments. It fails with failure.Parse when
// the output is another program's or holds no whole card, and with failure.NoDevice when it has the banner and no card.
func parseTable(out []byte) (model.Report, error) {
	if line := banner.Find(out); line != nil && !bytes.Contains(line, []byte("Enflame")) {
		return model.Report{}, failure.Errorf(failure.Parse, "the banner is %.60q, not Enflame's", bytes.Trim(line, "-= "))
	}
	var r model.Report
	if queryCard.Match(out) {
		readQuery(&r, out)
	} else if err := readTable(&r, out); err != nil {
		return model.Report{}, err
	}
	return smitext.CheckCards(r, banner.Match(out) && bytes.HasSuffix(out, []byte("\n")))
}

// readTable reads the drawn table. Bus ids are left out: two digits of the domain are missing there.
func readTable(r *model.Report, out []byte) error {
	reader := smitext.TableReader{
		Words: tableRows,
		Tables: []smitext.Table{{Header: []string{"dev", "name", "bus-id"}, Second: []string{"temp", "mem"}, Card: func(b *smitext.Block) bool {
			d := model.Device{ID: b.Value("dev"), Name: smitext.Label(b.Value("name")), UUID: smitext.Label(b.Value("uuid"))}
			if !smitext.IsIndex(d.ID) || b.Find("mem") == nil {
				return false
			}
			tableRows.AddCard(r, d, b)
			return true
		}}},
		Outside: func(smitext.Line) error { return nil },
		Report:  r,
	}
	return reader.Read(power.ReplaceAll(wildcard.ReplaceAll(out, []byte("|")), []byte("$1/$2")))
}
