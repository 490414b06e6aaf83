package show

import (
	"encoding/json"
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// jsonSchema is the version of what [JSON] writes. Keys may be added to one version;
// none is renamed or taken away.
const jsonSchema = 1

type jsonReport struct {
	Schema     int                    `json:"schema"`
	Program    string                 `json:"program"`
	Complete   bool                   `json:"complete"`
	Damaged    int                    `json:"damaged_lines"`
	Objectives map[result.Key]float64 `json:"objectives_seconds,omitempty"`
	Capacity   any                    `json:"capacity,omitempty"`
	Runs       []runlog.Run           `json:"runs"`
	Steps      []jsonStep             `json:"steps"`
	NotRun     []string               `json:"not_run"`
}

// jsonStep is a step without what there is for each request: that is in the log.
type jsonStep struct {
	Name          string                   `json:"name"`
	Load          runlog.Step              `json:"load"`
	Machines      int                      `json:"machines"`
	Stop          runlog.Stop              `json:"stop"`
	Account       result.Account           `json:"account"`
	FailureRatio  float64                  `json:"failure_ratio"`
	FailedAs      map[openai.Reason]string `json:"failed_as,omitempty"`
	Whole         result.Figures           `json:"whole"`
	Steady        *result.Figures          `json:"steady"`
	NotSteady     string                   `json:"not_steady,omitempty"`
	Checks        result.Checks            `json:"checks"`
	Dataset       *runlog.DatasetCount     `json:"dataset"`
	Cards         []result.Card            `json:"cards"`
	AssumedTarget string                   `json:"assumed_target,omitempty"`
	Joules        *float64                 `json:"joules"`
	PerToken      *float64                 `json:"joules_per_output_token"`
	Server        *result.ServerSample     `json:"server"`
	Warnings      []string                 `json:"warnings"`
}

func newJSONStep(s *result.Step) jsonStep {
	j := jsonStep{
		Name: s.Name, Load: s.Step, Machines: s.Machines, Stop: s.Stop, Account: s.Account, FailureRatio: s.Account.FailureRatio(),
		FailedAs: s.FailedAs, Whole: s.Whole, Steady: s.Steady, NotSteady: s.NotSteady, Checks: s.Checks, Cards: append([]result.Card{}, s.Cards...),
		AssumedTarget: s.AssumedTarget, Joules: s.Joules, Server: s.Server, Warnings: append([]string{}, s.Warnings...),
	}
	if v, known := s.JoulesPerToken(); known {
		j.PerToken = &v
	}
	if s.DatasetKnown {
		j.Dataset = &s.Dataset
	}
	return j
}

// JSON writes the whole report, indented. Keys are snake case; durations are seconds,
// except under "load", which is the log's own record and has its units in its keys
// (_ns). What is not known is null.
func JSON(w io.Writer, r *result.Report) error {
	j := jsonReport{
		Schema: jsonSchema, Program: "accelbench", Complete: r.Complete, Damaged: r.Damaged,
		Objectives: map[result.Key]float64{}, Capacity: capacityObject(r), Runs: r.Runs,
		Steps: make([]jsonStep, len(r.Steps)), NotRun: append([]string{}, r.NotRun...),
	}
	for _, m := range result.Main() {
		if d := r.Objectives.Of(m.Key); d > 0 {
			j.Objectives[m.Key] = d.Seconds()
		}
	}
	for i := range r.Steps {
		j.Steps[i] = newJSONStep(&r.Steps[i])
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}
