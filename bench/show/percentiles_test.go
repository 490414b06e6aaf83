package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTablePercentiles: every table has 50, 90 and the chosen ones, as far as they
// are held.
func TestTablePercentiles(t *testing.T) {
	usual := []float64{50, 66, 75, 80, 90, 95, 98, 99}
	for name, tt := range map[string]struct{ chosen, held, want []float64 }{
		"nothing chosen":   {nil, usual, []float64{50, 90, 99}},
		"others":           {[]float64{99.9, 25}, append(usual, 99.9, 25), []float64{25, 50, 90, 99.9}},
		"chosen already":   {[]float64{90, 50}, usual, []float64{50, 90}},
		"not held":         {[]float64{99.9}, usual, []float64{50, 90}},
		"others are held":  {nil, []float64{25, 50, 75}, []float64{50, 75}},
		"only the median":  {nil, []float64{50}, []float64{50}},
		"nothing is known": {nil, nil, []float64{50, 90, 99}},
	} {
		if diff := cmp.Diff(tt.want, tablePercentiles(tt.chosen, tt.held)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
