package result

import (
	"fmt"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Objectives are what a good request meets. A request that has no such sample, such
// as a TPOT of one token, meets the objective, as in vLLM's goodput.
type Objectives runlog.Objectives

// Any reports whether there is an objective at all.
func (o Objectives) Any() bool { return o != Objectives{} }

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts []string
	for _, m := range Main() {
		if most := o.Of(m.Key); most > 0 {
			parts = append(parts, fmt.Sprintf("%s of at most %s", m.Name, most))
		}
	}
	return strings.Join(parts, ", ")
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
