package runlog

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// The loads that a capacity is searched for, as report.json has them.
const (
	VariableConcurrency = "concurrency"
	VariableRequestRate = "request_rate"
)

// Capacity is the search that chose the steps of a run: a report makes the answer from
// it and from the steps.
type Capacity struct {
	Variable   string             `json:"variable"`
	From       float64            `json:"from"` // users, or requests a second
	To         float64            `json:"to"`
	Precision  float64            `json:"precision"` // ratio
	Repeat     int                `json:"repeat"`
	Objectives []openai.Objective `json:"objectives"`
	// Grows is true where a level that was too short to tell is run again, twice as long.
	Grows bool `json:"grows,omitempty"`
}

// Objectives are what each good request meets. ITL is held against the mean of a request's
// gaps. In JSON they are nanoseconds by measure: {"ttft_ns":500000000}.
type Objectives []openai.Objective

// MarshalJSON implements [json.Marshaler].
func (o Objectives) MarshalJSON() ([]byte, error) {
	limits := map[string]time.Duration{}
	for _, one := range o {
		limits[string(one.Measure)+"_ns"] = time.Duration(one.Limit * float64(time.Second))
	}
	return json.Marshal(limits)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Objectives) UnmarshalJSON(text []byte) error {
	var limits map[string]time.Duration
	if err := json.Unmarshal(text, &limits); err != nil {
		return err
	}
	*o = nil
	for _, measure := range []openai.Measure{"ttft", "tpot", "itl", "e2el"} {
		if limit, isSet := limits[string(measure)+"_ns"]; isSet {
			*o = append(*o, openai.Objective{Measure: measure, Limit: limit.Seconds()})
		}
	}
	return nil
}

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts []string
	for _, one := range o {
		parts = append(parts, fmt.Sprintf("%s of at most %s", one.Label(), time.Duration(one.Limit*float64(time.Second))))
	}
	return strings.Join(parts, ", ")
}
