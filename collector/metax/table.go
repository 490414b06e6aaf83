// Package metax reads what MetaX's mx-smi prints, and the same program under
// its OEM name ht-smi: versions 2.1.6 to 2.3.1 have been met.
//
// The layouts differ in order (power and temperature changed places in 2.2.9),
// in the number of cells and in words. So values are found by the words of the
// header rows and must carry the unit that belongs to them.
package metax

import (
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Header words of the cells that name a card, slice or process.
const (
	colGPU     = "gpu"
	colName    = "name"
	colBoard   = "board"
	colBusID   = "bus-id"
	colMemory  = "memory-usage"
	colUtil    = "gpu-util"
	colState   = "gpu-state"
	colSliceID = "sgpu-id"
)

// cardRows, sliceRows and processRows have one line for each header word that is a metric, or holds blanks, or has values
// that do.
var (
	cardRows = smitext.Rows{
		{Word: colName, Form: smitext.FormPhrase},
		{Word: colState, Form: smitext.FormPhrase},
		{Word: colUtil, Metric: "utilization_ratio", Unit: smitext.Percent},
		{Word: "temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
		{Word: "power", Metric: "power_watts", Total: "power_limit_watts", Form: smitext.FormLimit, Unit: smitext.Watts},
		{Word: "pwr:usage/cap", Metric: "power_watts", Total: "power_limit_watts", Form: smitext.FormLimit, Unit: smitext.Watts},
		{Word: "perf", Metric: "performance_level", Unit: smitext.Level},
		{Word: colMemory, Metric: "memory_used_bytes", Total: "memory_total_bytes", Form: smitext.FormUsage, Labels: []string{"vram"}, Unit: smitext.Bytes},
	}
	sliceRows = smitext.Rows{
		{Word: "compute", Metric: "slice_compute_quota_ratio", Unit: smitext.Percent},
		{Word: "vram quota", Metric: "slice_memory_used_bytes", Total: "slice_memory_quota_bytes", Form: smitext.FormUsage, Unit: smitext.Bytes},
		{Word: "sgpu-util", Metric: "slice_utilization_ratio", Unit: smitext.Percent},
	}
	processRows = smitext.Rows{
		{Word: smitext.ProcessName, Form: smitext.FormPhrase},
		{Word: "gpu memory", As: smitext.ProcessMemory},
	}
)

type tableParser struct {
	report    model.Report
	noneAtAll bool                  // "Attached GPUs : 0"
	slices    map[[2]string]bool    // card and slice read
	holdings  map[[2]string]holding // by card and process
}

// ParseTable reads the output of mx-smi without arguments. It fails with
// failure.Parse when the output is another program's or holds no whole card, and
// with failure.NoDevice when the table says that no GPU is attached.
func ParseTable(out []byte) (model.Report, error) {
	p := &tableParser{slices: map[[2]string]bool{}, holdings: map[[2]string]holding{}}
	reader := smitext.TableReader{
		Words: slices.Concat(cardRows, sliceRows, processRows),
		Tables: []smitext.Table{
			{Header: []string{colGPU, colBusID}, Second: []string{colMemory}, Card: p.card},
			{Header: []string{colGPU, colSliceID}, Row: p.slice},
			{Header: []string{colGPU, smitext.PID}, Second: []string{"usage"}, Row: p.process},
			{Header: []string{"process:"}}, // the titles of tables
			{Header: []string{"sliced", colGPU}},
		},
		Outside: p.outside,
		Report:  &p.report,
	}
	switch err := reader.Read(out); {
	case err != nil:
		return model.Report{}, err
	case len(p.report.Devices) == 0 && p.noneAtAll:
		return model.Report{}, failure.Errorf(failure.NoDevice, "the tool says that no GPU is attached")
	}
	return smitext.CheckCards(p.report, false)
}

func (p *tableParser) outside(line smitext.Line) error {
	if line.Kind == smitext.LineRow {
		return p.title(line.Cells)
	}
	if count, ok := strings.CutPrefix(line.Text, "Attached GPUs"); ok {
		_, count, _ = strings.Cut(count, ":")
		if n, ok := smitext.Index(strings.TrimSpace(count)); ok {
			p.report.Announced, p.noneAtAll = n, n == 0
		}
		return nil
	}
	return checkBanner(line.Text)
}

// checkBanner returns an error for a banner or title of another tool.
func checkBanner(s string) error {
	if before, ok := strings.CutSuffix(strings.Trim(s, "= "), "System Management Interface Log"); ok {
		if brand := strings.TrimSpace(before); brand != "MetaX" && brand != "Mars" {
			return failure.Errorf(failure.Parse, "the banner is that of %.40q, not of MetaX or Mars", brand)
		}
	}
	name, rest, _ := strings.Cut(s, " ")
	isVersion := strings.HasSuffix(name, "-smi") && strings.HasPrefix(strings.TrimSpace(rest), "version:")
	if isVersion && !toolVersion.MatchString(s) {
		return failure.Errorf(failure.Parse, "the output is that of %.40q, not of mx-smi or ht-smi", name)
	}
	return nil
}

var (
	toolVersion  = regexp.MustCompile(`(?i)^(?:mx|ht)-smi(?:\s+(\S*\d\S*)|\s|$)`)
	otherVersion = regexp.MustCompile(`(Driver|MACA|HPCC|BIOS) Version:\s*(\S*\d\S*)`)
)

// title reads the rows above the header: names and versions. A word without a digit is no version: it is "unknown", or the
// next label where the value is empty.
func (p *tableParser) title(cells []string) error {
	var t model.Tool
	if p.report.Tool != nil {
		t = *p.report.Tool
	}
	for _, cell := range cells {
		first, _, _ := strings.Cut(cell, " ")
		if m := toolVersion.FindStringSubmatch(cell); m != nil {
			t.Name, t.Version = strings.ToLower(first), m[1]
		} else if strings.HasSuffix(strings.ToUpper(first), "-SMI") || first == "IX-ML:" {
			return failure.Errorf(failure.Parse, "the title is that of %.40q, not of mx-smi or ht-smi", first)
		}
		for _, m := range otherVersion.FindAllStringSubmatch(cell, -1) {
			switch m[1] {
			case "Driver":
				t.DriverVersion = m[2]
			case "BIOS":
				t.FirmwareVersion = m[2]
			default:
				t.RuntimeVersion = m[2]
			}
		}
	}
	if t != (model.Tool{}) {
		p.report.Tool = &t
	}
	return nil
}
