package runlog

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The loads that a capacity is searched for, as report.json has them.
const (
	VariableConcurrency = "concurrency"
	VariableRequestRate = "request_rate"
)

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

// LimitFailures is the name of a [Limit] on the share of failures.
const LimitFailures = "failures"

// Limit is what a figure of a step is to be at most.
type Limit struct {
	// Name is ttft, ttft_first, ttft_later, tpot, itl or e2el, or [LimitFailures].
	Name       string  `json:"name"`
	Percentile float64 `json:"percentile,omitempty"` // of a latency, above 0 and below 100
	Limit      float64 `json:"limit"`                // seconds, of failures a ratio; above 0
}

// Label is what the figure is called in tables: "TPOT p90", "TTFT later p90", "failures".
func (l Limit) Label() string {
	if l.Name == LimitFailures {
		return l.Name
	}
	measure, turns, _ := strings.Cut(l.Name, "_")
	return fmt.Sprintf("%s p%g", strings.TrimSpace(strings.ToUpper(measure)+" "+turns), l.Percentile)
}

var (
	failuresLimit = regexp.MustCompile(`^failures<=?([0-9.]+)%$`)
	latencyLimit  = regexp.MustCompile(`^(ttft|ttft_first|ttft_later|tpot|itl|e2el):p([0-9.]+)<=?(\w[\w.]*)$`)

	errLimit = errors.New("want ttft, ttft_first, ttft_later, tpot, itl or e2el, a percentile and a time, such as ttft:p90<2s, or a share of failures, such as failures<1%")
)

// ParseLimit reads ttft:p90<2s or failures<1%: a latency, a percentile of it above 0 and below
// 100, and a time with its unit; or failures and a share of the requests, in percent.
func ParseLimit(text string) (Limit, error) {
	text = strings.ReplaceAll(text, " ", "")
	if parts := failuresLimit.FindStringSubmatch(text); parts != nil {
		share, err := strconv.ParseFloat(parts[1], 64)
		if err != nil || share <= 0 || share >= 100 {
			return Limit{}, errLimit
		}
		return Limit{Name: LimitFailures, Limit: share / 100}, nil
	}
	parts := latencyLimit.FindStringSubmatch(text)
	if parts == nil {
		return Limit{}, errLimit
	}
	p, err1 := strconv.ParseFloat(parts[2], 64)
	most, err2 := time.ParseDuration(parts[3])
	if err1 != nil || p <= 0 || p >= 100 || err2 != nil || most <= 0 {
		return Limit{}, errLimit
	}
	return Limit{Name: parts[1], Percentile: p, Limit: most.Seconds()}, nil
}
