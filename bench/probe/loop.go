package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// client is what a loop needs of an endpoint.
type client interface {
	Stream(ctx context.Context, r openai.Request) *openai.Trace
	Models(ctx context.Context) ([]string, *openai.Failure)
}

// loop probes one target.
type loop struct {
	target  Target
	client  client
	metrics *metrics
	logger  log.Logger

	inFlight atomic.Bool
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	model   string // configured or learned; "" while not known
	last    *openai.Failure
	at      time.Time
	mustAsk bool // the model was learned, and the last probe failed
}

func newLoop(t Target, c client, m *metrics, logger log.Logger) *loop {
	return &loop{
		target:  t,
		client:  c,
		metrics: m,
		logger:  log.With(logger, "target", t.Name()),
		model:   t.spec.Model,
	}
}

// follow takes over from the loop that had the same name before, which must have
// stopped: what it counted stays, unless it was about another model.
func (l *loop) follow(old *loop) {
	old.mu.Lock()
	known, mustAsk := old.model, old.mustAsk
	old.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	learned := l.target.spec.Model == "" && old.target.spec.Model == ""
	switch {
	case learned && l.target.URL().String() == old.target.URL().String():
		l.model, l.mustAsk = known, mustAsk
	case known != "" && known != l.model:
		l.metrics.dropModel(l.target.Name(), known)
	}
	l.metrics.dropObjectives(l.target)
}

// open makes the series of a target whose model is known.
func (l *loop) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.model != "" {
		l.metrics.open(l.target, l.model)
	}
	if l.target.spec.Model != "" {
		l.metrics.dropUnknown(l.target.Name())
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
	h.Write([]byte(l.target.Name()))
	return time.Duration(h.Sum64() % uint64(min(time.Duration(l.target.spec.Interval), longest)))
}

func (l *loop) run(ctx context.Context) {
	interval := time.Duration(l.target.spec.Interval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for planned := time.Now().Add(l.offset()); ; planned = planned.Add(interval) {
		timer.Reset(time.Until(planned))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return // both were ready
		}
		missed := time.Since(planned) >= interval // the host slept, or was stopped
		if missed || !l.inFlight.CompareAndSwap(false, true) {
			l.skip()
			continue
		}
		l.running.Go(func() {
			defer l.inFlight.Store(false)
			l.probe(ctx, planned)
		})
	}
}

// skip holds the lock while it counts: the model's series must not come back when
// the model has just become another.
func (l *loop) skip() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.skipped.WithLabelValues(l.target.Name(), l.model).Inc()
}

// probe sends one request, and asks for the model first where it must.
func (l *loop) probe(ctx context.Context, planned time.Time) {
	model, failure := l.learn(ctx)
	if failure != nil {
		l.metrics.learnFailed(l.target, failure)
		l.ended(failure, "")
		return
	}
	gauge := l.metrics.inFlight.WithLabelValues(l.target.Name(), model)
	gauge.Set(1)
	defer gauge.Set(0)
	id := newID()
	trace := l.client.Stream(ctx, openai.Request{
		API:         l.target.spec.API,
		Model:       model,
		Prompt:      l.target.text(id),
		MaxTokens:   l.target.spec.MaxTokens,
		RequestID:   id,
		Planned:     planned,
		Timeout:     time.Duration(l.target.spec.Timeout),
		IdleTimeout: time.Duration(l.target.spec.IdleTimeout),
	})
	l.metrics.observe(l.target, trace)
	l.ended(trace.Failure, trace.RequestID)
}

// learn returns the model to ask for: the configured one, or the first that the
// endpoint lists, asked again after a probe failed.
func (l *loop) learn(ctx context.Context) (string, *openai.Failure) {
	l.mu.Lock()
	model, ask := l.model, l.model == "" || l.mustAsk
	l.mu.Unlock()
	if !ask {
		return model, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.target.spec.Timeout))
	defer cancel()
	models, failure := l.client.Models(ctx)
	switch {
	case failure != nil && model != "":
		return model, nil // the completions may work although the list does not
	case failure != nil:
		return "", failure
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if models[0] != model {
		if model != "" {
			l.metrics.dropModel(l.target.Name(), model)
		}
		l.metrics.open(l.target, models[0])
	}
	l.metrics.dropUnknown(l.target.Name())
	l.model, l.mustAsk = models[0], false
	return l.model, nil
}

// ended keeps the outcome and logs it when it is another than the last. A request
// that this program withdrew is no news.
func (l *loop) ended(f *openai.Failure, id string) {
	if f != nil && f.Reason == openai.ReasonCanceled {
		return
	}
	l.mu.Lock()
	last := l.last
	l.last, l.at = f, time.Now()
	l.mustAsk = f != nil && l.target.spec.Model == ""
	l.mu.Unlock()
	switch {
	case f == nil && last != nil:
		level.Info(l.logger).Log("msg", "probe succeeds again")
	case f != nil && (last == nil || last.Reason != f.Reason):
		l.logFailure(level.Warn(l.logger), f, id)
	case f != nil:
		l.logFailure(level.Debug(l.logger), f, id)
	}
}

// logFailure tells a failed probe from a failure to learn the model, which has no
// request id.
func (l *loop) logFailure(logger log.Logger, f *openai.Failure, id string) {
	if id == "" {
		_ = logger.Log("msg", "asking for the list of models failed", "url", l.target.URL().JoinPath("v1", "models"), "reason", f.Reason, "status", f.Status, "detail", f.Detail)
		return
	}
	_ = logger.Log("msg", "probe failed", "reason", f.Reason, "status", f.Status, "detail", f.Detail, "request_id", id)
}

func (l *loop) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Status{Target: l.target.Name(), URL: l.target.URL().String(), Model: l.model, At: l.at, Failure: l.last}
}

// newID is a request id that is also the prompt's nonce.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
