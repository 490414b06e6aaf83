package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// maxPoints is how many requests a page draws: a browser has to bear them, and whoever sends the file.
const maxPoints = 20_000

// overLoad draws the pictures of a report, nothing where there is but one load.
func overLoad(r *result.Report) charts {
	var all charts
	for _, p := range Pictures(r) {
		all.Axis, all.X = p.unit(), nil
		for i := range p.steps {
			all.X = append(all.X, p.steps[i].Level())
		}
		if all.X = slices.Compact(all.X); len(all.X) < 2 {
			return charts{}
		}
		for _, n := range p.panels {
			c := chart{Title: n.title, Limits: limits(r, n.lines[0].Key)}
			for _, column := range n.lines {
				c.Lines = append(c.Lines, p.line(column, all.X))
			}
			if p.capacity != nil && p.capacity.Value > 0 {
				c.Mark = &mark{"carries " + number(p.capacity.Value), p.capacity.Value}
			}
			all.Charts = append(all.Charts, c)
		}
	}
	all.IsLog = all.X[0] > 0 && all.X[len(all.X)-1] >= 8*all.X[0]
	return all
}

// line is a column over the loads, of a load that was repeated the mean.
func (p *Picture) line(c Column, loads []float64) line {
	l := line{Name: c.Head}
	for _, load := range loads {
		sum, n, low, high := 0.0, 0.0, math.NaN(), math.NaN()
		for i := range p.steps {
			s := &p.steps[i]
			if v := c.Unit.scaled(c.Value(s, p.window(s))); s.Level() == load && !math.IsNaN(v) {
				if n == 0 {
					low, high = v, v
				}
				sum, n, low, high = sum+v, n+1, min(low, v), max(high, v)
			}
		}
		l.Values, l.Low, l.High = append(l.Values, sum/n), append(l.Low, low), append(l.High, high)
	}
	return l
}

// limits are the objectives of what a column shows.
func limits(r *result.Report, column string) []mark {
	var all []mark
	objectives := slices.Clone(r.Objectives)
	for _, o := range r.Steps[0].Objectives {
		objectives = append(objectives, o.Objective)
	}
	shown, _, _ := strings.Cut(column, "_p") // of a percentile its measure
	for _, o := range objectives {
		measure, _, _ := strings.Cut(string(o.Measure), "_")
		switch {
		case measure == shown:
			all = append(all, mark{objectiveText(o), Milliseconds.scaled(o.Limit)})
		case o.Measure == openai.Failures && shown == "failure_ratio":
			all = append(all, mark{objectiveText(o), Share.scaled(o.Limit)})
		}
	}
	return all
}

// overTime draws a step's requests in the order of sending, at most so many, and what server and cards did meanwhile.
func overTime(r *result.Report, s *result.Step, most int) charts {
	requests, note := thinned(s.Timeline.Requests, most)
	all := charts{Axis: "s since the first request", Note: note}
	if len(requests) == 0 {
		return all
	}
	if s.Steady != nil {
		begin, steady := s.Whole.Window.From, s.Steady.Window
		all.Steady = numbers{steady.From.Sub(begin).Seconds(), steady.To.Sub(begin).Seconds()}
	}
	late, lag := line{Name: "sent late", Form: "dot"}, line{Name: "read late, at most", Form: "dot"}
	for _, p := range requests {
		all.X = append(all.X, p.Sent)
		late.Values = append(late.Values, Milliseconds.scaled(float64(p.Late)))
		lag.Values = append(lag.Values, Milliseconds.scaled(float64(p.Lag)))
	}
	ttft := func(p result.Point) result.Value { // of one without, how long it waited
		if p.Failure != "" && !p.TTFT.Known() {
			return p.End
		}
		return p.TTFT
	}
	all.Charts = []chart{
		{Title: "TTFT (ms)", Lines: byOutcome(requests, "TTFT", ttft), Limits: limits(r, "ttft")},
		{Title: "E2E (ms)", Lines: byOutcome(requests, "E2E", func(p result.Point) result.Value { return p.End }), Limits: limits(r, "e2el")},
		{Title: "load generator (ms)", Lines: []line{late, lag}},
	}
	for _, c := range []chart{
		sampled("server (requests)", s.Timeline.Tracks, Number, result.Running, result.Waiting),
		sampled("utilization of cards (%)", s.Timeline.Tracks, Share, result.Utilization),
		sampled("power of cards (W)", s.Timeline.Tracks, Number, result.Watts),
	} {
		if len(c.Lines) > 0 {
			all.Charts = append(all.Charts, c)
		}
	}
	return all
}

