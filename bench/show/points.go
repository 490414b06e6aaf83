package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// maxPoints is how many requests a page draws: a browser has to bear it, and whoever sends the file.
const maxPoints = 20_000

// overTime draws a step's requests in the order of sending, at most so many, and what server and cards did meanwhile.
func overTime(r *result.Report, s *result.Step, most int) charts {
	requests, note := thinned(s.Timeline.Requests, most)
	all := charts{Axis: "s since the first request", Note: note}
	if len(requests) == 0 {
		return all
	}
	if n := s.Timeline.OneIn; n > 1 {
		all.Note = strings.TrimSpace(fmt.Sprintf("%s Of the samples of server and cards one in %d is drawn.", note, n))
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
		{Title: "TTFT (ms)", Lines: byOutcome(requests, "TTFT", ttft), Limits: limits(r, "ttft", Milliseconds)},
		{Title: "E2E (ms)", Lines: byOutcome(requests, "E2E", func(p result.Point) result.Value { return p.End }), Limits: limits(r, "e2el", Milliseconds)},
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
		v := Milliseconds.scaled(float64(latency(p)))
		if p.Failure == "" {
			all[0].Values = append(all[0].Values, v)
			continue
		}
		all[0].Values = append(all[0].Values, math.NaN())
		text := Clean(string(p.Failure))
		k := 1 + slices.IndexFunc(all[1:], func(l line) bool { return l.Name == text })
		if k == 0 {
			k, all = len(all), append(all, line{Name: text, Form: "cross"})
		}
		all[k].At, all[k].Values = append(all[k].At, i), append(all[k].Values, v)
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

// thinned are at most so many of the points, or the notable ones of all, with a sentence on what was left out.
func thinned(all []result.Point, most int) ([]result.Point, string) {
	kept, length := all, 1
	for len(kept) > most && length < len(all) {
		length += 1 + length/8
		kept = notable(all, length)
	}
	if length == 1 {
		return all, ""
	}
	return kept, fmt.Sprintf("%d of %d requests are drawn: of each %d in a row the first, the first that failed for each reason, the one sent latest, the slowest first token and the slowest end.",
		len(kept), len(all), length)
}

// notable returns of each length points in a row the first of each outcome, the one sent latest and the slowest by TTFT
// and by end, so that no kind of failure and no stall is lost.
func notable(all []result.Point, length int) []result.Point {
	var kept []result.Point
	for run := range slices.Chunk(all, length) {
		var stay []int
		late, ttft, end := 0, 0, 0
		for i, p := range run {
			if p.Late > run[late].Late {
				late = i
			}
			if cmp.Compare(p.TTFT, run[ttft].TTFT) > 0 {
				ttft = i
			}
			if p.End > run[end].End {
				end = i
			}
			if !slices.ContainsFunc(run[:i], func(q result.Point) bool { return q.Failure == p.Failure }) {
				stay = append(stay, i)
			}
		}
		stay = append(stay, late, ttft, end)
		slices.Sort(stay)
		for _, i := range slices.Compact(stay) {
			kept = append(kept, run[i])
		}
	}
	return kept
}
