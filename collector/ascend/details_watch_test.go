package ascend

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// A chip that npu-smi info watch leaves out must not keep the tool busy until the timeout.
func TestWatchEndsWithItsRound(t *testing.T) {
	const header = "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     \n"
	const first, second = "0           0           90.1        34          \n", "1           0           90.1        34          \n"
	cards := []model.Device{{ID: "0", NPU: "0", Chip: "0"}, {ID: "1", NPU: "1", Chip: "0"}, {ID: "2", NPU: "2", Chip: "0"}}
	for out, want := range map[string]bool{
		header + first:                   false,
		header + first + second:          false,
		header + first + second + first:  true,
		header + second + first + second: true,
	} {
		if got := watchedAll([]byte(out), cards); got != want {
			t.Errorf("%q: %v", out, got)
		}
	}
}
