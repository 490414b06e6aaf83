package report

import "strconv"

// figureRow is one line of the table that sets the steady state beside the whole
// step.
type figureRow struct {
	name string
	text func(*Figures) string
}

// figures writes that table.
func (p *page) figures(s *Step) {
	windows, head := []*Figures{&s.Whole}, []string{"", "whole step"}
	if s.Steady != nil {
		windows, head = append(windows, s.Steady), append(head, "steady state")
	} else {
		reason := clean(s.NotSteady)
		if reason == "" {
			reason = "never reached"
		}
		p.row("steady state", "none: "+reason)
	}
	g := grid{heads: [][]string{head}}
	for _, r := range figureRows(windows, s.Rate > 0 || s.Concurrency == 0) {
		row := []string{r.name}
		for _, f := range windows {
			row = append(row, r.text(f))
		}
		g.rows = append(g.rows, row)
	}
	g.write(p, 2)
	if !exact(&s.Whole) {
		p.row("percentiles", "some are read from a histogram of three significant digits")
	}
}

// figureRows leaves out what there is nothing of in any window. In an open loop
// the latencies from when a request was due are shown too.
func figureRows(windows []*Figures, open bool) []figureRow {
	rows := []figureRow{
		{"duration (s)", func(f *Figures) string { return number(f.Window.Duration().Seconds()) }},
		{"requests sent in it", func(f *Figures) string { return strconv.Itoa(f.Account.Attempted) }},
		{"failed of these", func(f *Figures) string { return percent(f.Account.FailureRatio()) }},
		{"requests/s", func(f *Figures) string { return number(f.RequestThroughput) }},
		{"output tokens/s", func(f *Figures) string { return number(f.OutputThroughput) }},
		{"all tokens/s", func(f *Figures) string { return number(f.TotalThroughput) }},
		{"peak output tokens/s", func(f *Figures) string { return number(f.PeakOutputThroughput) }},
	}
	if windows[0].Goodput != nil {
		rows = append(rows, figureRow{"good requests/s", func(f *Figures) string {
			if f.Goodput == nil {
				return noFigure
			}
			return number(*f.Goodput)
		}})
	}
	for _, d := range []struct {
		name   string
		of     func(*Figures) Distribution
		always bool
	}{
		{"TTFT", func(f *Figures) Distribution { return f.TTFT }, true},
		{"TTFT from due", func(f *Figures) Distribution { return f.TTFTFromPlanned }, open},
		{"first answer", func(f *Figures) Distribution { return f.FirstAnswer }, hasReasoning(windows[0])},
		{"TPOT", func(f *Figures) Distribution { return f.TPOT }, true},
		{"ITL", func(f *Figures) Distribution { return f.ITL }, true},
		{"ITL a token", func(f *Figures) Distribution { return f.TokenITL }, windows[0].TokenITL.Count > 0},
		{"E2E", func(f *Figures) Distribution { return f.E2E }, true},
		{"E2E from due", func(f *Figures) Distribution { return f.E2EFromPlanned }, open},
	} {
		if d.always {
			rows = append(rows, figureRow{d.name + " p50 / p99 (ms)", func(f *Figures) string {
				return millis(d.of(f), 50) + " / " + millis(d.of(f), 99)
			}})
		}
	}
	return append(rows,
		figureRow{"mean prompt tokens", func(f *Figures) string { return meanLength(f.PromptLength) }},
		figureRow{"mean output tokens", func(f *Figures) string { return meanLength(f.OutputLength) }})
}

func meanLength(d Distribution) string {
	if d.Count == 0 {
		return noFigure
	}
	return number(d.Mean)
}

// hasReasoning says whether some first text was not the first of the answer.
func hasReasoning(f *Figures) bool {
	return f.FirstAnswer.Count != f.TTFT.Count || f.FirstAnswer.Mean != f.TTFT.Mean
}

// exact says whether every percentile shown is exact.
func exact(f *Figures) bool {
	for _, d := range []Distribution{f.TTFT, f.TPOT, f.ITL, f.E2E} {
		if d.Count > 0 && !d.Exact {
			return false
		}
	}
	return true
}
