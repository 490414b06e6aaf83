// Package probe sends single streaming requests to endpoints on a schedule and keeps
// histograms of what they cost. It is an open loop: a request is due at its planned time
// whatever the one before did, and is counted as skipped while that is still in flight.
package probe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
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
				ch <- prometheus.MustNewConstMetric(p.state, prometheus.GaugeValue, map[bool]float64{true: 1}[s == now], l.target.Name, label, string(s))
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
			return fmt.Errorf("probe %.40q: %w", t.Name, err)
		}
		fresh[t.Name] = newLoop(t, c, p.metrics, p.logger)
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
	byName := func(a, b *loop) int { return strings.Compare(a.target.Name, b.target.Name) }
	return slices.SortedFunc(maps.Values(p.loops), byName)
}

// Status is the state of one target.
type Status struct {
	Target
	Model             string  // learned or configured, "" while it is not known
	Last, LastSuccess Outcome // zero before there was one
	State             State
	Since             time.Time // of State
	Detail            string    // why the target is in State, in a clause
}

// Statuses returns the state of every target, by name.
func (p *Prober) Statuses() []Status {
	all := []Status{}
	for _, l := range p.sorted() {
		l.mu.Lock()
		all = append(all, Status{
			Target: l.target, Model: l.model, Last: l.last, LastSuccess: l.lastSuccess,
			State: l.verdict.state, Since: l.verdict.since, Detail: l.verdict.detail(time.Now(), l.last, l.lastSuccess),
		})
		l.mu.Unlock()
	}
	return all
}

// client is what a loop needs of an endpoint.
type client interface {
	Stream(ctx context.Context, r openai.Request) *openai.Trace
	Models(ctx context.Context) ([]openai.Model, *openai.Failure)
	Metrics(ctx context.Context, readLine func(line []byte)) *openai.Failure
}

type loop struct {
	target  Target
	client  client
	metrics *metrics
	logger  log.Logger

	inFlight atomic.Bool
	skips    chan struct{} // tells a request that waits that a probe is skipped
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu          sync.Mutex // for who writes these, the probe in flight alone, and for other readers
	model       string     // configured or learned; "" while not known
	label       string     // of the model
	labels      []string   // of this and former models
	last        Outcome    // zero before there was one
	lastSuccess Outcome
	verdict     verdict
	answer      [sha256.Size]byte // of the first success of a target with expect_same; zero before there was one
}

func newLoop(t Target, c client, m *metrics, logger log.Logger) *loop {
	return &loop{
		target:  t,
		client:  c,
		metrics: m,
		logger:  log.With(logger, "target", t.Name),
		skips:   make(chan struct{}),
		model:   t.Model,
		label:   t.Model,
		verdict: verdict{unhealthyAfter: t.UnhealthyAfter, healthyAfter: t.HealthyAfter, state: StateUnknown, since: time.Now()},
	}
}

func (l *loop) start(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	l.running.Go(func() { l.run(ctx) })
}

// stop cancels the request in flight and waits until it is counted.
func (l *loop) stop() {
	if l.cancel != nil {
		l.cancel()
	}
	l.running.Wait()
}

// offset spreads the first probes of many targets, the same way at each start.
func (l *loop) offset() time.Duration {
	const longest = 10 * time.Second
	h := fnv.New64a()
	h.Write([]byte(l.target.Name))
	return time.Duration(h.Sum64() % uint64(min(time.Duration(l.target.Interval), longest)))
}

