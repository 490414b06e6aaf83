package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// second and millisecond are units of a panel: how many there are in a second.
const (
	second      = 1
	millisecond = 1000

	inMilliseconds = "milliseconds"
)

// window is a part of a step that has figures, and what it is called.
type window struct {
	name string
	of   func(*report.Step) *report.Figures
}

func windows() []window {
	return []window{
		{"whole step", func(s *report.Step) *report.Figures { return &s.Whole }},
		{"steady state", func(s *report.Step) *report.Figures { return s.Steady }},
	}
}

// Overview draws what evalscope-perf draws: requests a second, mean latency,
// output tokens a second and failed requests. The first three are shown of the
// whole step and of its steady state.
func Overview(r *report.Report) *Chart {
	a := newLoadAxis(r.Steps)
	return &Chart{Panels: []*Panel{
		{
			title: "Average QPS", unit: "successful requests/s", axis: a,
			series: perWindow(a, func(f *report.Figures) float64 { return f.RequestThroughput }),
		},
		{
			title: "Average latency", unit: "seconds to the last token", axis: a,
			series: perWindow(a, func(f *report.Figures) float64 { return mean(f.Of(report.E2E)) }),
		},
		{
			title: "Throughput", unit: "output tokens/s", axis: a,
			series: perWindow(a, func(f *report.Figures) float64 { return f.OutputThroughput }),
		},
		{title: "Failed requests, and their share", unit: "requests", axis: a, bars: failures(a)},
	}}
}

// Latency draws percentiles of TTFT, TPOT, ITL and of the whole request, of
// the steady state of each step where every step has one, else of all of it. An
// objective is a line across its panel, or a word where it is far above.
func Latency(r *report.Report) *Chart {
	a := newLoadAxis(r.Steps)
	part := windows()[0]
	if !slices.ContainsFunc(r.Steps, func(s report.Step) bool { return s.Steady == nil }) {
		part = windows()[1]
	}
	panel := func(title string, o time.Duration, of func(*report.Figures) report.Distribution) *Panel {
		p := percentilePanel(a, title+", "+part.name, r.Chosen, func(s *report.Step) report.Distribution {
			return of(part.of(s))
		})
		p.hold(o)
		return p
	}
	o := r.Objectives
	itl := panel("ITL", o.ITL, func(f *report.Figures) report.Distribution { return f.Of(report.ITL) })
	if itl.goal != nil {
		itl.goal.name += " for a request's mean"
	}
	return &Chart{Panels: []*Panel{
		panel("TTFT", o.TTFT, func(f *report.Figures) report.Distribution { return f.Of(report.TTFT) }),
		panel("TPOT", o.TPOT, func(f *report.Figures) report.Distribution { return f.Of(report.TPOT) }),
		itl,
		panel("Latency", o.E2E, func(f *report.Figures) report.Distribution { return f.Of(report.E2E) }),
	}}
}

// hold sets the series of a panel of durations against an objective, 0 for none.
func (p *Panel) hold(objective time.Duration) {
	if objective <= 0 {
		return
	}
	p.goal = &goal{value: objective.Seconds(), name: "objective " + objective.String()}
	if p.unit == inMilliseconds {
		p.goal.value *= millisecond
	}
}

// Cards draws the load of the cards that serve the endpoint: utilization,
// power, temperature, and energy for each output token. It is nil when no step
// knows of a card.
func Cards(r *report.Report) *Chart {
	if !slices.ContainsFunc(r.Steps, func(s report.Step) bool { return len(s.Cards) > 0 }) {
		return nil
	}
	a := newLoadAxis(r.Steps)
	return &Chart{Panels: []*Panel{
		{title: "Utilization, mean over the cards", unit: "%", axis: a, series: []series{
			{name: "mean", values: a.values(func(s *report.Step) float64 { return 100 * meanOver(s, utilization) })},
		}},
		{title: "Power, all cards together", unit: "watts", axis: a, series: []series{
			{name: "mean", values: a.values(func(s *report.Step) float64 { return sumOver(s, watts) })},
		}},
		{title: "Temperature, the hottest card", unit: "°C", axis: a, series: []series{
			{name: "maximum", values: a.values(hottest)},
		}},
		{title: "Energy for an output token", unit: "joules", axis: a, series: []series{
			{name: "mean", values: a.values(perToken)},
		}},
	}}
}

func perWindow(a loadAxis, of func(*report.Figures) float64) []series {
	var all []series
	for _, part := range windows() {
		all = append(all, series{name: part.name, values: a.values(func(s *report.Step) float64 {
			if f := part.of(s); f != nil && f.Window.Duration() > 0 {
				return of(f)
			}
			return math.NaN()
		})})
	}
	return all
}

// percentilePanel is in milliseconds unless the largest value is some seconds.
func percentilePanel(a loadAxis, title string, chosen []float64, of func(*report.Step) report.Distribution) *Panel {
	p := &Panel{title: title, unit: "seconds", axis: a}
	for _, q := range shownPercentiles(a, chosen, of) {
		p.series = append(p.series, series{
			name: "p" + strconv.FormatFloat(q, 'g', -1, 64),
			values: a.values(func(s *report.Step) float64 {
				if v, ok := of(s).At(q); ok {
					return v
				}
				return math.NaN()
			}),
		})
	}
	if p.largest() < 2*second {
		p.unit = inMilliseconds
		for _, s := range p.series {
			for _, samples := range s.values {
				for i := range samples {
					samples[i] *= millisecond
				}
			}
		}
	}
	return p
}

// shownPercentiles picks three at most, as more lines cannot be told apart: 50, 90
// and the highest chosen one above or 99, or else the first, the middle and the last
// there are.
func shownPercentiles(a loadAxis, chosen []float64, of func(*report.Step) report.Distribution) []float64 {
	var all []float64
	for _, l := range a.levels {
		for _, s := range l.steps {
			for _, q := range of(s).Percentiles {
				if !slices.Contains(all, q.P) {
					all = append(all, q.P)
				}
			}
		}
	}
	slices.Sort(all)
	high := 99.0
	if len(chosen) > 0 && slices.Max(chosen) > 90 {
		high = slices.Max(chosen)
	}
	usual := slices.DeleteFunc([]float64{50, 90, high}, func(q float64) bool { return !slices.Contains(all, q) })
	switch {
	case len(all) <= 3:
		return all
	case len(usual) == 3:
		return usual
	}
	return []float64{all[0], all[len(all)/2], all[len(all)-1]}
}

func failures(a loadAxis) []bar {
	var all []bar
	for _, l := range a.levels {
		b := bar{}
		ended := 0
		for _, s := range l.steps {
			b.height += float64(s.Account.Failures()) / float64(len(l.steps))
			ended += s.Account.Succeeded + s.Account.Failures()
		}
		if ended > 0 {
			b.share = b.height * float64(len(l.steps)) / float64(ended)
		}
		all = append(all, b)
	}
	return all
}

func mean(d report.Distribution) float64 {
	if d.Count == 0 {
		return math.NaN()
	}
	return d.Mean
}
