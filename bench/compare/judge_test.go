package compare

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

var (
	throughput = show.Column{HigherIsBetter: true}
	latency    = show.Column{Unit: show.Milliseconds}
	share      = show.Column{Unit: show.Share}
)

func TestVerdicts(t *testing.T) {
	five := func(from float64) []float64 { return []float64{from, from + 1, from + 2, from + 3, from + 4} }
	for _, tt := range []struct {
		name       string
		base, side []float64
		column     show.Column
		want       string
	}{
		{"higher is better", five(100), five(112), throughput, "better: +11.8 % (p=0.0079)"},
		{"lower is worse", five(112), five(100), throughput, "worse: -10.5 % (p=0.0079)"},
		{"slower is worse", five(100), five(150), latency, "worse: +49.0 % (p=0.0079)"},
		{"points", []float64{0, 0, 0, 0}, []float64{0.03, 0.031, 0.029, 0.03}, share, "worse: +3.00 points (p=0.029)"},
		{"from nothing", []float64{0, 0, 0, 0}, five(1), throughput, "better (p=0.016)"},
		{"noise", five(100), five(101), throughput, "no difference found: +1.0 % (p=0.44)"},
		{"equal", []float64{0, 0}, []float64{0, 0, 0}, share, "too few runs: +0.00 points"},
		{"equal, and enough", []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, share, "no difference found: +0.00 points (p=1)"},
		{"single", []float64{1}, []float64{2}, throughput, "one start of the server each: +100.0 %"},
		{"three", []float64{1, 2, 3}, []float64{7, 8, 9}, throughput, "too few runs: +300.0 %"},
		{"three and five", []float64{1, 2, 3}, five(10), throughput, "better: +500.0 % (p=0.036)"},
		{"one-sided", nil, five(10), throughput, "not measured on both"},
	} {
		if got := judge(tt.base, [][]float64{tt.side}, tt.column)[0].text(tt.column.Unit); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
