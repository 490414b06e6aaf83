// Package iluvatar reads what Iluvatar CoreX's ixsmi prints: versions 3.0 to 4.4 have been met.
//
// The table leads, the one form that was seen of every version. The XML beside it has processes, UUIDs and details. Its
// cards are found by bus id: the numbers of the others move up when one is gone.
package iluvatar

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Header words of the cells that show whose a record is, and whether the card is there.
const (
	colBusID  = "bus-id"
	colMemory = "memory-usage"
	colPower  = "pwr:usage/cap"
)

// tableRows have one line for each header word that is a metric, or has values with blanks. Of two chips on a board one
// prints the power of both. Passive cards have a fan of 0% before 4.3, and Perf is P0 under every load.
var tableRows = smitext.Rows{
	{Word: "name", Form: smitext.FormPhrase},
	{Word: "compute m.", Form: smitext.FormPhrase},
	{Word: "gpu-util", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: colPower, Metric: "power_watts", Total: "power_limit_watts", Form: smitext.FormLimit, Unit: smitext.Watts},
	{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: colMemory, Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"vram"}, Unit: smitext.Bytes},
	{Word: "clock-sm", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "clock-mem", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
}

// ParseTable reads the output of ixsmi without arguments, or the rows that stand in for it. It fails with failure.Parse
// when the output is another program's or holds no whole card, and with failure.NoDevice when the table is empty.
func ParseTable(out []byte) (r model.Report, err error) {
	if bytes.HasPrefix(out, []byte(fieldIndex)) {
		return parseQuery(tableQuery(fieldPower, fieldLimit), out)
	}
	reader := smitext.TableReader{
		Words: tableRows,
		Tables: []smitext.Table{
			{Header: []string{"gpu", colBusID}, Second: []string{colMemory}, Card: func(b *smitext.Block) bool { return readCard(&r, b) }},
			{Header: []string{"processes:"}}, // of which no row was ever seen
		},
		Outside: func(line smitext.Line) error { return readTitle(&r, line) },
		Report:  &r,
	}
	if err := reader.Read(out); err != nil {
		return model.Report{}, err
	}
	return smitext.CheckCards(r, bytes.Contains(out, []byte("Bus-Id")))
}

var title = regexp.MustCompile(`^IX-ML:\s*(\S+)\s+Driver Version:\s*(\S+)\s+CUDA Version:\s*(\S+)`)

// readTitle reads the row above the header: the versions of library and driver, which may differ. NVIDIA's table has the
// same header words below its own title.
func readTitle(r *model.Report, line smitext.Line) error {
	if m := title.FindStringSubmatch(strings.Join(line.Cells, " ")); m != nil {
		r.Tool = &model.Tool{Name: tool, Version: smitext.Label(m[1]), DriverVersion: smitext.Label(m[2]), RuntimeVersion: smitext.Label(m[3])}
	} else if line.Kind == smitext.LineRow && strings.Contains(line.Text, "Version:") && !strings.Contains(line.Text, "IX-ML:") {
		return failure.Errorf(failure.Parse, "the title is %.40q, not that of %s", line.Cells[0], tool)
	}
	return nil
}

// readCard reads a card's two rows. The first one has the card's number and bus id.
func readCard(r *model.Report, b *smitext.Block) bool {
	id, bus, memory := b.Value("gpu"), b.Value(colBusID), b.Find(colMemory)
	if !smitext.IsIndex(id) || memory == nil || smitext.PCIAddress(memory.Value) || !smitext.Absent(bus) && !smitext.PCIAddress(bus) {
		return false
	}
	addCard(r, model.Device{ID: id, BusID: smitext.Label(bus), Name: smitext.Label(b.Value("name"))}, tableRows, b, b.Value(colPower))
	return true
}

// addCard adds a card with what the rows read of it. Of one that is lost all values are made up: it is there, and no more.
func addCard(r *model.Report, d model.Device, rows smitext.Rows, b *smitext.Block, power string) {
	if d.Health = lost(power); d.Health != nil {
		rows = nil
	}
	rows.AddCard(r, d, b)
}

// lost is the health of a card that is lost: it prints a power of 65535 W, which is 16 bits without an answer. It is nil
// for all others, of which the tool does not say that they are well.
func lost(power string) *model.Health {
	drawn := strings.TrimSpace(strings.Split(power, "/")[0])
	if watts, _, _ := smitext.Watts.Parse(drawn, ""); watts != 1<<16-1 {
		return nil
	}
	return &model.Health{State: drawn}
}

// isThere reports whether a card was not lost in the last table.
func isThere(d *model.Device) bool { return d.Health == nil }
