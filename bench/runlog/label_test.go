package runlog

import "testing"

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		step              Step
		short, long, load string
	}{
		{Step{Arrival: ArrivalClosed, Concurrency: 8, Repeat: 3}, "8 #4", "8 users #4", "8 users"},
		{Step{Arrival: ArrivalBurst, MaxConcurrency: 100}, "inf max 100", "all at once, at most 100 in flight", "all at once, at most 100 in flight"},
		{Step{Arrival: ArrivalPoisson, Rate: 4}, "4 req/s", "4 requests/s", "4 requests/s, poisson"},
		{Step{Arrival: ArrivalGamma, Rate: 0.5, Burstiness: 0.25, MaxConcurrency: 9}, "0.5 req/s max 9", "0.5 requests/s, at most 9 in flight", "0.5 requests/s, at most 9 in flight, burstiness 0.25"},
		{Step{Arrival: ArrivalReplay}, "replay", "replay", "replay"},
	} {
		if got := tt.step.Label(false); got.Short != tt.short || got.Long != tt.long || got.Load != tt.load {
			t.Errorf("%+v, want %q, %q and %q", got, tt.short, tt.long, tt.load)
		}
	}
}
