package show

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const (
	median          = 50
	usualPercentile = 99 // where none was asked for
)

// tablePercentiles are those of held that tables have room for: 50, 90 and the
// chosen ones, 99 where none were. Where held has nothing of them above the median,
// its highest stands in.
func tablePercentiles(chosen, held []float64) []float64 {
	if len(chosen) == 0 {
		chosen = []float64{usualPercentile}
	}
	wanted := append([]float64{median, 90}, chosen...)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if len(held) == 0 {
		return wanted
	}
	shown := slices.DeleteFunc(wanted, func(p float64) bool { return !slices.Contains(held, p) })
	if highest := held[len(held)-1]; len(shown) == 0 || shown[len(shown)-1] <= median && highest > median {
		shown = append(shown, highest)
	}
	return shown
}

// reportPercentiles are those of tables over all steps.
func reportPercentiles(r *result.Report) []float64 {
	return tablePercentiles(r.Chosen, heldPercentiles(r))
}

// heldPercentiles are all that some step holds of the whole of it, ascending.
func heldPercentiles(r *result.Report) []float64 {
	var all []float64
	for i := range r.Steps {
		all = append(all, held(&r.Steps[i])...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func held(s *result.Step) []float64 {
	var all []float64
	for _, key := range []result.Key{result.TTFT, result.E2E} {
		for _, p := range s.Whole.Of(key).Percentiles {
			all = append(all, p.P)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
