package result

import "github.com/accelerator-exporter/accelerator_exporter/bench/runlog"

// Held is a figure of a step that has a limit.
type Held struct {
	runlog.Limit
	Value float64 // in seconds, of failures a share; 0 where it is not Known
	Known bool    // false without a sample
}

// Excess is the figure over its limit: more than 1 is a miss.
func (h Held) Excess() float64 { return h.Value / h.Limit.Limit }

// held are the figures of a window that have limits.
func held(limits []runlog.Limit, f *Figures) []Held {
	var all []Held
	for _, l := range limits {
		h := Held{Limit: l}
		if l.Name == runlog.LimitFailures {
			h.Value, h.Known = f.Account.FailureRatio(), f.Account.Succeeded+f.Account.Failures() > 0
		} else {
			h.Value, h.Known = f.Of(Key(l.Name)).At(l.Percentile)
		}
		all = append(all, h)
	}
	return all
}
