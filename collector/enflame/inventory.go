package enflame

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var (
	listHeader = regexp.MustCompile(`^(?:GCU|DEV)\s+SN\b.*\bBus\b`)
	// listRows are the header words with blanks in them, or in their values: a slot is "PCIE5 (X16)".
	listRows = smitext.Rows{{Word: "slot", Form: smitext.FormPhrase}, {Word: "cpu affinity"}}
)

// parseList reads the output of -L. Slices of a card stand below it and are passed over. A last line without its end may
// be cut.
func parseList(out []byte) (model.Report, error) {
	var r model.Report
	var header smitext.Header
	known := map[string]bool{}
	for line := range smitext.Lines(out[:bytes.LastIndexByte(out, '\n')+1]) {
		d := model.Device{}
		d.ID, _, _ = strings.Cut(line.Text, " ")
		switch {
		case listHeader.MatchString(line.Text):
			header = listRows.Header([]string{line.Text})
			continue
		case header == nil || !smitext.IsIndex(d.ID):
			continue
		}
		b := header.Block([]string{line.Text})
		if bus := b.Value("bus"); smitext.PCIAddress(bus) {
			d.BusID = bus
		}
		d.UUID = smitext.Label(b.Value("uuid"))
		if known[d.ID] || cmp.Or(d.BusID, d.UUID) == "" {
			r.Warn("a line of the list that names no card, or one twice: %.120q", line.Text)
			continue
		}
		known[d.ID] = true
		r.Listed = append(r.Listed, d)
	}
	if r.Announced = len(r.Listed); r.Announced == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return r, nil
}

// parseTopology reads the output of topo -m.
var parseTopology = smitext.TopologyParser(`GCU\d+`, `GCU\d+`)

// Versions in the title of the table, "EFSMI    V1.2.0.301" or "EFSMI: 1.7.2.14"; the query has the driver's alone.
var (
	toolVersion   = regexp.MustCompile(`\bEFSMI[: ]\s*V?(\d[\w.]*)`)
	driverVersion = regexp.MustCompile(`\bVer\s*: *(\d[\w.]*)`)
)

// parseVersion reads the versions of tool and driver.
func parseVersion(out []byte) (model.Report, error) {
	t := model.Tool{Name: tool}
	lines := out[:bytes.LastIndexByte(out, '\n')+1] // the last may be cut
	if m := toolVersion.FindSubmatch(lines); m != nil {
		t.Version = string(m[1])
	}
	if m := driverVersion.FindSubmatch(lines); m != nil {
		t.DriverVersion = string(m[1])
	}
	if t.DriverVersion == "" {
		return model.Report{}, failure.Errorf(failure.Parse, "no version of the driver in the output")
	}
	return model.Report{Tool: &t}, nil
}
