package ascend

import (
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// chip reads a chip's two rows: the first has a health word where the second has a bus id.
func (p *infoParser) chip(b *smitext.Block) bool {
	npu, number, state, bus := b.Value(colNPU), b.Value(colChip), b.Find(colHealth), b.Find(colBusID)
	if !smitext.IsIndex(npu) || state == nil || !isState(state.Value) ||
		bus == nil || !smitext.Absent(bus.Value) && !smitext.PCIAddress(bus.Value) {
		return false
	}
	if number != "" && !smitext.IsIndex(number) {
		p.report.Warn("NPU %s: cannot read %s from %.40q", npu, colChip, number)
		return true
	}
	c := chip{place: place{npu, number}, device: model.Device{
		NPU: npu, Chip: number, Name: smitext.Label(b.Value(colName)), BusID: smitext.Label(bus.Value), Health: health(state.Value),
		Readings: make(model.Readings, 0, 8),
	}}
	for _, word := range []string{colPhyID, colDevice} {
		if smitext.IsIndex(b.Value(word)) {
			c.number = b.Value(word)
		}
	}
	tableRows.Read(b, &c.device, &c.device.Readings, func(err error) { p.report.Warn("NPU %s: %v", npu, err) })
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
func (p *infoParser) process(b *smitext.Block) bool {
	if text := strings.Trim(b.Text, "|"); text == "" || strings.HasPrefix(text, "No running processes found") {
		return true
	}
	npu := b.Find(colNPU)
	if npu == nil {
		return false
	}
	process, known, err := b.Process()
	if err != nil {
		p.report.Warn("NPU %s: %v", npu.Value, err)
	}
	if known {
		p.owners = append(p.owners, owner{place{npu.Value, b.Value(colChip)}, process})
	}
	return true
}
