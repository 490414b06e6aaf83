package probe

import (
	"slices"
	"testing"
)

// Prometheus panics on boundaries that do not ascend, and keeps twins twice.
func TestBoundariesAscend(t *testing.T) {
	for name, buckets := range map[string][]float64{"ttft": ttftBuckets(), "itl": itlBuckets(), "duration": durationBuckets(), "lag": lagBuckets(), "delay": delayBuckets()} {
		if !slices.IsSorted(buckets) || len(slices.Compact(slices.Clone(buckets))) != len(buckets) {
			t.Errorf("%s: boundaries not ascending: %v", name, buckets)
		}
	}
}
