// Package kunlunxin reads what Kunlunxin's xpu_smi prints: drivers 4.0, 5.0, 5.19 and 515 have been met.
//
// The drawn table alone has processes and, at every poll, the power limit and memory errors. That of drivers 4 has neither
// power nor temperature. The lines of -m have these of all drivers, and stand in for a table of an unknown layout.
package kunlunxin

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Header words of the cells that name a card: its number, in the tables of drivers 5 and 4, and its bus.
const (
	colXPU   = "xpu"
	colDevID = "devid"
	colBusID = "bus-id"
)

// tableRows have one line for each header word that is a metric, or holds blanks, or has values that do. The third row of
// a card is of its L3 cache, which has no metric.
var tableRows = smitext.Rows{
	{Word: "name", Form: smitext.FormPhrase},
	{Word: "compute m.", Form: smitext.FormPhrase},
	{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: "pwr:usage/cap", Metric: "power_watts", Total: "power_limit_watts", Form: smitext.FormLimit, Unit: smitext.Watts},
	{Word: "memory-usage", Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"vram"}, Unit: smitext.Bytes},
	{Word: "xpu-util", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "volatile uncorr. ecc", Metric: "ecc_errors_total", Labels: []string{"dram", "uncorrectable"}},
	{Word: smitext.ProcessName, Form: smitext.FormPhrase},
	{Word: "xpu memory", As: smitext.ProcessMemory},
	// Of drivers 4.
	{Word: "pci addr", As: colBusID},
	{Word: "model", As: "name"},
	{Word: "userate", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "memory", Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"vram"}, Unit: smitext.Bytes},
}

var (
	cardHeader = regexp.MustCompile(`(?m)^\|\s*(?:XPU\s+Name|DevID\s*\|\s*PCI Addr)\b`)
	lastTitle  = regexp.MustCompile(`(?mi)^[|\s]*processes\b`)
	version    = regexp.MustCompile(`(Driver|XPU-RT|Runtime) Version:\s*(\S+)`)
)

type tableParser struct{ report model.Report }

// parseTable reads the output of xpu_smi without arguments, or that of -m, which is asked for where that is refused. It
// fails with failure.Parse when the output is another program's or holds no whole card, with failure.Unsupported when it
// is a table of another layout, and with failure.NoDevice when the table is whole and empty.
func parseTable(out []byte, _ []model.Device) (model.Report, error) {
	if machineLine.Match(out) {
		return parseMachine(out, nil)
	}
	p := &tableParser{}
	reader := smitext.TableReader{
		Words: tableRows,
		Tables: []smitext.Table{
			{Header: []string{colXPU, colBusID}, Second: []string{"fan"}, Third: []string{"l3-usage"}, Card: p.readCard},
			{Header: []string{"processes:"}}, // a title
			{Header: []string{colXPU, smitext.PID}, Second: []string{"usage"}, Row: p.readProcess},
			{Header: []string{colDevID, colBusID}, Row: p.readCard},
			{Header: []string{colDevID}}, // of video engines; of processes, of which no row was ever published
		},
		Outside: p.readTitle,
		Report:  &p.report,
	}
	if err := reader.Read(out); err != nil {
		return model.Report{}, err
	}
	if p.report.Tool != nil && !cardHeader.Match(out) {
		return model.Report{}, failure.Errorf(failure.Unsupported, "the table has another header")
	}
	return smitext.CheckCards(p.report, cardHeader.Match(out) && lastTitle.Match(out))
}

// readTitle reads the versions above the tables. The tool has none of its own. Intel's tool of the same name has a title
// and a table much like these.
func (p *tableParser) readTitle(line smitext.Line) error {
	title := strings.Trim(line.Text, "| ")
	if before, _, ok := strings.Cut(title, "-SMI"); ok && before != "XPU" {
		return failure.Errorf(failure.Parse, "the title is that of %.40q, not of Kunlunxin's XPU-SMI", title)
	}
	for _, m := range version.FindAllStringSubmatch(title, -1) {
		p.report.Tool = cmp.Or(p.report.Tool, &model.Tool{Name: "xpu_smi"})
		if m[1] == "Driver" {
			p.report.Tool.DriverVersion = smitext.Label(m[2])
		} else {
			p.report.Tool.RuntimeVersion = smitext.Label(m[2])
		}
	}
	return nil
}

