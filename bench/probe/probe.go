// Package probe sends single streaming requests to endpoints on a schedule and keeps
// histograms of what they cost. It is an open loop: a request is due at its planned time
// whatever the one before did, and is counted as skipped while that is still in flight.
package probe

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Prober probes a set of targets that can be changed while it runs. It is a prometheus.Collector of all their series.
type Prober struct {
	*metrics
	logger log.Logger
	state  *prometheus.Desc
	// Dial makes the connections of targets that are applied later, nil for TCP.
	Dial config.DialContextFunc

	mu    sync.Mutex
	loops map[string]*loop
	ctx   context.Context // of Run; nil before and after it
}

// New returns a Prober without targets.
func New(logger log.Logger) *Prober {
	state := prometheus.NewDesc("accelerator_probe_state", "What probes and the server's own counters say of the target: 1 for one state, 0 for the others.", []string{"target", "model", "state"}, nil)
	return &Prober{logger: logger, metrics: newMetrics(), state: state, loops: map[string]*loop{}}
}

// Describe implements [prometheus.Collector].
func (p *Prober) Describe(ch chan<- *prometheus.Desc) {
	p.metrics.Describe(ch)
	ch <- p.state
}

// Collect implements [prometheus.Collector]. The states of a target are read at once: one of them is 1.
func (p *Prober) Collect(ch chan<- prometheus.Metric) {
	p.metrics.Collect(ch)
	for _, l := range p.sorted() {
		l.mu.Lock()
		label, now, isKnown := l.label, l.verdict.state, l.label != "" || !l.last.At.IsZero()
		l.mu.Unlock()
		for _, s := range States() {
			if isKnown {
				ch <- prometheus.MustNewConstMetric(p.state, prometheus.GaugeValue, map[bool]float64{true: 1}[s == now], l.target.Name(), label, string(s))
			}
		}
	}
}

// Apply makes targets, whose names must be distinct, the set that is probed. Those that did not change go on
// undisturbed; of others the request is cancelled and the series are lost.
func (p *Prober) Apply(targets []Target) error {
	fresh := make(map[string]*loop, len(targets))
	for _, t := range targets {
		c, err := t.client(p.Dial)
		if err != nil {
			return fmt.Errorf("probe %.40q: %w", t.Name(), err)
		}
		fresh[t.Name()] = newLoop(t, c, p.metrics, p.logger)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, old := range p.loops {
		if l := fresh[name]; l != nil && reflect.DeepEqual(l.target, old.target) {
			fresh[name] = old
			continue
		}
		old.stop()
		slices.Concat(p.counters, p.states).drop(prometheus.Labels{"target": name})
	}
	for name, l := range fresh {
		if p.loops[name] == l {
			continue
		}
		if l.model != "" {
			p.open(l.target, l.model)
		}
		if p.ctx != nil {
			l.start(p.ctx)
		}
	}
	p.loops = fresh
	return nil
}

// Run probes until ctx ends, then cancels what is in flight and waits for it.
func (p *Prober) Run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, l := range p.loops {
		l.start(ctx)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.loops {
		l.stop()
	}
	p.ctx = nil // what is applied from now on must not start
}

// sorted returns the loops by the names of their targets.
func (p *Prober) sorted() []*loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	byName := func(a, b *loop) int { return strings.Compare(a.target.Name(), b.target.Name()) }
	return slices.SortedFunc(maps.Values(p.loops), byName)
}

// Targets returns the present targets, by name.
func (p *Prober) Targets() []Target {
	targets := []Target{}
	for _, l := range p.sorted() {
		targets = append(targets, l.target)
	}
	return targets
}

// Status is the state of one target.
type Status struct {
	Target, URL, Model string // the model is "" while it is not known
	API                openai.API
	Interval           time.Duration
	Last, LastSuccess  Outcome // zero before there was one
	State              State
	Since              time.Time // of State
	Detail             string    // what State rests on, in a clause
}

// Statuses returns the state of every target, by name.
func (p *Prober) Statuses() []Status {
	all := []Status{}
	for _, l := range p.sorted() {
		l.mu.Lock()
		all = append(all, Status{
			Target: l.target.Name(), URL: l.target.URL().String(), API: l.target.API(), Model: l.model,
			Interval: time.Duration(l.target.spec.Interval), Last: l.last, LastSuccess: l.lastSuccess,
			State: l.verdict.state, Since: l.verdict.since, Detail: l.verdict.detail(time.Now(), l.last, l.lastSuccess),
		})
		l.mu.Unlock()
	}
	return all
}
