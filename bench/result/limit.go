package result

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Limit is what a figure of a step is to be at most.
type Limit runlog.Limit

// mostLimited is the highest percentile that can have a limit: one of 10,000 requests is
// beyond it.
const mostLimited = 99.99

var (
	failuresLimit = regexp.MustCompile(`^failures<=?([0-9.]+)%$`)
	latencyLimit  = regexp.MustCompile(`^(\w+):p([0-9.]+)<=?(\w[\w.]*)$`)

	errLimit = errors.New("want ttft, tpot, itl, e2el or another latency of report.json, a percentile from p1 to p99.99 and a time, such as ttft:p90<2s, or a share of failures, such as failures<1%")
)

// limited are the measures that can have a limit.
func limited() []Measure {
	return slices.DeleteFunc(Measures(), func(m Measure) bool { return m.Kind != Latency && m.Kind != FromDue })
}

// ParseLimit reads ttft:p90<2s or failures<1%: a latency by its key in report.json, of
// which e2el may be written e2e, a percentile of it above 0 and at most 99.99, and a time
// with its unit; or failures and a share of the requests, in percent.
func ParseLimit(text string) (Limit, error) {
	text = strings.ReplaceAll(text, " ", "")
	if parts := failuresLimit.FindStringSubmatch(text); parts != nil {
		share, err := strconv.ParseFloat(parts[1], 64)
		if err != nil || share <= 0 || share >= 100 {
			return Limit{}, errLimit
		}
		return Limit{Name: runlog.LimitFailures, Limit: share / 100}, nil
	}
	parts := latencyLimit.FindStringSubmatch(text)
	if parts == nil {
		return Limit{}, errLimit
	}
	name := parts[1]
	if name == "e2e" {
		name = string(E2E)
	}
	p, err1 := strconv.ParseFloat(parts[2], 64)
	most, err2 := time.ParseDuration(parts[3])
	known := slices.ContainsFunc(limited(), func(m Measure) bool { return string(m.Key) == name })
	if !known || err1 != nil || p <= 0 || p > mostLimited || err2 != nil || most <= 0 {
		return Limit{}, errLimit
	}
	return Limit{Name: name, Percentile: p, Limit: most.Seconds()}, nil
}

// Label is what the figure is called in tables: "TPOT p90", "failures".
func (l Limit) Label() string {
	for _, m := range limited() {
		if string(m.Key) == l.Name {
			return fmt.Sprintf("%s p%g", m.Name, l.Percentile)
		}
	}
	return l.Name
}

// Held is a figure of a step that has a limit.
type Held struct {
	Limit
	Value float64 // in seconds, of failures a share; 0 where it is not Known
	Known bool    // false without a sample
}

// Missed reports whether the figure is over its limit.
func (h Held) Missed() bool { return h.Value > h.Limit.Limit }

// Excess is the figure over its limit: 1 is as much as is allowed.
func (h Held) Excess() float64 { return h.Value / h.Limit.Limit }

// held are the figures of a window that have limits.
func held(limits []runlog.Limit, f *Figures) []Held {
	var all []Held
	for _, l := range limits {
		h := Held{Limit: Limit(l)}
		if l.Name == runlog.LimitFailures {
			h.Value, h.Known = f.Account.FailureRatio(), f.Account.Succeeded+f.Account.Failures() > 0
		} else {
			h.Value, h.Known = f.Of(Key(l.Name)).At(l.Percentile)
		}
		all = append(all, h)
	}
	return all
}

// percentilesOf are those that limits are on.
func percentilesOf(limits []runlog.Limit) []float64 {
	var all []float64
	for _, l := range limits {
		if l.Percentile > 0 {
			all = append(all, l.Percentile)
		}
	}
	return all
}
