package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// search chooses the steps of a run from its log.
type search struct {
	*capacityFlags
	log      *runlog.Capacity
	options  result.Options
	follower *result.Follower // of the run's log, nil before the first step is over
	stderr   io.Writer
	steps    int  // that were chosen
	gone     bool // the server does not answer any more
}

// soFar is the report of what is in the log of a folder.
func (q *search) soFar(folder string) (r *result.Report, err error) {
	if q.follower == nil {
		if q.follower, err = result.Follow(q.options, folder); err != nil {
			return nil, err
		}
	}
	return q.follower.Report()
}

// next is the step that follows those in the log of a folder.
func (q *search) next(folder string) (s runlog.Step, more bool, err error) {
	var r *result.Report
	level, more := result.SearchOf(q.log).Next(nil)
	if q.steps > 0 {
		if r, err = q.soFar(folder); err != nil {
			return s, false, fmt.Errorf("choosing the next level: %w", err)
		}
		level, more = r.Capacity.Search.Next(r.Capacity.Trials)
		q.gone = r.Capacity.Gone
		if last := &r.Steps[len(r.Steps)-1]; last.Unanswered() && r.Capacity.Value > 0 { // does it hang?
			level, more = r.Capacity.Value, true
		}
	}
	if !more || q.gone {
		return s, false, nil
	}
	atLeast, runs := 0, 0
	if r == nil {
		q.say(q.begins())
	} else {
		atLeast = q.ramping(r, level)
		if l := r.Capacity.At(level); l != nil {
			runs = len(l.Steps)
			if retry := r.Steps[l.Steps[runs-1]]; retry.Steady == nil && retry.Step.Requests > 0 {
				atLeast = max(2*retry.Step.Requests, 3*retry.SteadyTakes/2)
			}
		}
		q.say(q.progress(r, level))
	}
	load := q.load(level, atLeast)
	steps, err := load.steps(q.ask.maxTokens, false)
	if err != nil {
		return s, false, err
	}
	s = steps[0]
	s.Index, s.Repeat = q.steps, runs
	q.steps++
	return s, true, nil
}

// load are the flags of one level, of so many requests at least unless flags say how
// many.
func (q *search) load(level float64, atLeast int) loadFlags {
	l := q.runFlags.load
	l.users, l.rates = nil, nil
	atLeast = max(atLeast, q.leastRequests())
	if q.log.Variable == runlog.VariableConcurrency {
		l.users = []int{int(level)}
		atLeast = max(atLeast, requestsPerUser*int(level))
	} else {
		l.rates = []float64{level}
		atLeast = max(atLeast, int(math.Ceil(level*rateTime.Seconds())))
	}
	switch {
	case q.stepDuration > 0:
		l.requests, l.duration = 0, q.stepDuration
	case q.requestsSet:
		l.requests = q.stepRequests
	default:
		l.requests = atLeast
	}
	return l
}

// leastRequests is how many the percentiles of a level take, with some beyond them.
func (q *search) leastRequests() int {
	most := 50.0
	for _, limit := range q.limits {
		most = max(most, limit.Percentile)
	}
	return max(int(math.Ceil(2*100/(100-most)-1e-6)), leastRequests)
}

// How long a level is where no flag says so.
const (
	leastRequests   = 20
	requestsPerUser = 6
	rateTime        = time.Minute
)

// ramping is how many requests a level takes with those that users send while others
// still start, which are many where answers are short.
func (q *search) ramping(r *result.Report, level float64) int {
	last := r.Steps[len(r.Steps)-1].Whole.Of(result.E2E)
	if q.log.Variable != runlog.VariableConcurrency || last.Count == 0 || last.Mean <= 0 {
		return 0
	}
	ramp := q.runFlags.load.rampUp
	if !q.runFlags.load.rampUpSet {
		ramp = time.Duration(level) * rampUpPerUser
	}
	return int(level * (requestsPerUser + ramp.Seconds()/(2*last.Mean)))
}

// say writes a line about the search.
func (q *search) say(line string) {
	if !q.out.quiet {
		tell(q.stderr, []string{line + "; those near the edge are repeated"})
	}
}

// begins says what is looked for, and how.
func (q *search) begins() string {
	variable, length := "users", fmt.Sprintf("%d requests a user or %d", requestsPerUser, q.leastRequests())
	if q.log.Variable == runlog.VariableRequestRate {
		variable, length = "requests/s", fmt.Sprintf("a minute's requests or %d", q.leastRequests())
	}
	switch {
	case q.stepDuration > 0:
		length = q.stepDuration.String()
	case q.requestsSet:
		length = counted(q.stepRequests, "request")
	}
	objectives := make([]string, len(q.limits))
	for i, l := range q.limits {
		objectives[i] = show.Objective(l)
	}
	return fmt.Sprintf("looking for the most of %v..%v %s with %s; at most %s, each of %s", q.log.From, q.log.To, variable,
		strings.Join(objectives, ", "), counted(result.SearchOf(q.log).Left(nil), "level"), length)
}

// progress says what is tried, what is known, and how long it may take yet.
func (q *search) progress(r *result.Report, level float64) string {
	c := r.Capacity
	left, longest := c.Search.Left(c.Trials), time.Duration(0)
	for i := range r.Steps {
		longest = max(longest, r.Steps[i].Whole.Window.Duration())
	}
	return fmt.Sprintf("%s; next: %s; at most %s to come, %s if none takes longer than the longest so far",
		show.Answer(r), c.Title(level), counted(left, "level"), (time.Duration(left) * longest).Round(time.Second))
}

// parseUserRange reads 1..256.
func parseUserRange(text string) (levels, error) {
	return parseRange(text, "range of users such as 1..256", func(part string) (float64, error) {
		n, err := strconv.Atoi(part)
		return float64(n), err
	})
}

// parseRateRange reads 0.5..20.
func parseRateRange(text string) (levels, error) {
	return parseRange(text, "range of rates such as 0.5..20", func(part string) (float64, error) { return strconv.ParseFloat(part, 64) })
}

func parseRange(text, what string, number func(string) (float64, error)) (levels, error) {
	from, to, found := strings.Cut(text, "..")
	low, errLow := number(from)
	high, errHigh := number(to)
	if !found || errLow != nil || errHigh != nil || !(low > 0) || !(low <= high) || math.IsInf(high, 0) {
		return levels{}, fmt.Errorf("%q is no %s", text, what)
	}
	return levels{low, high}, nil
}

// parsePrecision reads 5% or 0.05.
func parsePrecision(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0.001 && share <= 0.5) {
		return 0, fmt.Errorf("%q is no share from 0.1%% to 50%%, such as 5%%", text)
	}
	return share, nil
}

// counted writes "1 level", "2 levels".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
