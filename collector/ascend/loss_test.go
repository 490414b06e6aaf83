package ascend_test

import (
	"path/filepath"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// After lost lines no chip of a real output has what is another's, where the process
// table names every NPU and an NPU has one chip. Of lost bytes a few join two rows
// into one that looks whole.
func TestLostPartsOfCaptures(t *testing.T) {
	needCaptures(t)
	tellsAll := map[string]bool{
		"info-23.0.7-910b4x8-busy-procs.txt": true, "info-24.1.rc2-910ax8-warning-procs.txt": true,
		"info-25.0.rc1.1-910b4-1x8-preamble-procs.txt": true, "info-950-doc.txt": true, "info-23.0.0-310b4-alarm.txt": true,
	}
	type count struct{ tried, lines, bytes int }
	var all, others count
	for name := range tables() {
		loss := modeltest.Lose(t, modeltest.Read(t, filepath.Join(captures, name)), 499, ascend.ParseInfo)
		sum := &others
		if tellsAll[name] {
			sum = &all
		}
		*sum = count{sum.tried + loss.Tried, sum.lines + len(loss.ByLines), sum.bytes + len(loss.ByBytes)}
	}
	t.Logf("a chip is shown with what is not its own: %+v where the process table names every NPU, %+v elsewhere", all, others)
	if all.lines > 0 || 500*all.bytes > all.tried || 20*(others.lines+others.bytes) > others.tried {
		t.Errorf("a chip is shown with what is not its own: %+v where the process table names every NPU, %+v elsewhere", all, others)
	}
}
