package collector

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// answering is how a program answers one call.
type answering func(ctx context.Context, args []string) (process.Output, error)

// scripted is a Runner whose answers a test sets.
type scripted struct {
	mu     sync.Mutex
	answer answering
	calls  []string
	busy   bool
	stuckN int
}

func (s *scripted) set(answer answering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *scripted) RunUntil(ctx context.Context, _ func([]byte) bool, args ...string) (process.Output, error) {
	s.mu.Lock()
	if s.busy {
		s.mu.Unlock()
		panic("two children of one tool at a time")
	}
	s.busy = true
	answer := s.answer
	s.calls = append(s.calls, strings.Join(args, " "))
	s.mu.Unlock()
	out, err := answer(ctx, args)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	return out, err
}

func (s *scripted) Stuck() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuckN
}

func (*scripted) Close() {}

func (s *scripted) callCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *scripted) asked(args string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == args {
			n++
		}
	}
	return n
}

func prints(text string) answering {
	return func(context.Context, []string) (process.Output, error) {
		return process.Output{Stdout: []byte(text)}, nil
	}
}

func fails(reason failure.Reason) answering {
	return func(context.Context, []string) (process.Output, error) {
		return process.Output{}, failure.Errorf(reason, "no luck")
	}
}

// takes answers after a while.
func takes(d time.Duration, answer answering) answering {
	return func(ctx context.Context, args []string) (process.Output, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return process.Output{}, failure.Errorf(failure.Timeout, "ended: %w", ctx.Err())
		}
		return answer(ctx, args)
	}
}

// hang waits until the timeout, as process.Runner does.
var hang = takes(10*time.Second, func(context.Context, []string) (process.Output, error) {
	return process.Output{}, failure.Errorf(failure.Timeout, "no complete answer")
})

// about answers calls of which the arguments match, "" for any, and quickly and well all others.
func about(args string, answer answering) answering {
	well := takes(time.Millisecond, prints("all cards"))
	return func(ctx context.Context, of []string) (process.Output, error) {
		if strings.Contains(strings.Join(of, " ")+"$", args) && of[0] != "table" {
			return answer(ctx, of)
		}
		return well(ctx, of)
	}
}

var well = about("nothing", nil)

// toyCommand asks "name card" and reads "card 3" or "all cards". What it reads is clock_hertz{clock="name"}.
func toyCommand(name string, scope model.Scope, every time.Duration) model.Command {
	return model.Command{
		Name: name, Scope: scope, Every: every,
		Args: func(d model.Device) [][]string { return [][]string{{name, d.ID}} },
		Parse: func(out []byte, cards []model.Device) (r model.Report, err error) {
			for _, c := range cards {
				if bytes.Contains(out, []byte("card "+c.ID+"\n")) || bytes.Contains(out, []byte("all cards")) {
					reading := model.Reading{Metric: "clock_hertz", Labels: []string{name}, Value: 1}
					r.Devices = append(r.Devices, model.Device{ID: c.ID, Readings: model.Readings{reading}})
				}
			}
			if r.Devices == nil {
				return r, failure.Errorf(failure.Parse, "no card")
			}
			return r, nil
		},
	}
}

func toyCards(n int) []model.Device {
	var all []model.Device
	for i := range n {
		all = append(all, model.Device{ID: fmt.Sprint(i), NPU: fmt.Sprint(i / 2), Chip: fmt.Sprint(i % 2)})
	}
	return all
}

func toyClassify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, []smitext.Pattern{{Text: "does not support", Reason: failure.Unsupported}, {Text: "driver", Reason: failure.Driver}})
}

// toy is a host with one vendor, whose tool has a table of cards and is asked some commands.
type toy struct {
	*Collector
	tool *scripted

	mu    sync.Mutex
	cards []model.Device
}

func newToy(o Options, cards []model.Device, commands ...model.Command) *toy {
	h := &toy{tool: &scripted{answer: well}, cards: cards}
	table := func(out []byte, _ []model.Device) (model.Report, error) {
		if !bytes.Contains(out, []byte("all cards")) {
			return model.Report{}, failure.Errorf(failure.Parse, "not a table: %q", out)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return model.Report{Devices: slices.Clone(h.cards)}, nil
	}
	v := model.Vendor{
		Name: "toy", Table: model.Command{Name: "table", Args: model.SameArgs([]string{"table"}), Parse: table}, Commands: commands,
		Classify: toyClassify, Resolve: func(name string, _ []model.Device) string { return name },
	}
	h.Collector = newScripted(o, VendorOptions{Vendor: v, Command: "toy"}, h.tool, nil)
	return h
}

// newScripted is New with a vendor whose programs are scripted.
func newScripted(o Options, v VendorOptions, tool, network *scripted) *Collector {
	o.Vendors = append(o.Vendors, v)
	before := o.NewRunner
	o.NewRunner = func(p process.Options) Runner {
		switch p.Path {
		case v.Command:
			return tool
		case v.Network:
			return network
		}
		return before(p)
	}
	return New(o)
}

func (h *toy) setCards(cards []model.Device) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cards = cards
}

func (h *toy) status() Status { return h.Statuses()[0] }

func (h *toy) isShown() bool { return h.Cards()[0].Known }

func logLine(keyvals []any) string {
	var b bytes.Buffer
	_ = log.NewLogfmtLogger(&b).Log(keyvals...)
	return b.String()
}

func options() Options {
	return Options{Interval: 10 * time.Second, InventoryInterval: 5 * time.Minute, Timeout: 10 * time.Second, Detail: DetailFull, Processes: true, Logger: log.NewNopLogger()}
}

// start has a collector run until the test ends.
func start(t *testing.T, c interface{ Run(context.Context) }) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// scraped calls do with each series of a scrape.
func scraped(t testing.TB, c prometheus.Gatherer, do func(name string, labels map[string]string, value float64)) {
	t.Helper()
	families, err := prometheus.Gatherers{c}.Gather() // which checks them
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			do(strings.TrimPrefix(f.GetName(), namespace), labelsByName(m), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
}

func labelsByName(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// read is which cards have a reading in a scrape, by toy command.
func read(t testing.TB, c prometheus.Gatherer) map[string]string {
	t.Helper()
	all := map[string]string{}
	scraped(t, c, func(name string, labels map[string]string, _ float64) {
		if name == "clock_hertz" {
			all[labels["clock"]] += labels["device"]
		}
	})
	return all
}

func wantRead(t *testing.T, c prometheus.Gatherer, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, read(t, c)); diff != "" {
		t.Errorf("cards with readings, want (-) and got (+) differ:\n%s", diff)
	}
}

// runs are how the last run of each command went in a scrape.
func runs(t testing.TB, c prometheus.Gatherer) map[string]run {
	t.Helper()
	all := map[string]run{}
	scraped(t, c, func(name string, labels map[string]string, value float64) {
		r := all[labels["command"]]
		switch name {
		case "collector_command_success":
			r.success = value == 1
		case "collector_command_duration_seconds":
			r.duration = time.Duration(value * float64(time.Second)).Round(time.Second)
		default:
			return
		}
		all[labels["command"]] = r
	})
	return all
}
