package probe

import (
	"maps"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Names of the objectives, which are the SLO's field names.
const (
	objectiveTTFT     = "time_to_first_token"
	objectiveTPOT     = "time_per_output_token"
	objectiveITL      = "inter_token_latency"
	objectiveDuration = "request_duration"
)

// objectives are the target's set objectives by name.
func (t Target) objectives() map[string]time.Duration {
	set := map[string]time.Duration{
		objectiveTTFT:     time.Duration(t.spec.SLO.TimeToFirstToken),
		objectiveTPOT:     time.Duration(t.spec.SLO.TimePerOutputToken),
		objectiveITL:      time.Duration(t.spec.SLO.InterTokenLatency),
		objectiveDuration: time.Duration(t.spec.SLO.RequestDuration),
	}
	maps.DeleteFunc(set, func(_ string, objective time.Duration) bool { return objective <= 0 })
	return set
}

// missed reports for each set objective whether the request missed it. A request
// that ran out of time waiting for its first token, or for its next, missed that
// objective as surely as a slow one, and so did an answer that ended without text:
// its user never saw a first token. Other failures are counted as failures alone.
func (t Target) missed(tr *openai.Trace) map[string]bool {
	measured := map[string]time.Duration{}
	measured[objectiveTTFT], _ = openai.TTFT(tr) // 0 for none, which misses nothing
	measured[objectiveTPOT], _ = openai.TPOT(tr)
	measured[objectiveDuration], _ = openai.E2E(tr)
	if gaps := openai.ITLs(tr); len(gaps) > 0 {
		measured[objectiveITL] = slices.Max(gaps)
	}
	if f := tr.Failure; f != nil {
		switch f.Reason {
		case openai.ReasonTimeoutFirstToken:
			measured[objectiveTTFT], measured[objectiveDuration] = tr.End, tr.End
		case openai.ReasonTimeout, openai.ReasonStalled:
			measured[objectiveDuration] = tr.End
			if n := len(tr.Chunks); n > 0 {
				measured[objectiveITL] = max(measured[objectiveITL], tr.End-tr.Chunks[n-1].At)
			}
		}
	}
	textless := tr.Failure == nil && len(tr.Chunks) == 0
	missed := map[string]bool{}
	for name, objective := range t.objectives() {
		missed[name] = measured[name] > objective || textless && (name == objectiveTTFT || name == objectiveDuration)
	}
	return missed
}
