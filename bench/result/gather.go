package result

import (
	"errors"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// gather makes the report of one step from its requests' lines.
type gather struct {
	opts    Options
	logs    []*outline
	joined  *joined
	curve   curve // of all machines
	account Account

	whole, steady *tally // steady is nil when the load never was
	notSteady     unsteady
	all           span      // while all machines send: none where to is before from
	due           span      // in which the requests that were sent were due
	dueSteady     span      // the same of those sent in the steady window
	backlog       *backlog  // nil but for an open loop that may be steady
	in, out       *recorder // of the requests sent inside of the steady window and outside of it

	failedAs      map[openai.Reason]string
	localFailures int
	unreached     int // requests in a row, until now
	lost          int // the same, and those whose answer was cut
	silent        int // the same as unreached, and those without text within their time

	checks checker
	// What more than one machine sampled is taken from the first that did: they
	// looked at the same cards and the same server.
	cards      *cardWatch
	cardsFrom  int
	server     *serverWatch
	serverFrom int
	cpus       []cpuWatch // of each part's load generator
}

var errChanged = errors.New("the log was cut while it was read: try again")

func newGather(opts Options, logs []*outline, j *joined) *gather {
	g := &gather{opts: opts, logs: logs, joined: j, cardsFrom: -1, serverFrom: -1, failedAs: map[openai.Reason]string{}}
	g.in, g.out = newRecorder(opts.MaxExact), newRecorder(opts.MaxExact)
	g.checks.lags.limit = opts.MaxExact
	warm := int64(0)
	for i, p := range j.parts {
		if i == 0 {
			g.curve = p.curve
		} else {
			g.curve.join(p.curve)
		}
		g.account.join(p.account)
		g.due.join(p.planned)
		if p.done > 0 {
			warm = max(warm, p.done, p.sending.from+int64(p.step.RampUp))
		}
		switch {
		case g.all == span{}:
			g.all = p.sending
		case p.sending != span{}:
			g.all = span{max(g.all.from, p.sending.from), min(g.all.to, p.sending.to)}
		}
	}
	g.curve.sort()
	g.whole = newTally(g.curve.whole())
	w, why := steady(j.step, &g.curve, warm, g.all.to)
	if g.notSteady = why; why == (unsteady{}) {
		g.steady, g.backlog = newTally(w), newBacklog(j.step, w, &g.curve)
	}
	g.cards, g.server = newCardWatch(g.whole.span), newServerWatch(g.whole.span, modelNames(j.parts[0].log.run))
	g.cpus = make([]cpuWatch, len(j.parts))
	return g
}

// read takes the lines of one machine.
func (g *gather) read(k int, c *cursor) error {
	p := g.joined.parts[k]
	if c.next == nil || c.next.Index != p.step.Index {
		return errChanged
	}
	requests := 0
	err := c.step(func(rec runlog.Record) {
		switch {
		case rec.Request != nil:
			requests++
			g.request(rec.Request, p.step)
		case rec.Sample != nil:
			g.sample(k, rec.Sample)
		}
	})
	if err == nil && requests != p.account.Attempted {
		return errChanged
	}
	return err
}

func (g *gather) request(r *runlog.Request, s runlog.Step) {
	g.failure(r.Trace.Failure)
	if !wasSent(r) {
		return
	}
	m := g.out
	g.whole.take(r, g.opts.Goodput)
	if g.steady != nil {
		g.steady.take(r, g.opts.Goodput)
		if start, _ := instants(r); g.steady.holds(start) {
			m = g.in
			g.dueSteady.add(planned(&r.Trace).UnixNano())
		}
	}
	if g.backlog != nil {
		g.backlog.take(r)
	}
	m.take(r, s.MaxConcurrency > 0)
	g.checks.take(r)
}

func (g *gather) sample(k int, s *runlog.Sample) {
	at := s.At.UnixNano()
	from := func(first *int) bool {
		if *first < 0 {
			*first = k
		}
		return *first == k
	}
	switch s.Source {
	case runlog.SourceExporter:
		if from(&g.cardsFrom) {
			g.cards.take(at, s.Series)
		}
	case runlog.SourceServer:
		if from(&g.serverFrom) {
			g.server.take(at, s.Series)
		}
	case runlog.SourceClient:
		for _, series := range s.Series {
			if series.Name == "process_cpu_seconds_total" {
				g.cpus[k].add(at, series.Value)
			}
		}
	}
}

// report ends the step. Nothing can be added afterwards.
func (g *gather) report() Step {
	behind := g.backlog != nil && g.backlog.behind(&g.curve)
	if b := g.backlog; b != nil {
		if why := b.grows(&g.curve, g.due); why != "" {
			g.steady, g.notSteady = nil, unsteady{why: why}
		} else {
			g.backlog = nil
		}
	}
	s := Step{
		Step: g.joined.step, Machines: len(g.joined.parts), Account: g.account,
		Stop: g.stop(), NotSteady: g.notSteady.why, SteadyTakes: g.notSteady.requests, Behind: behind, Chosen: g.opts.Chosen,
	}
	s.Account.Mismatch = g.mismatch()
	if g.steady != nil {
		s.Steady = new(g.steady.figures(&g.curve, g.in, g.opts))
		s.Held = held(g.opts.limits, g.in, s.Steady)
	}
	g.out.join(g.in)
	s.Whole = g.whole.figures(&g.curve, g.out, g.opts)
	if g.steady == nil {
		s.Held = held(g.opts.limits, g.out, &s.Whole)
	}
	if s.Steady != nil { // its seconds begin elsewhere
		s.Whole.PeakOutputThroughput = max(s.Whole.PeakOutputThroughput, s.Steady.PeakOutputThroughput)
	}
	g.cards.report(g.endpoint(), &s)
	s.Server = g.server.report(g.opts.Percentiles)
	s.DatasetKnown = true
	for _, p := range g.joined.parts {
		if p.end == nil {
			s.DatasetKnown = false
			continue
		}
		joinDataset(&s.Dataset, p.end.Dataset)
	}
	g.compare(&s)
	g.check(&s)
	if len(g.failedAs) > 0 {
		s.FailedAs = g.failedAs
	}
	s.LocalFailures, s.Unreached, s.Lost, s.Silent = g.localFailures, g.unreached, g.lost, g.silent
	s.ClientLimit, s.Short = g.clientLimit(&s), g.short(&s)
	s.Warnings = g.warnings(&s)
	return s
}

// failure counts the requests at the end that lost the server, and keeps what the first
// failure of each reason said.
func (g *gather) failure(f *openai.Failure) {
	g.unreached, g.lost, g.silent = g.unreached+1, g.lost+1, g.silent+1
	unreached := f != nil && f.Reason.Unreached()
	if !unreached {
		g.unreached = 0
	}
	if !unreached && (f == nil || f.Reason != openai.ReasonTruncated) {
		g.lost = 0
	}
	if !unreached && (f == nil || f.Reason != openai.ReasonTimeoutFirstToken) {
		g.silent = 0
	}
	if f == nil || f.Reason == openai.ReasonCanceled {
		return
	}
	if f.Local {
		g.localFailures++
	}
	if _, known := g.failedAs[f.Reason]; !known {
		g.failedAs[f.Reason] = strings.TrimPrefix(strings.TrimPrefix(f.Error(), string(f.Reason)), ": ")
	}
}

// endpoint is what the exporter calls the endpoint.
func (g *gather) endpoint() string { return openai.TargetName(g.joined.parts[0].log.run.URL) }

// stop is why the step stopped: of several machines the least usual reason, and
// none when one was killed.
func (g *gather) stop() runlog.Stop {
	usual := []runlog.Stop{runlog.StopRequests, runlog.StopDuration, runlog.StopDataset, runlog.StopFailureRatio, runlog.StopUnreachable, runlog.StopInterrupted}
	var stop runlog.Stop
	for i, p := range g.joined.parts {
		if p.end == nil {
			return ""
		}
		if i == 0 || slices.Index(usual, p.end.Stop) > slices.Index(usual, stop) {
			stop = p.end.Stop
		}
	}
	return stop
}
