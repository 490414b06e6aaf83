package ascend

import (
	"bytes"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// ParseMapping reads the output of npu-smi info -m, which has a line for every
// chip of the host, also for one that npu-smi info leaves out. Mcu rows, the
// board's controller, are no chips.
func ParseMapping(out []byte) (model.Report, error) {
	var r model.Report
	header := false
	for raw := range bytes.Lines(out) {
		fields := strings.Fields(string(raw))
		switch {
		case len(fields) < 3:
		case fields[0] == "NPU" && fields[1] == "ID" && strings.Contains(string(raw), "Chip ID"):
			header = true
		case header:
			if isChip(fields) && raw[len(raw)-1] == '\n' {
				r.Announced++
			}
		}
	}
	if r.Announced == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no chip in the mapping")
	}
	return r, nil
}

// isChip reports whether a line is a chip's, which starts with three numbers: that
// of an Mcu has no logic id, and an NPU may be called -1.
func isChip(fields []string) bool {
	for _, f := range fields[:3] {
		if _, ok := smitext.Index(f); !ok {
			return false
		}
	}
	return !strings.EqualFold(fields[len(fields)-1], "mcu")
}

// ParseList reads the output of npu-smi info -l: how many cards there are and
// how many chips each has.
func ParseList(out []byte) (model.Report, error) {
	cards, listed, chips := 0, 0, 0
	for raw := range bytes.Lines(out) {
		key, value, ok := strings.Cut(string(raw), ":")
		n, isNumber := smitext.Index(strings.TrimSpace(value))
		if !ok || !isNumber {
			continue
		}
		switch strings.TrimSpace(key) {
		case "Total Count", "Card Count":
			cards = n
		case "NPU ID":
			listed++
		case "Chip Count":
			chips += n
		}
	}
	if cards == 0 && listed == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return model.Report{Announced: max(cards, listed, chips)}, nil
}