// byOutcome has a series of the requests that succeeded, and one for each reason for which others failed.
func byOutcome(requests []result.Point, name string, latency func(result.Point) result.Value) []line {
	all := []line{{Name: name, Form: "dot"}}
	for i, p := range requests {
		of := &all[0]
		if p.Failure != "" {
			text := Clean(string(p.Failure))
			k := slices.IndexFunc(all, func(l line) bool { return l.Form == "cross" && l.Name == text })
			if k < 0 {
				k, all = len(all), append(all, line{Name: text, Form: "cross"})
			}
			of = &all[k]
		}
		of.At, of.Values = append(of.At, i), append(of.Values, Milliseconds.scaled(float64(latency(p))))
	}
	return all
}

// sampled draws gauges over the instants at which any of them was sampled.
func sampled(title string, tracks []result.Track, unit Unit, gauges ...string) chart {
	c := chart{Title: title}
	tracks = slices.DeleteFunc(slices.Clone(tracks), func(t result.Track) bool { return !slices.Contains(gauges, t.Gauge) })
	for _, t := range tracks {
		c.X = append(c.X, t.At...)
	}
	slices.Sort(c.X)
	c.X = slices.Compact(c.X)
	for _, t := range tracks {
		l := line{Name: map[string]string{result.Running: "running", result.Waiting: "waiting"}[t.Gauge]}
		if t.Card != nil {
			l.Name = Clean(t.Card.Vendor + " " + t.Card.Device)
		}
		for i, at := range t.At {
			k, _ := slices.BinarySearch(c.X, at)
			l.At, l.Values = append(l.At, k), append(l.Values, unit.scaled(t.Values[i]))
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// thinned are at most so many of the points, with a sentence on what was left out. Of each run of requests that
// succeeded the first and the slowest stay, so that no stall is lost, and all that failed unless they are the half.
func thinned(all []result.Point, most int) ([]result.Point, string) {
	if len(all) <= most {
		return all, ""
	}
	var failed, others, kept []result.Point
	for _, p := range all {
		if p.Failure == "" {
			others = append(others, p)
		} else {
			failed = append(failed, p)
		}
	}
	ofFailed := 1 + 2*len(failed)/most
	for i := 0; i < len(failed); i += ofFailed {
		kept = append(kept, failed[i])
	}
	ofOthers := 1 + 3*len(others)/(most-len(kept))
	for run := range slices.Chunk(others, ofOthers) {
		ttft, end := 0, 0
		for i, p := range run {
			if cmp.Compare(p.TTFT, run[ttft].TTFT) > 0 {
				ttft = i
			}
			if p.End > run[end].End {
				end = i
			}
		}
		stay := []int{0, ttft, end}
		slices.Sort(stay)
		for _, i := range slices.Compact(stay) {
			kept = append(kept, run[i])
		}
	}
	slices.SortStableFunc(kept, func(a, b result.Point) int { return cmp.Compare(a.Sent, b.Sent) })
	return kept, fmt.Sprintf("%d of %d requests are drawn: of those that failed one in %d, of each %d others in a row the first, the slowest first token and the slowest end.",
		len(kept), len(all), ofFailed, ofOthers)
}
