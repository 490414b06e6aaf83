package metax_test

import (
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

const upper, lower = "| GPU NAME | Bus-id | GPU-Util |\n", "| Temp Pwr:Usage/Cap | Memory-Usage | GPU-State |\n"

// A megabyte of rows that cannot be read took ten seconds of CPU and an answer to
// no scrape. It costs what its bytes cost, and few of its warnings are kept.
func TestHostileTablesAreReadInLinearTime(t *testing.T) {
	card := upper + lower + "| 0 A | NA | 1% |\n| 1C 2W / 3W | 4/5 MiB | OK |\n"
	for _, c := range []struct{ head, line, tail string }{
		{card, "| x |\n", ""},
		{card, "| x\n", ""},
		{card, "| 0 A | NA | 1% |\n", ""},
		{card + "| GPU PID Process Name GPU Memory |\n", "| x y z 1 |\n", ""},
		{card + "| GPU sGPU-Id Compute |\n", "| 0 |\n", ""},
		{"| GPU NAME Memory-Usage | Bus-id |\n| 0 ", "a / ", "| NA |\n"},
		{upper + strings.Repeat("| Temp ", 1000) + "|\n", "| 1 |\n", ""},
	} {
		modeltest.CheckLinear(t, c.head, c.line, c.tail, metax.ParseTable)
	}
	const rows = 100_000
	r, err := metax.ParseTable([]byte(card + strings.Repeat("| x |\n", rows)))
	if err != nil || len(r.Devices) != 1 || r.Warnings.Count != rows || len(r.Warnings.Texts) > 20 {
		t.Errorf("%v, %d cards, %d warnings with %d texts", err, len(r.Devices), r.Warnings.Count, len(r.Warnings.Texts))
	}
}
