package ascend

import "github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"

// broken notes that something is left out behind the last chip.
func (p *infoParser) broken() {
	if last := len(p.records) - 1; last >= 0 && p.section == devices {
		p.records[last].broken = true
	}
}

// list notes an NPU that the process table names.
func (p *infoParser) list(npu string) {
	if last := len(p.listed) - 1; last < 0 || p.listed[last] != npu {
		p.listed = append(p.listed, npu)
	}
}

// doubtUnclosed leaves out the last chip where no rule is behind it, in a table that
// has had them at such places: its second row may be another chip's, or a row of
// the next table.
func (p *infoParser) doubtUnclosed(where boxtable.Place) {
	if p.rules.Lost(where) {
		r := &p.records[len(p.records)-1]
		r.doubt = true
		p.report.Warn("chip %s of NPU %s is left out: the rule after it is lost", r.chip, r.npu)
		p.broken()
	}
}

// doubtJoined leaves out the chip before a hole that took whole lines: its rows may
// be those of two chips. There is one where the process table, which names every
// NPU, has one that the device table lacks without a trace.
func (p *infoParser) doubtJoined() {
	last := map[string]int{} // place of an NPU's last chip in records
	for i := range p.records {
		last[p.records[i].npu] = i
	}
	before, lost := -1, false
	doubt := func() {
		if !lost || before < 0 || p.records[before].broken {
			return
		}
		r := &p.records[before]
		r.doubt = true
		p.report.Warn("chip %s of NPU %s is left out: lines after it are lost, so that its rows may be two chips'", r.chip, r.npu)
	}
	for _, npu := range p.listed {
		at, shown := last[npu]
		switch {
		case shown && at > before:
			doubt()
			before, lost = at, false
		case shown: // a row out of place
			lost = false
		case !p.dropped[npu]:
			lost = true
		}
	}
	doubt()
}
