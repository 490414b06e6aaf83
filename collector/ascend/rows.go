package ascend

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// chip reads a chip's two rows: the first has a health word where the second has a bus id.
func (p *infoParser) chip(first, second *smitext.Record) bool {
	npu, okNPU := first.Index(colNPU)
	state, okState := first.Get(colHealth)
	bus, okBus := second.Get(colBusID)
	if !okNPU || !okState || !isState(state) || !okBus || !smitext.Absent(bus) && !smitext.PCIAddress(bus) {
		return false
	}
	number, okChip := second.Index(colChip)
	if number != "" && !okChip {
		p.report.Warn("NPU %s: cannot read %s from %.40q", npu, colChip, number)
		return true
	}
	name, _ := first.Get(colName)
	c := chip{place: place{npu, number}, device: model.Device{
		NPU: npu, Chip: number, Name: smitext.Label(name), BusID: smitext.Label(bus), Health: health(state),
		Readings: make(model.Readings, 0, 8),
	}}
	for _, word := range []string{colPhyID, colDevice} {
		if number, ok := second.Index(word); ok {
			c.number = number
		}
	}
	warn := func(err error) { p.report.Warn("NPU %s: %v", npu, err) }
	first.Readings(&c.device.Readings, nil, warn)
	second.Readings(&c.device.Readings, nil, warn)
	p.checkQueried(&c.device)
	p.chips = append(p.chips, c)
	return true
}

// isState reports whether s is a word or nothing: a number there means that the row
// is not a chip's first.
func isState(s string) bool {
	return smitext.Absent(s) || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z'
}

// health reads the Health column: OK, Warning, Alarm, Critical, or UNKNOWN for a
// device that is absent or not started, which is a state and not a lack of one.
func health(s string) *model.Health {
	if smitext.Absent(s) && !strings.EqualFold(s, "unknown") {
		return nil
	}
	return &model.Health{OK: s == "OK", State: s}
}

// checkQueried drops the readings of a chip that npu-smi could not ask: every
// field then keeps its zero, the health too, and a zero health prints as OK. Huge
// pages come from another query.
func (p *infoParser) checkQueried(d *model.Device) {
	temperature, ok := d.Readings.Get("temperature_celsius", "chip")
	asked := func(r model.Reading) bool { return !strings.HasPrefix(string(r.Metric), "hugepages_") }
	notZero := func(r model.Reading) bool { return asked(r) && r.Value != 0 }
	if !ok || temperature != 0 || slices.ContainsFunc(d.Readings, notZero) {
		return
	}
	p.report.Warn("NPU %s: every reading is zero, which is what a failed query prints", d.NPU)
	d.Readings = slices.DeleteFunc(d.Readings, asked)
	if d.Health != nil && d.Health.OK {
		d.Health = nil
	}
}

// process reads a row of the process table. Its last column, where there is one,
// is the process id inside a container; the host's is the one that is kept.
func (p *infoParser) process(row *smitext.Record) bool {
	if text := strings.Trim(row.Text(), "|"); text == "" || strings.HasPrefix(text, "No running processes found") {
		return true
	}
	npu, ok := row.Get(colNPU)
	if !ok {
		return false
	}
	process, known, err := row.Process()
	if err != nil {
		p.report.Warn("NPU %s: %v", npu, err)
	}
	if known {
		number, _ := row.Get(colChip)
		p.owners = append(p.owners, owner{place{npu, number}, process})
	}
	return true
}
