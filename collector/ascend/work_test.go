package ascend_test

import (
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// A megabyte of rows that cannot be read took ten seconds of CPU and an answer to
// no scrape. It costs what its bytes cost, and few of its warnings are kept.
func TestHostileTablesAreReadInLinearTime(t *testing.T) {
	const chip = `| NPU Name | Health | Power(W) Temp(C) |
| Chip | Bus-Id | Memory-Usage(MB) |
| 0 A | OK | 1 2 |
| 0 | NA | 3 / 4 |
`
	const owners = "| NPU Chip | Process id | Process name | Process memory(MB) |\n"
	for _, c := range []struct{ head, line, tail string }{
		{chip, "| x |\n", ""},
		{chip, "| x\n", ""},
		{chip, "| 1 A | OK | 1 2 |\n", ""},
		{chip + owners, "| 9 0 | 1 | a | 5 |\n", ""},
		{chip + owners, "| 0 0 | x | a | 5 |\n", ""},
		{chip + owners, "| No running processes found in NPU 7 |\n| No running processes found in NPU 8 |\n", ""},
		{"| NPU Name Memory-Usage(MB) | Health |\n| 0 ", "a / ", "| OK |\n"},
	} {
		modeltest.CheckLinear(t, c.head, c.line, c.tail, ascend.ParseInfo)
	}
	const rows = 100_000
	r, err := ascend.ParseInfo([]byte(chip + strings.Repeat("| x |\n", rows)))
	if err != nil || len(r.Devices) != 1 || r.Warnings.Count != rows || len(r.Warnings.Texts) > 20 {
		t.Errorf("%v, %d chips, %d warnings with %d texts", err, len(r.Devices), r.Warnings.Count, len(r.Warnings.Texts))
	}
}
