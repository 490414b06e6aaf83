package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const milliseconds = "milliseconds"

// window is a part of a step that has figures, and what it is called.
type window struct {
	name string
	of   func(*result.Step) *result.Figures
}

func windows() []window {
	return []window{
		{"whole step", func(s *result.Step) *result.Figures { return &s.Whole }},
		{"steady state", func(s *result.Step) *result.Figures { return s.Steady }},
	}
}

// Overview draws what evalscope-perf draws: requests a second, mean latency,
// output tokens a second and failed requests. The first three are shown of the
// whole step and of its steady state.
func Overview(r *result.Report) *Chart {
	a := newLoadAxis(r.Steps)
	perWindow := func(title, unit string, of func(*result.Figures) float64) *Panel {
		p := &Panel{title: title, unit: unit, axis: a}
		for _, w := range windows() {
			p.series = append(p.series, series{w.name, a.values(func(s *result.Step) float64 {
				if f := w.of(s); f != nil && f.Window.Duration() > 0 {
					return of(f)
				}
				return math.NaN()
			})})
		}
		return p
	}
	c := &Chart{Panels: []*Panel{
		perWindow("Average QPS", "successful requests/s", func(f *result.Figures) float64 { return f.RequestThroughput }),
		perWindow("Average latency", "seconds to the last token", func(f *result.Figures) float64 {
			d := f.Of(result.E2E)
			if d.Count == 0 {
				return math.NaN()
			}
			return d.Mean
		}),
		perWindow("Throughput", "output tokens/s", func(f *result.Figures) float64 { return f.OutputThroughput }),
		failures(a),
	}}
	markAnswer(r, c)
	return c
}

// failures has a bar for each level: the failed requests of a repeat, on the
// mean, and their share of those that ended by themselves.
func failures(a loadAxis) *Panel {
	failed := func(s *result.Step) float64 { return float64(s.Account.Failures()) }
	p := &Panel{
		title: "Failed requests, and their share", unit: "requests", axis: a,
		series: []series{{values: a.values(failed)}}, bars: make([]string, len(a.levels)),
	}
	for i, l := range a.levels {
		sum, ended := 0.0, 0.0
		for _, s := range l.steps {
			sum += failed(s)
			ended += failed(s) + float64(s.Account.Succeeded)
		}
		if sum > 0 {
			mean := sum / float64(len(l.steps))
			p.bars[i] = strconv.FormatFloat(mean, 'g', 6, 64) + "\n" + strconv.FormatFloat(100*sum/ended, 'g', 3, 64) + " %"
		}
	}
	return p
}

// Latency draws percentiles of the main measures, of the steady state of each step
// where every step has one, else of all of it. An objective is a line across its
// panel, or a word where it is far above.
func Latency(r *result.Report) *Chart {
	a := newLoadAxis(r.Steps)
	part := windows()[0]
	if !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return s.Steady == nil }) {
		part = windows()[1]
	}
	c := &Chart{}
	for _, m := range result.Main() {
		title, suffix := m.Name, ""
		switch m.Key {
		case result.E2E:
			title = "Latency"
		case result.ITL:
			suffix = " for a request's mean"
		}
		p := percentilePanel(a, r.Chosen, func(s *result.Step) result.Distribution { return part.of(s).Of(m.Key) })
		p.title = title + ", " + part.name
		p.addObjective(r.Objectives.Of(m.Key), suffix)
		if r.Capacity != nil {
			p.addLimits(r.Capacity, m.Key)
		}
		c.Panels = append(c.Panels, p)
	}
	markAnswer(r, c)
	return c
}

// addLimits adds those of a search that are on a measure.
func (p *Panel) addLimits(c *result.Capacity, key result.Key) {
	for _, l := range c.Limits {
		if l.Name == string(key) {
			p.addObjective(time.Duration(l.Limit*float64(time.Second)), " for p"+strconv.FormatFloat(l.Percentile, 'g', -1, 64))
		}
	}
}

// markAnswer marks the level that a search for the capacity ended on.
func markAnswer(r *result.Report, c *Chart) {
	if r.Capacity == nil || r.Capacity.Value == 0 {
		return
	}
	for _, p := range c.Panels {
		if p.axis.numeric && p.bars == nil {
			p.answer, p.answerName = r.Capacity.Value, "carries "+strconv.FormatFloat(r.Capacity.Value, 'g', -1, 64)
		}
	}
}

// Cards draws the load of the cards that serve the endpoint: utilization,
// power, temperature, and energy for each output token. It is nil when no step
// knows of a card.
func Cards(r *result.Report) *Chart {
	if !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return len(s.Cards) > 0 }) {
		return nil
	}
	a := newLoadAxis(r.Steps)
	panel := func(title, unit, name string, of func(*result.Step) float64) *Panel {
		return &Panel{title: title, unit: unit, axis: a, series: []series{{name, a.values(of)}}}
	}
	return &Chart{Panels: []*Panel{
		panel("Utilization, mean over the cards", "%", "mean", func(s *result.Step) float64 {
			return 100 * (sumOver(s, func(c *result.Card) result.Gauge { return c.Utilization }) / float64(len(serving(s))))
		}),
		panel("Power, all cards together", "watts", "mean", func(s *result.Step) float64 {
			return sumOver(s, func(c *result.Card) result.Gauge { return c.Watts })
		}),
		panel("Temperature, the hottest card", "°C", "maximum", hottest),
		panel("Energy for an output token", "joules", "mean", perToken),
	}}
}

// percentilePanel is in milliseconds unless the largest value is some seconds.
func percentilePanel(a loadAxis, chosen []float64, of func(*result.Step) result.Distribution) *Panel {
	in := func(unit string, perSecond float64) *Panel {
		p := &Panel{unit: unit, axis: a}
		for _, q := range shownPercentiles(a, chosen, of) {
			p.series = append(p.series, series{"p" + strconv.FormatFloat(q, 'g', -1, 64), a.values(func(s *result.Step) float64 {
				if v, ok := of(s).At(q); ok {
					return v * perSecond
				}
				return math.NaN()
			})})
		}
		return p
	}
	if p := in("seconds", 1); p.largest() >= 2 {
		return p
	}
	return in(milliseconds, 1000)
}

// shownPercentiles picks three at most, as more lines cannot be told apart: 50, 90
// and the highest chosen one above or 99, or else the first, the middle and the last
// there are.
func shownPercentiles(a loadAxis, chosen []float64, of func(*result.Step) result.Distribution) []float64 {
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
