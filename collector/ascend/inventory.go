package ascend

import (
	"bytes"
	"regexp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var (
	mapHeader = regexp.MustCompile(`(?m)^\s*NPU ID\s.*Chip ID.*\n`)
	// mappedChip starts with three numbers: that of a board's controller has no logic id, and an NPU may be called -1.
	mappedChip = regexp.MustCompile(`(?m)^[ \t]*\d+[ \t]+\d+[ \t]+\d+[ \t].*\n`)
	listedLine = regexp.MustCompile(`(?m)^[ \t]*(Total Count|Card Count|NPU ID|Chip Count)[ \t]*:(.*)$`)
)

// ParseMapping reads the output of npu-smi info -m, which has a line for every
// chip of the host, also for one that npu-smi info leaves out.
func ParseMapping(out []byte) (model.Report, error) {
	var r model.Report
	if header := mapHeader.FindIndex(out); header != nil {
		for _, line := range mappedChip.FindAll(out[header[1]:], -1) {
			if fields := bytes.Fields(line); !bytes.EqualFold(fields[len(fields)-1], []byte("mcu")) {
				r.Announced++
			}
		}
	}
	if r.Announced == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no chip in the mapping")
	}
	return r, nil
}

// ParseList reads the output of npu-smi info -l: how many cards there are and
// how many chips each has.
func ParseList(out []byte) (model.Report, error) {
	cards, listed, chips := 0, 0, 0
	for _, m := range listedLine.FindAllSubmatch(out, -1) {
		n, isNumber := smitext.Index(string(bytes.TrimSpace(m[2])))
		switch key := string(m[1]); {
		case !isNumber:
		case key == "NPU ID":
			listed++
		case key == "Chip Count":
			chips += n
		default:
			cards = n
		}
	}
	if cards == 0 && listed == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return model.Report{Announced: max(cards, listed, chips)}, nil
}
