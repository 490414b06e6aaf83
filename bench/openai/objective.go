package openai

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Measure names a figure: a latency of requests, or the share of failures.
type Measure string

// Failures is the share of requests that failed, of those that ended by themselves.
const Failures Measure = "failures"

// Objective is what a measure is to be at most.
type Objective struct {
	// Measure is ttft, ttft_first, ttft_later, tpot, itl or e2el, or [Failures].
	Measure Measure `json:"name"`
	// Percentile of a latency that is bounded, above 0 and below 100; 0 bounds that of each request.
	Percentile float64 `json:"percentile,omitempty"`
	Limit      float64 `json:"limit"` // seconds, of failures a ratio; above 0
}

// Label is what the figure is called in tables: "TPOT p90", "TTFT later p90", "failures".
func (o Objective) Label() string {
	if o.Measure == Failures {
		return string(o.Measure)
	}
	latency, turns, _ := strings.Cut(string(o.Measure), "_")
	label := strings.TrimSpace(strings.Replace(strings.ToUpper(latency), "E2EL", "E2E", 1) + " " + turns)
	if o.Percentile == 0 {
		return label
	}
	return fmt.Sprintf("%s p%g", label, o.Percentile)
}

var objectiveForm = regexp.MustCompile(`^(ttft|ttft_first|ttft_later|tpot|itl|e2el):(?:p([0-9.]+)<=?(\w[\w.]*)|([0-9.]+))$|^failures<=?([0-9.]+)%$`)

// ParseObjective reads a percentile of a latency and a time (ttft:p90<2s), a latency of each request in milliseconds as
// vLLM's --goodput has it (ttft:500), or a share of failures above 0 and below 100 percent (failures<1%).
func ParseObjective(text string) (Objective, error) {
	wrong := errors.New("want ttft, ttft_first, ttft_later, tpot, itl or e2el, a percentile and a time, such as ttft:p90<2s, or a share of failures, such as failures<1%")
	parts := objectiveForm.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if parts == nil {
		return Objective{}, wrong
	}
	name, percentile, limit, millis, failures := Measure(parts[1]), parts[2], parts[3], parts[4], parts[5]
	if name == "" {
		percent, err := strconv.ParseFloat(failures, 64)
		if err != nil || percent <= 0 || percent >= 100 {
			return Objective{}, wrong
		}
		return Objective{Measure: Failures, Limit: percent / 100}, nil
	}
	p := 0.0
	if millis != "" {
		limit = millis + "ms"
	} else if p, _ = strconv.ParseFloat(percentile, 64); p <= 0 || p >= 100 {
		return Objective{}, wrong
	}
	most, err := time.ParseDuration(limit)
	if err != nil || most <= 0 {
		return Objective{}, wrong
	}
	return Objective{Measure: name, Percentile: p, Limit: most.Seconds()}, nil
}
