package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	minSteadyRequests = 10                // in a steady window
	minLoadShare      = 0.95              // of what was configured, and of arrivals that are to have ended
	minGrowth         = 1.1               // of latencies where requests pile up
	timeNoise         = 3                 // standard errors of the difference of two means
	spansOfLength     = 4                 // into which a p90 of E2E is divided where requests in flight are followed
	leastSpans        = 2 * spansOfLength // behind the first p90
)

// Two reasons for which a step has no steady part.
const (
	pileUp  = "the server did not keep up with the rate, so requests piled up: lower it"
	growing = "requests in flight were still growing at the end: raise --num-prompts, or lower the rate"
)

// Overloaded reports whether the server did not keep up with the rate of an open loop.
func (s *Step) Overloaded() bool { return s.NotSteady == pileUp }

// steadyWindow is the part of a step without ramp and drain, or why there is none, in a clause.
func (d *stepData) steadyWindow() (w span, why string) {
	level, least := d.Concurrency, max(minSteadyRequests, d.Concurrency)
	last := int64(math.MaxInt64) // sent by the first machine that had none left
	for _, p := range d.parts {
		if p.sending != (span{}) {
			last = min(last, p.sending.to)
		}
	}
	switch {
	case len(d.requests) == 0:
		return w, "no request was sent"
	case d.Arrival == runlog.ArrivalBurst:
		return w, "all requests were sent at once"
	case level > 0:
		reached, atLevel := d.curve.reached(level)
		if !atLevel {
			return w, fmt.Sprintf("never more than %d of %d %s were in flight at once", d.curve.peak(d.curve.whole()), level, d.noun())
		}
		w = span{reached, last}
	case d.overloaded():
		return w, pileUp
	default:
		if w, why = d.openWindow(last); why != "" {
			return span{}, why
		}
	}
	if n := len(sentIn(w, d.units)); w.to <= w.from || n < least {
		return span{}, fmt.Sprintf("only %d %s in steady state, %d needed: raise --num-prompts", n, d.noun(), least)
	}
	return w, ""
}

// openWindow returns the steady part of an open loop, up to the last request sent. It begins one p90 of E2E after the
// ramp. If the mean of requests in flight was another at first, it begins where that mean has the least standard error
// (MSER, White 1997), in the first half. There is none where requests in flight grow. A trace need not be steady.
func (d *stepData) openWindow(last int64) (w span, why string) {
	var took []Value // in flight, by requests or conversations that were not refused at once
	for _, u := range d.units {
		if u.answered {
			took = append(took, Value(u.end-u.start))
		}
	}
	p90, answered := newDistribution(took, []float64{90}, 1).At(90)
	if !answered {
		return w, "no request succeeded"
	}
	from, length := int64(0), int64(p90.Value)
	for _, p := range d.parts {
		if p.sending != (span{}) {
			from = max(from, p.sending.from+int64(p.step.RampUp))
		}
	}
	w = span{from + length, last}
	if d.Arrival == runlog.ArrivalReplay {
		return w, ""
	}
	const mostSpans = 1 << 16
	width := max(1, length/spansOfLength, (w.to-w.from)/mostSpans)
	n := int((w.to - w.from) / width)
	if n < leastSpans {
		return w, fmt.Sprintf("requests were sent for %.3g s, at least three times the p90 of E2E (%.3g s) is needed: raise --num-prompts",
			max(0, span{from, last}.seconds()), span{0, length}.seconds())
	}
	inFlight := inFlightMeans(d.units, w.from, width, n)
	settled := leastErrorFrom(inFlight)
	if !differ(inFlight[:settled], inFlight[settled:]) {
		settled = 0
	}
	rest := inFlight[settled:]
	at := make([]float64, len(rest))
	for i := range at {
		at[i] = float64(i) * float64(width)
	}
	trend, known := newTrend(at, rest)
	first, second := rest[:len(rest)/2], rest[len(rest)/2:]
	isGreater := stat.Mean(second, nil) > stat.Mean(first, nil) && differ(first, second)
	if isGreater || known && trend.Clear && trend.PerHour > 0 {
		return w, growing
	}
	w.from += int64(settled) * width
	return w, ""
}

// leastErrorFrom is from which value of the first half on the standard error of the mean is least.
func leastErrorFrom(values []float64) int {
	var m moments
	best, least := 0, math.Inf(1)
	for i, v := range slices.Backward(values) {
		m.add(v, 1)
		if e := m.m2 / float64(m.n-1) / float64(m.n); i <= len(values)/2 && e <= least {
			best, least = i, e
		}
	}
	return best
}

// inFlightMeans are how many units had arrived and not ended, on the mean of each of n spans of a width: those that
// wait under a bound on concurrency are a part of the load.
func inFlightMeans(units []unit, from, width int64, n int) []float64 {
	all := make([]float64, n)
	for _, u := range units {
		for i := max(0, (u.arrival()-from)/width); i < int64(n); i++ {
			s := span{from + i*width, from + (i+1)*width}
			if u.end <= s.from {
				break
			}
			all[i] += float64(s.clamp(u.end)-s.clamp(u.arrival())) / float64(width)
		}
	}
	return all
}

// differ reports whether two means differ beyond chance, by three standard errors, and by a fair part.
func differ(a, b []float64) bool {
	meanA, meanB := stat.Mean(a, nil), stat.Mean(b, nil)
	d := math.Abs(meanA - meanB)
	return d > timeNoise*math.Hypot(errorOfMean(a), errorOfMean(b)) && d > fairPart*max(meanA, meanB)
}

// overloaded reports whether less than 95 % of the units of an open loop had ended when the last of them arrived,
// while the times from arrival to end grew, as they do not where answers are merely long.
func (d *stepData) overloaded() bool {
	byArrival := slices.Clone(d.units)
	slices.SortFunc(byArrival, func(a, b unit) int { return cmp.Compare(a.arrival(), b.arrival()) })
	n, ended := len(byArrival), 0
	last := byArrival[n-1].arrival()
	var early, late []float64
	for i, u := range byArrival {
		if u.end <= last {
			ended++
		}
		switch 4 * i / n { // the first quarter meets an empty server
		case 1:
			early = append(early, float64(u.end-u.arrival()))
		case 3:
			late = append(late, float64(u.end-u.arrival()))
		}
	}
	grew := stat.Mean(late, nil) > minGrowth*stat.Mean(early, nil) && differ(early, late)
	return grew && float64(ended) < minLoadShare*float64(n)
}
