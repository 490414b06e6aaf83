package result

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Objectives are what a good request meets. A request that has no such sample, such
// as a TPOT of one token, meets the objective, as in vLLM's goodput.
type Objectives runlog.Objectives

// Any reports whether there is an objective at all.
func (o Objectives) Any() bool { return o != Objectives{} }

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts words.List
	for _, m := range Main() {
		parts.If(o.Of(m.Key) > 0, "%s of at most %s", m.Name, o.Of(m.Key))
	}
	return parts.String()
}

// Of is the objective of a measure, 0 for none.
func (o Objectives) Of(key Key) time.Duration {
	switch key {
	case TTFT:
		return o.TTFT
	case TPOT:
		return o.TPOT
	case ITL:
		return o.ITL
	case E2E:
		return o.E2E
	}
	return 0
}
