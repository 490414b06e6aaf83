package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what does not happen in a passing test.
const patience = 20 * time.Second

// eventually polls until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// makeTarget validates a Spec with the defaults, the name "a" and the model "m",
// and what change makes of them.
func makeTarget(t testing.TB, change func(*Spec)) Target {
	t.Helper()
	s := DefaultSpec()
	s.Name, s.URL, s.Model = "a", "http://127.0.0.1:1", "m"
	if change != nil {
		change(&s)
	}
	target, err := s.Validate(t.TempDir())
	noError(t, errors.Join(err...))
	return target
}

// fakeClient is an endpoint without a network; nil fields answer well at once.
type fakeClient struct {
	stream func(ctx context.Context, r openai.Request) *openai.Trace
	models func(ctx context.Context) ([]openai.Model, *openai.Failure)
	page   func() string // of metrics; "" for none
}

func (c fakeClient) Stream(ctx context.Context, r openai.Request) *openai.Trace {
	if c.stream == nil {
		return goodTrace(r)
	}
	return c.stream(ctx, r)
}

func (c fakeClient) Models(ctx context.Context) ([]openai.Model, *openai.Failure) {
	if c.models == nil {
		return []openai.Model{{ID: "m"}}, nil
	}
	return c.models(ctx)
}

func (c fakeClient) Metrics(ctx context.Context, readLine func([]byte)) *openai.Failure {
	if c.page == nil || ctx.Err() != nil {
		return &openai.Failure{Reason: openai.ReasonHTTP4xx}
	}
	page := c.page()
	if ctx.Err() != nil {
		return &openai.Failure{Reason: openai.ReasonCanceled}
	}
	for line := range strings.Lines(page) {
		readLine([]byte(strings.TrimSpace(line)))
	}
	return nil
}

// goodTrace is a request with three tokens after 100, 120 and 150 ms.
func goodTrace(r openai.Request) *openai.Trace {
	return &openai.Trace{
		RequestID: r.RequestID, Traced: r.Traced, Model: r.Model, Planned: r.Planned, Started: time.Now(),
		Chunks:      []openai.Chunk{{At: 100 * time.Millisecond}, {At: 120 * time.Millisecond}, {At: 150 * time.Millisecond}},
		Usage:       &openai.Usage{PromptTokens: 50, CompletionTokens: 3},
		TokenSource: openai.TokensUsage,
		End:         160 * time.Millisecond,
	}
}

// failedTrace is a request that failed before any text.
func failedTrace(r openai.Request, reason openai.Reason) *openai.Trace {
	return &openai.Trace{
		RequestID: r.RequestID, Model: r.Model, Planned: r.Planned, Started: time.Now(),
		TokenSource: openai.TokensChunks, Failure: &openai.Failure{Reason: reason},
	}
}

// fakeLoop is the only loop of a new Prober, with a client of the test's own.
func fakeLoop(target Target, c client) (*Prober, *loop) {
	p := New(log.NewNopLogger())
	l := newLoop(target, c, p.metrics, p.logger)
	p.loops[target.Name] = l
	if l.model != "" {
		p.open(target, l.model)
	}
	return p, l
}

// running runs p until the returned function is called, which waits for its end.
func running(t testing.TB, p *Prober) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-over
	}
	t.Cleanup(stop)
	return stop
}

// gather is what a scrape of p reads.
func gather(t testing.TB, p *Prober) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(p)
	families, err := r.Gather()
	noError(t, err)
	return families
}

// samples are the values of p's series without their common prefix; of a
// histogram, the number of its observations.
func samples(t testing.TB, p *Prober) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range gather(t, p) {
		name, ok := strings.CutPrefix(f.GetName(), "accelerator_probe_")
		if !ok {
			t.Errorf("metric %s outside the namespace", f.GetName())
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			series := "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Histogram != nil:
				all[name+"_count"+series] = float64(m.GetHistogram().GetSampleCount())
			case m.Counter != nil:
				all[name+series] = m.GetCounter().GetValue()
			default:
				all[name+series] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// only keeps the samples of which keep is a part, and that are not 0.
func only(all map[string]float64, keep string) map[string]float64 {
	kept := map[string]float64{}
	for name, v := range all {
		if strings.Contains(name, keep) && v != 0 {
			kept[name] = v
		}
	}
	return kept
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
