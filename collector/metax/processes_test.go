package metax_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const oneCard = `| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Power                  | Memory-Usage        |                      |
| 0           MXC500                 | 0000:21:00.0        | 4%                   |
| 40C         80W                    | 900/65536 MiB       |                      |
`

// A process that holds memory on slices of a card holds the sum of it; beside a row
// of the card itself a slice's row tells the same memory again.
func TestProcessesOnSlices(t *testing.T) {
	const mib = 1 << 20
	report, err := metax.ParseTable([]byte(oneCard + `| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|  0-s1                   71          python                       100            |
|  0-s2                   71          python                       20             |
|  0                      72          python                       300            |
|  0-s1                   72          python                       300            |
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Process{
		{Device: "0", PID: "71", Name: "python", UsedBytes: 120 * mib},
		{Device: "0", PID: "72", Name: "python", UsedBytes: 300 * mib},
	}
	if diff := cmp.Diff(want, report.Processes); diff != "" || report.Warnings.Count > 0 {
		t.Errorf("processes (-want +got):\n%s\nwarnings: %q", diff, report.Warnings.Texts)
	}
}

// Only a line that starts with a tool's name says whose output it is.
func TestNoiseThatNamesATool(t *testing.T) {
	if _, err := metax.ParseTable([]byte("[INFO] wrapper for mx-smi version: 1.0\nusing other-smi version: 2\n" + oneCard)); err != nil {
		t.Errorf("noise before a good table: %v", err)
	}
	if _, err := metax.ParseTable([]byte("other-smi  version: 2\n" + oneCard)); failure.ReasonOf(err) != failure.Parse {
		t.Errorf("another tool's output: %v", err)
	}
}

// A card that failed so badly that it has no bus id is still one card of the host.
func TestListedCardWithoutBusID(t *testing.T) {
	report, err := metax.ParseList([]byte("GPU#4  MXC500  NA  Not Available(Layout Node Not Found)\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Device{{ID: "4", Name: "MXC500", Health: &model.Health{State: "Not Available", Reason: "Layout Node Not Found"}}}
	if diff := cmp.Diff(want, report.Listed); diff != "" || report.Announced != 1 {
		t.Errorf("announced %d, listed (-want +got):\n%s", report.Announced, diff)
	}
}