// readCard reads a card, and reports whether the record is one. The table of drivers 4 has one row a card; in the other a
// second row begins with the fan, and that of the next card with a number.
func (p *tableParser) readCard(b *smitext.Block) bool {
	id, bus, fan := cmp.Or(b.Value(colXPU), b.Value(colDevID)), b.Value(colBusID), b.Value("fan")
	isWhole := b.Value(colDevID) != "" || fan != "" && !smitext.IsIndex(fan)
	if !isWhole || !smitext.IsIndex(id) || !smitext.PCIAddress(bus) {
		return false
	}
	tableRows.AddCard(&p.report, model.Device{ID: id, BusID: bus, Name: smitext.Label(b.Value("name"))}, b)
	return true
}

// readProcess reads a row of the processes. None was ever published: it is taken to look like nvidia-smi's.
func (p *tableParser) readProcess(b *smitext.Block) bool {
	text := strings.Trim(b.Text, "|")
	if text != "" && !strings.HasPrefix(text, "No running processes found") {
		b.AddProcess(&p.report, b.Value(colXPU))
	}
	return true
}

// fields are those of a line of -m, by their numbers in the tool's help. Behind them are those of the video engines.
var fields = []string{
	"bus", "board", "device", "serial", "temperature", "", "memory temperature", "", "power", "freq_0", "freq_1", "freq_2", "freq_3",
	"freq_4", "freq_5", "l3 used", "l3 total", "memory used", "memory total", "utilization", "firmware", "model", "chip",
}

// machineRows read the fields. The six clocks were the same wherever they were seen.
var machineRows = smitext.Rows{
	{Word: "temperature", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius, Symbol: "C"},
	{Word: "memory temperature", Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius, Symbol: "C", NotZero: true},
	{Word: "power", Metric: "power_watts", Unit: smitext.Watts},
	{Word: "freq_0", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz, Symbol: "MHz", NotZero: true},
	{Word: "memory total", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Symbol: "MiB", NotZero: true},
	{Word: "memory used", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Symbol: "MiB", Within: "memory_total_bytes"},
	{Word: "utilization", Metric: "utilization_ratio", Unit: smitext.Percent, Symbol: "%"},
}

var (
	machineLine = regexp.MustCompile(`(?m)^[[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[[:xdigit:]]\s`)
	field       = regexp.MustCompile(`"[^"]*"|\S+`) // a model has quotes, and blanks in them
)

// parseMachine reads the lines of -m about these cards, or, where none are given, of all. A line with fewer fields than
// up to the model, or without its end, is left out with a warning. Without a card the error is failure.Parse.
func parseMachine(out []byte, cards []model.Device) (r model.Report, err error) {
	for line := range strings.Lines(string(out)) {
		values := field.FindAllString(line, -1)
		switch {
		case len(values) == 0:
		case len(values) < 22 || values[21][0] != '"' || !machineLine.MatchString(line) || !smitext.IsIndex(values[2]) || !strings.HasSuffix(line, "\n"):
			r.Warn("a line that is no whole card: %.120q", strings.TrimSpace(line))
		default:
			b := machineBlock(values)
			d := model.Device{ID: b.Card, BusID: b.BusID, Name: smitext.Label(b.Value("model"))}
			if at := smitext.FindCard(&smitext.Block{BusID: b.BusID}, cards); at >= 0 { // numbers move
				d = model.Device{ID: cards[at].ID}
			} else if cards != nil {
				continue
			}
			machineRows.AddCard(&r, d, &b)
		}
	}
	return smitext.CheckCards(r, false)
}

// machineBlock gives the values their words. K200 prints its power in milliwatts, and the same for both chips of a board:
// the first chip has it. More than 2000 W no other card can draw.
func machineBlock(values []string) smitext.Block {
	b := smitext.Block{Card: values[2], BusID: values[0]}
	for i, v := range values[:min(len(values), len(fields))] {
		b.Entries = append(b.Entries, smitext.Entry{Word: fields[i], Value: strings.Trim(v, `"`)})
	}
	power, isK200 := b.Find("power"), strings.HasPrefix(b.Value("model"), "K200")
	if power.Unit = "W"; isK200 {
		power.Unit = "mW"
	}
	n, _ := smitext.Number(power.Value)
	switch {
	case smitext.Absent(power.Value), isK200 && b.Value("chip") != "0":
		power.Value = ""
	case isK200 != (n > 2000):
		power.Err = errors.New("neither watts nor K200's milliwatts")
	}
	return b
}
