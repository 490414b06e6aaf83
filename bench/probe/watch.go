package probe

import (
	"context"
	"sync"
	"time"

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// watch looks at the server's counters while a request waits for its first text: after half of its time, and whenever a
// probe is skipped. end waits for the last look, and reports whether one found counters.
func (l *loop) watch(ctx context.Context, r *openai.Request) (end func() (hasCounters bool)) {
	waiting, stop := context.WithCancel(ctx)
	half := time.NewTimer(r.Timeout / 2)
	r.FirstText = stop
	var watcher sync.WaitGroup
	found := false
	watcher.Go(func() {
		defer half.Stop()
		for {
			select {
			case <-waiting.Done():
				return
			case <-half.C:
			case <-l.skips:
			}
			found = l.look(ctx) || found
		}
	})
	return func() bool {
		stop()
		watcher.Wait()
		return found
	}
}

const lookTime = 10 * time.Second

// look judges the target by its server's counters, and reports whether there are any. Two looks are half an interval
// apart at least: a step of the engine may take its time.
func (l *loop) look(ctx context.Context) bool {
	if v := &l.verdict; v.looks > 0 && time.Since(v.last.at) < time.Duration(l.target.Interval)/2 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime) // for which the probe waits
	defer cancel()
	now := look{at: time.Now(), tokens: map[string]float64{}}
	if failure := l.client.Metrics(ctx, now.addLine); failure != nil || len(now.tokens) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.verdict.state
	l.verdict.looked(now)
	if l.verdict.state != before {
		level.Warn(l.logger).Log("msg", "no first token, so the server's counters were read", "state", l.verdict.state, "running", now.running, "waiting", now.waiting)
	}
	return true
}
