package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// part is what one load generator logged of a step.
type part struct {
	joined  *stepData // with those of the others
	run     runlog.Run
	step    runlog.Step
	end     *runlog.StepEnd // nil where the run was killed
	logged  int             // requests
	sending span            // from the first request sent to the last that is no later turn
	cpu     series          // CPU time of the load generator, in seconds
	// conversations are where those of each sequence number are among the units.
	conversations map[int]int
}

// stepData is what is read of one step, from the logs of all load generators.
type stepData struct {
	Step          // what is known of it so far; of its units all are conversations or none
	parts         []*part
	counted       int       // requests, by the load generators themselves
	requests      []request // that were sent
	units         []unit    // that the load is made of
	curve         curve     // of the units
	counts        counts
	localFailures int  // for want of this machine's own files or ports
	outOfFiles    bool // one of them was for want of file descriptors
	cards         *cards
	server        *server
}

func (d *stepData) begin(run runlog.Run, s runlog.Step) *part {
	p := &part{joined: d, run: run, step: s, conversations: map[int]int{}}
	at := len(d.parts)
	if run.Machines > 0 && run.Rank == 0 { // it leads
		at = 0
	}
	d.parts = slices.Insert(d.parts, at, p)
	if c := s.Clock; c != nil { // as far as both of two are uncertain
		d.ClocksWithin = max(d.ClocksWithin, (2 * c.Uncertainty).Seconds())
	}
	if len(d.parts) == 1 {
		d.Step.Step, d.server = s, &server{model: run.Model, values: readings{}}
		d.cards = &cards{endpoint: openai.TargetName(run.URL), byID: map[cardID]*Card{}, targets: map[string]bool{}, polled: map[string]int64{}}
		return p
	}
	if run.Machines == 0 { // else each has the steps of all
		d.Concurrency += s.Concurrency
		d.MaxConcurrency += s.MaxConcurrency
		d.Rate += s.Rate
		d.Requests += s.Requests
	}
	if s.Started.Before(d.Started) {
		d.Started = s.Started
	}
	return p
}

func (p *part) request(r *runlog.Request) {
	d := p.joined
	p.logged++
	d.Account.Count(r.Reason())
	if f := r.Trace.Failure; f != nil && f.Reason != openai.ReasonCanceled {
		if f.Local {
			d.localFailures++
			d.outOfFiles = d.outOfFiles || f.OutOfFiles()
		}
		if d.FailedAs[f.Reason] == "" {
			d.FailedAs[f.Reason] = strings.TrimPrefix(strings.TrimPrefix(f.Error(), string(f.Reason)), ": ")
		}
	}
	if r.Never || r.Trace.Started.IsZero() {
		return
	}
	q := newRequest(r)
	d.requests = append(d.requests, q)
	d.check(r, &q)

	if i, begun := p.conversations[r.Seq]; begun {
		u := &d.units[i]
		u.end, u.answered = max(u.end, q.end), u.answered || q.answered
	} else {
		if q.turn > 0 {
			p.conversations[r.Seq] = len(d.units)
			d.Conversations++
		}
		d.units = append(d.units, q.unit)
	}
	if q.turn > 1 {
		return
	}
	if p.sending == (span{}) {
		p.sending = span{q.start, q.start}
	}
	p.sending = span{min(p.sending.from, q.start), max(p.sending.to, q.start)}
}

// sample takes what was seen of cards and server by the first load generator alone: the others looked at the same ones.
func (p *part) sample(s *runlog.Sample) {
	at, isFirst := s.At.UnixNano(), p == p.joined.parts[0]
	switch {
	case s.Source == runlog.SourceExporter && isFirst:
		p.joined.cards.add(at, s.Series)
	case s.Source == runlog.SourceServer && isFirst:
		p.joined.server.add(at, s.Series)
	case s.Source == runlog.SourceClient:
		for _, one := range s.Series {
			if one.Name == "process_cpu_seconds_total" {
				p.cpu = p.cpu.with(at, one.Value)
			}
		}
	}
}

