package probe

import (
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// What objectives bound, by the SLO's field names, which the label objective has too.
const (
	objectiveTTFT     openai.Measure = "time_to_first_token"
	objectiveTPOT     openai.Measure = "time_per_output_token"
	objectiveITL      openai.Measure = "inter_token_latency" // the longest gap
	objectiveDuration openai.Measure = "request_duration"
)

// objectives are those of the target that are set.
func (t Target) objectives() (all []openai.Objective) {
	for measure, limit := range map[openai.Measure]model.Duration{
		objectiveTTFT: t.spec.SLO.TimeToFirstToken, objectiveTPOT: t.spec.SLO.TimePerOutputToken,
		objectiveITL: t.spec.SLO.InterTokenLatency, objectiveDuration: t.spec.SLO.RequestDuration,
	} {
		if limit > 0 {
			all = append(all, openai.Objective{Measure: measure, Limit: time.Duration(limit).Seconds()})
		}
	}
	return all
}

// missed reports for each set objective whether the request missed it. A request
// that ran out of time waiting for its first token, or for its next, missed that
// objective as surely as a slow one, and so did an answer that ended without text:
// its user never saw a first token. Other failures are counted as failures alone.
func (t Target) missed(tr *openai.Trace) map[string]bool {
	measured := map[openai.Measure]time.Duration{}
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
	for _, o := range t.objectives() {
		isNever := textless && (o.Measure == objectiveTTFT || o.Measure == objectiveDuration)
		missed[string(o.Measure)] = measured[o.Measure].Seconds() > o.Limit || isNever
	}
	return missed
}
