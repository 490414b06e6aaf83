package capacity

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// How long a level is, where nobody says.
const (
	leastRequests   = 20
	requestsPerUser = 8           // about five times the p90 of E2E
	firstLevel      = time.Minute // at a rate, before it is known how long an answer takes
	// A level at a rate lasts leastAnswers times the p90 of E2E at least. One that is too short to tell is run
	// again, longer, until it lasts mostAnswers times that, and has requests enough or takes mostTime.
	leastAnswers = 5
	mostAnswers  = 40
	mostTime     = 10 * time.Minute
	// Of n random arrivals the rate is only right within 2/√n (95 %), and near the edge latencies change about
	// twice as much as the rate.
	arrivalNoise = 2
	sensitivity  = 2
)

// enoughRequests are those whose rate is as precise as the answer is to be.
func enoughRequests(precision float64) float64 { return math.Pow(arrivalNoise/precision, 2) }

// Judgement is what one step says of its level.
type Judgement struct {
	Verdict Verdict
	Why     string // a void step says nothing, or a stationary state is missed: a clause
	// Longer is true where the step was too short to tell: it has no say, and is run again.
	Longer bool
}

// Judge says whether a step of a search met its objectives. Requests that pile up are a miss, and so is a
// rate at which the load does not become steady however long it is kept up. A load generator that was the limit says
// nothing of the server, and a load that was short nothing of its level.
func Judge(s *result.Step, search *runlog.Capacity) Judgement {
	isRandom := s.Paced() && s.Arrival != runlog.ArrivalConstant
	isShort := isRandom && float64(s.Account.Attempted) < enoughRequests(search.Precision) && s.Whole.Window.Duration() < mostTime
	grows := search.Grows && (answers(s) < mostAnswers || isShort)
	noise := 0.0 // of the load, as a share of it
	if s.Steady != nil && isRandom {
		noise = arrivalNoise / math.Sqrt(float64(max(1, s.Steady.Account.Attempted)))
	}
	missed, isClose, unknown := false, false, ""
	for _, o := range s.Objectives {
		isFailures := o.Measure == openai.Failures
		switch {
		case !o.Value.Known():
			unknown = "no request has a " + o.Label()
		case isFailures && o.Value == 0 || !isFailures && (s.Steady == nil || s.Short != ""): // which says nothing of the level
		case grows && !o.AtLeast && isNear(o, noise, search.Precision):
			isClose = true
		case o.Excess() > 1:
			missed = true
		}
	}
	const clientWas = "the load generator was the limit: "
	switch {
	case s.Overloaded(), missed && s.ClientLimit == "":
		return Judgement{Verdict: Missed}
	case s.ClientLimit != "":
		return Judgement{Why: clientWas + s.ClientLimit}
	case s.Steady == nil && s.Paced() && search.Grows && s.Account.Succeeded > 0:
		if grows {
			return Judgement{Why: s.NotSteady, Longer: true}
		}
		return Judgement{Verdict: Missed, Why: fmt.Sprintf("not steady within %d times the p90 of E2E", mostAnswers)}
	case s.Steady == nil:
		return Judgement{Why: "no steady state (" + s.NotSteady + ")"}
	case s.Short != "":
		return Judgement{Why: clientWas + s.Short}
	case unknown != "":
		return Judgement{Why: unknown}
	case isClose, grows && s.Paced() && answers(s) < leastAnswers:
		return Judgement{Why: "too short to tell", Longer: true}
	}
	return Judgement{Verdict: Met}
}

// isNear reports whether a figure is so close to its limit, for how far off it may be, that a longer step could say another thing.
func isNear(o result.ObjectiveResult, noise, precision float64) bool {
	off := max(float64(o.Error), sensitivity*noise*o.Limit)
	isPrecise := float64(o.Error) <= sensitivity*precision*o.Limit && noise <= precision
	return !isPrecise && math.Abs(float64(o.Value)-o.Limit) <= off
}

// answers are how many times the p90 of E2E a step lasted, 0 where there is none.
func answers(s *result.Step) float64 {
	p90, ok := s.Whole.Of(result.E2E).At(90)
	if !ok || p90.Value == 0 {
		return 0
	}
	return s.Whole.Window.Duration().Seconds() / p90.Value
}

// nextStep is the step at a level behind others of the search, of the shape of most.
func nextStep(most runlog.Step, level float64, search *runlog.Capacity, done []result.Step) runlog.Step {
	s := most
	s.Index = len(done)
	least, longest := level*requestsPerUser, 0.0
	if s.Concurrency > 0 {
		s.RampUp = time.Duration(float64(s.RampUp) * level / float64(s.Concurrency))
		s.Concurrency = int(level)
	} else {
		s.Rate = level
		for i := range done {
			if p90, _ := done[i].Whole.Of(result.E2E).At(90); done[i].Rate <= level {
				longest = max(longest, p90.Value)
			}
		}
		least = level * (s.RampUp.Seconds() + cmp.Or((leastAnswers+1)*longest, firstLevel.Seconds()))
	}
	for _, o := range search.Objectives { // two requests beyond the percentile
		least = max(least, leastRequests, 2*100/(100-o.Percentile))
	}
	for i := range done {
		if last := &done[i]; last.Concurrency == s.Concurrency && last.Rate == s.Rate {
			s.Repeat++
			least = max(least, float64(last.Requests))
			if j := Judge(last, search); j.Longer || last.Steady == nil {
				least = max(2*float64(last.Requests), min(enoughRequests(search.Precision), level*max(mostAnswers*longest, mostTime.Seconds())))
			}
		}
	}
	if search.Grows {
		s.Requests = int(math.Ceil(least))
	}
	return s
}