// report makes the figures. Nothing can be added afterwards.
func (d *stepData) report(opts Options) Step {
	slices.SortStableFunc(d.requests, func(a, b request) int { return cmp.Compare(a.start, b.start) })
	slices.SortFunc(d.units, func(a, b unit) int { return cmp.Compare(a.start, b.start) })
	d.curve = newCurve(d.units)
	s := &d.Step
	s.Label, s.Machines, s.Percentiles = s.Step.Label(s.Conversations > 0), len(d.parts), opts.Percentiles
	d.addEnds()
	whole := d.curve.whole()
	window := whole
	var figures sync.WaitGroup
	figures.Go(func() { s.Whole = d.figures(whole, opts) })
	var steady span
	steady, s.NotSteady = d.steadyWindow()
	if ramp := s.RampUp.Seconds(); s.NotSteady == "" && ramp > 0 && s.ClocksWithin > ramp/10 {
		s.NotSteady = fmt.Sprintf("the machines' clocks may be %.3g ms apart, more than a tenth of the ramp", 1e3*s.ClocksWithin)
	}
	if s.NotSteady == "" {
		window, s.Steady = steady, new(d.figures(steady, opts))
	}
	figures.Wait()
	if s.Steady != nil { // its seconds begin elsewhere
		s.Whole.PeakOutputThroughput = max(s.Whole.PeakOutputThroughput, s.Steady.PeakOutputThroughput)
	}
	judged := s.SteadyOrWhole()
	if opts.isSearch {
		s.Objectives = objectiveResults(opts.objectives, judged, &judged.Account)
	} else { // failures are judged over the whole step
		s.SLO = objectiveResults(opts.objectives, judged, &s.Whole.Account)
		s.Objectives = s.SLO
	}
	s.Cards = d.cards.report(whole)
	s.Joules = s.joules()
	s.Server = d.server.report(whole, s.Whole.Of(TTFT).Count)
	s.Turns = newTurns(sentIn(window, d.requests), opts.computed, s.Checks.CacheKnown)
	s.Cache = d.newCache()
	d.addChecks(whole, window)
	s.Timeline = d.timeline(whole)
	d.addWarnings()
	return *s
}

// addEnds fills in why the step stopped and what was taken from the data set. Of machines that are led the leader says why,
// of others the one that stopped early. None of it is known where a log has no end, unless its machine was lost.
func (d *stepData) addEnds() {
	if leader := d.parts[0].end; leader != nil {
		d.Lost = leader.Lost
	}
	isLost := func(p *part) bool { return p.end == nil && slices.Contains(d.Lost, p.run.Rank) }
	if slices.ContainsFunc(d.parts, func(p *part) bool { return p.end == nil && !isLost(p) }) {
		return
	}
	for _, p := range d.parts {
		if isLost(p) {
			d.counted += p.logged
			continue
		}
		d.counted += p.end.Attempted
		d.Dataset.Add(p.end.Dataset)
		d.TurnsNotSent += p.end.TurnsNotSent
		d.AtModelLength += p.end.AtModelLength
		if d.Stop == "" || p.end.Stop.Early() && p.run.Machines == 0 { // else the leader's is the first
			d.Stop = p.end.Stop
		}
		d.Account.Attempted += p.end.Unknown
		d.Account.Unknown += p.end.Unknown
	}
	if d.Lost != nil && !d.parts[0].run.AllowFewer {
		d.Void = &Void{Reason: "a machine was lost", Ranks: d.Lost}
	}
}

func (d *stepData) figures(w span, opts Options) Figures {
	f := Figures{
		PeakConcurrency: d.curve.peak(w), Goodput: Unknown(), Good: Unknown(),
		Distributions: distributions(sentIn(w, d.requests), opts.computed, d.MaxConcurrency > 0),
	}
	if w != (span{}) {
		f.Window = Window{From: time.Unix(0, w.from).UTC(), To: time.Unix(0, w.to).UTC()}
	}
	good, goodEnded := 0, 0
	for _, q := range d.requests {
		isGood := q.failure == "" && q.meets(opts.Goodput)
		if w.holds(q.start) {
			f.Account.Count(q.failure)
			if isGood {
				good++
			}
		}
		if q.failure == "" && w.holds(q.end) {
			f.Completed++
			f.PromptTokens += int64(q.prompt)
			if isGood {
				goodEnded++
			}
		}
	}
	tokens, peak := d.tokensIn(w)
	f.OutputTokens = int64(math.Round(tokens))
	f.RequestThroughput = w.rate(float64(f.Completed))
	f.OutputThroughput = w.rate(tokens)
	f.TotalThroughput = w.rate(float64(f.PromptTokens) + tokens)
	f.PeakOutputThroughput = max(peak, f.OutputThroughput)
	if len(opts.Goodput) > 0 {
		f.Goodput, f.Good = Value(w.rate(float64(goodEnded))), Value(good)
	}
	return f
}

// tokensIn are the output tokens of successful requests as they came inside of a window, and the most in one second
// of it: each chunk brought the same share of its answer's. Tokens of an answer without text count at its end.
func (d *stepData) tokensIn(w span) (all, peak float64) {
	seconds := map[int64]*float64{} // sparse: a clock set during the run can make the window very long
	last, sum := int64(-1), new(float64)
	count := func(at int64, tokens float64) {
		if w.holds(at) {
			if second := (at - w.from) / perSecond; second != last {
				last, sum = second, cmp.Or(seconds[second], new(float64))
				seconds[second] = sum
			}
			*sum += tokens
			peak = max(peak, *sum)
			all += tokens
		}
	}
	for _, q := range d.requests {
		if q.failure != "" || q.end < w.from || q.start > w.to {
			continue
		}
		if q.chunks == 0 {
			count(q.end, float64(q.output))
		}
		at, share := q.start, float64(q.output)/float64(q.chunks)
		for gap := range q.chunkGaps() { // none of an answer without text
			at += gap
			count(at, share)
		}
	}
	return all, peak
}