func (l *loop) run(ctx context.Context) {
	interval := time.Duration(l.target.Interval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for planned := time.Now().Add(l.offset()); ; planned = planned.Add(interval) {
		timer.Reset(time.Until(planned))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		missed := time.Since(planned) >= interval // the host slept, or was stopped
		if missed || !l.inFlight.CompareAndSwap(false, true) {
			l.mu.Lock() // the model's series must not come back when it has just become another
			l.metrics.skipped.WithLabelValues(l.target.Name, l.label).Inc()
			l.mu.Unlock()
			select {
			case l.skips <- struct{}{}:
			default: // no request waits, or its watcher looks just now
			}
			continue
		}
		l.running.Go(func() {
			defer l.inFlight.Store(false)
			l.probe(ctx, planned)
		})
	}
}

// probe sends one request, and asks for the model first where it must.
func (l *loop) probe(ctx context.Context, planned time.Time) {
	if failure := l.learn(ctx); failure != nil {
		l.metrics.observeUntraced(l.target, l.label, failure)
		l.record(newOutcome(l.target, &openai.Trace{Failure: failure}))
		return
	}
	gauge := l.metrics.inFlight.WithLabelValues(l.target.Name, l.label)
	gauge.Set(1)
	defer gauge.Set(0)
	request := l.target.request(l.model, planned)
	end := l.watch(ctx, &request)
	trace := l.target.send(ctx, l.client, request)
	hasCounters := end()
	if unsent(trace.Failure) {
		l.metrics.observeUntraced(l.target, l.label, trace.Failure)
	} else {
		l.metrics.observe(l.target, l.label, trace)
	}
	if l.target.ExpectSame && trace.Failure == nil {
		switch answer := sha256.Sum256([]byte(text(trace))); l.answer {
		case [sha256.Size]byte{}:
			l.answer = answer
		case answer:
		default:
			l.metrics.answerChanges.WithLabelValues(l.target.Name, l.label).Inc()
			level.Warn(l.logger).Log("msg", "answer differs from the first one", "request_id", trace.RequestID)
		}
	}
	o := newOutcome(l.target, trace)
	o.isJudged = hasCounters && o.Failure != nil && o.Failure.Reason == openai.ReasonTimeoutFirstToken
	l.record(o)
}

// mostModels is how many learned models of a target have labels of their own. A server that names
// another one at each question would make series without end; the next are "other".
const mostModels = 8

// learn asks for the first model of the endpoint where none is configured, and again after a probe failed.
func (l *loop) learn(ctx context.Context) *openai.Failure {
	if l.model != "" && (l.target.Model != "" || l.last.Failure == nil) {
		return nil
	}
	learned, failure := l.target.firstModel(ctx, l.client)
	switch {
	case failure != nil && l.model != "":
		return nil // the completions may work although the list does not
	case failure != nil:
		return failure
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	former := l.label
	if learned != l.model {
		l.answer = [sha256.Size]byte{}
	}
	l.model, l.label = learned, learned
	switch {
	case slices.Contains(l.labels, learned):
	case len(l.labels) < mostModels:
		l.labels = append(l.labels, learned)
	default:
		l.label = "other"
	}
	if l.label != former {
		// Its counters stay: they have the failure after which it was asked for.
		l.metrics.states.drop(prometheus.Labels{"target": l.target.Name, "model": former})
		l.metrics.open(l.target, l.label)
	}
	return nil
}

func (t Target) firstModel(ctx context.Context, c client) (string, *openai.Failure) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.Timeout))
	defer cancel()
	models, failure := c.Models(ctx)
	if failure != nil {
		return "", failure
	}
	return models[0].ID, nil
}

func (t Target) request(model string, planned time.Time) openai.Request {
	id := openai.NewRequestID()
	return openai.Request{
		API:         t.API,
		Model:       model,
		Prompt:      t.text(id),
		MaxTokens:   t.MaxTokens,
		Extra:       t.extra,
		RequestID:   id,
		Traced:      true,
		KeepAnswer:  true,
		Planned:     planned,
		Timeout:     time.Duration(t.Timeout),
		IdleTimeout: time.Duration(t.IdleTimeout),
	}
}

// text returns the prompt of one request. A nonce at its very start makes every
// prompt new to a prefix cache, which would otherwise flatter the figures.
func (t Target) text(nonce string) string {
	if t.CacheFriendly {
		nonce = ""
	}
	body := t.prompt
	if n := t.RandomInputTokens; n > 0 {
		// Words of about one token each; the usage says how many the server counted.
		usual, seed := dataset.Words(), fnv.New64a()
		seed.Write([]byte(nonce))
		r := rand.New(rand.NewPCG(seed.Sum64(), uint64(n)))
		words := make([]string, n)
		for i := range words {
			words[i] = usual[r.IntN(len(usual))]
		}
		body = strings.Join(words, " ")
	}
	if nonce == "" {
		return body
	}
	return nonce + "\n" + body
}

// record keeps the outcome, unless this program canceled the request, and logs it when it is another than the last.
func (l *loop) record(o Outcome) {
	if o.Failure != nil && o.Failure.Reason == openai.ReasonCanceled {
		return
	}
	l.mu.Lock()
	last := l.last.Result() // "success" before there was one
	l.last = o
	switch {
	case o.Failure == nil:
		l.lastSuccess = o
		l.verdict.succeeded(o.At)
	case o.Sent() && !o.isJudged:
		l.verdict.failed(o.At)
	}
	l.mu.Unlock()
	switch f := o.Failure; {
	case o.Result() == last:
	case f == nil:
		level.Info(l.logger).Log("msg", "probe succeeds again")
	default:
		level.Warn(l.logger).Log("msg", "probe failed", "reason", o.Result(), "request_id", o.RequestID, "status", f.Status, "detail", f.Detail, "hint", o.Hint)
	}
}
