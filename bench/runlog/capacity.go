package runlog

// The loads that a capacity is searched for, as report.json has them.
const (
	VariableConcurrency = "concurrency"
	VariableRequestRate = "request_rate"
)

// LimitFailures is the name of a [Limit] on the share of failures.
const LimitFailures = "failures"

// Limit is what a figure of a step is to be at most.
type Limit struct {
	// Name is a latency's as report.json has it, such as ttft, or [LimitFailures].
	Name       string  `json:"name"`
	Percentile float64 `json:"percentile,omitempty"` // of a latency, above 0 and below 100
	Limit      float64 `json:"limit"`                // seconds, of failures a ratio; above 0
}

// Capacity is the search that chose the steps of a run: a report makes the answer from
// it and from the steps.
type Capacity struct {
	Variable   string  `json:"variable"`
	From       float64 `json:"from"` // users, or requests a second
	To         float64 `json:"to"`
	Precision  float64 `json:"precision"` // ratio
	Repeat     int     `json:"repeat"`
	Objectives []Limit `json:"objectives"`
}
