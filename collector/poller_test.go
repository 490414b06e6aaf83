package collector

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// scripted is a runner whose answers a test sets.
type scripted struct {
	mu     sync.Mutex
	answer func(ctx context.Context, args []string) (command.Output, error)
	calls  []string
	busy   bool
	stuckN int
}

func (s *scripted) set(answer func(ctx context.Context, args []string) (command.Output, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *scripted) Run(ctx context.Context, args ...string) (command.Output, error) {
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

func (s *scripted) RunUntil(ctx context.Context, _ func([]byte) bool, args ...string) (command.Output, error) {
	return s.Run(ctx, args...)
}

func (s *scripted) Stuck() int { return s.stuckN }

func (s *scripted) asked(args string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == args {
			n++
		}
	}
	return n
}

func prints(text string) func(context.Context, []string) (command.Output, error) {
	return func(context.Context, []string) (command.Output, error) {
		return command.Output{Stdout: []byte(text)}, nil
	}
}

func fails(reason failure.Reason) func(context.Context, []string) (command.Output, error) {
	return func(context.Context, []string) (command.Output, error) {
		return command.Output{}, failure.New(reason, "no luck")
	}
}

// toy is a vendor whose table is "card", with a listing asked every time and an
// inventory asked rarely.
func toy() smi.Vendor {
	table := func(out []byte) (model.Report, error) {
		if string(out) != "card" {
			return model.Report{}, failure.New(failure.Parse, "not a card: %q", out)
		}
		return model.Report{Devices: []model.Device{{ID: "0"}}}, nil
	}
	side := func(out []byte) (model.Report, error) {
		if string(out) != "card" {
			return model.Report{}, errors.New("no list")
		}
		return model.Report{Announced: 2}, nil
	}
	return smi.Vendor{
		Name:    "toy",
		Table:   smi.Query{Name: "table", Args: [][]string{{"table"}}, Parse: table},
		Sides:   []smi.Query{{Name: "list", Args: [][]string{{"list"}}, Parse: side}, {Name: "inventory", Args: [][]string{{"new"}, {"old"}}, Inventory: true, Parse: side}},
		Resolve: func(name string, _ []model.Device) string { return name },
		Classify: func(text []byte) (failure.Reason, string, bool) {
			return failure.Driver, "driver", strings.Contains(string(text), "driver")
		},
	}
}

type nowhere struct{}

func (nowhere) locate([]model.Device, *model.Warnings) {}

func options() Options {
	return Options{Interval: 10 * time.Second, InventoryInterval: 5 * time.Minute, Timeout: 10 * time.Second, Logger: log.NewNopLogger()}
}

// run starts a poller over a scripted tool and ends it with the bubble's test.
func run(t *testing.T, s *scripted) *poller[model.Snapshot] {
	t.Helper()
	o := options()
	p := newPoller("toy", newHardware(toy(), s, nowhere{}, 0, o), o)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return p
}

// A hung tool must not go on showing the cards as they were: after three
// intervals and a timeout they are gone, and they are back after one good poll.
func TestStaleSnapshotIsGoneAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: prints("card")}
		p := run(t, s)
		time.Sleep(time.Second)
		if _, ok := p.fresh(); !ok {
			t.Fatal("no snapshot after a good poll")
		}
		s.set(func(ctx context.Context, _ []string) (command.Output, error) {
			time.Sleep(10 * time.Second) // hangs until the deadline
			return command.Output{}, failure.New(failure.Timeout, "no answer")
		})
		time.Sleep(35 * time.Second)
		if _, ok := p.fresh(); !ok {
			t.Error("the snapshot is gone before three intervals and a timeout")
		}
		time.Sleep(10 * time.Second)
		if _, ok := p.fresh(); ok {
			t.Error("a snapshot older than three intervals and a timeout still counts")
		}
		if st := p.Status(); st.Success || st.Failures[failure.Timeout] < 3 || st.LastSuccess.IsZero() {
			t.Errorf("status of a hung tool: %+v", st)
		}
		s.set(prints("card"))
		time.Sleep(25 * time.Second)
		if _, ok := p.fresh(); !ok || !p.Status().Success {
			t.Error("the collector did not recover by itself")
		}
	})
}

func TestHealthIsThereBeforeTheFirstPoll(t *testing.T) {
	o := options()
	p := newPoller("toy", newHardware(toy(), &scripted{}, nowhere{}, 0, o), o)
	st := p.Status()
	if st.Success || st.Polled || len(st.Failures) != len(failure.Reasons()) {
		t.Errorf("status before the first poll: %+v", st)
	}
	for r, n := range st.Failures {
		if n != 0 {
			t.Errorf("%s counts %d before the first poll", r, n)
		}
	}
}

func TestOutputIsJudgedBeforeTheExitStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		out    command.Output
		reason failure.Reason
	}{
		{"good data and exit 1", command.Output{Stdout: []byte("card"), ExitCode: 1}, ""},
		{"an error text and exit 0", command.Output{Stdout: []byte("no driver")}, failure.Driver},
		{"an error text on stderr", command.Output{Stderr: []byte("no driver"), ExitCode: 127}, failure.Driver},
		{"nothing and exit 3", command.Output{ExitCode: 3}, failure.Exit},
		{"another program's output and exit 0", command.Output{Stdout: []byte("hello")}, failure.Parse},
		{"invalid UTF-8", command.Output{Stdout: []byte("card\xff")}, failure.Parse},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{answer: func(context.Context, []string) (command.Output, error) { return c.out, nil }}
			h := newHardware(toy(), s, nowhere{}, 0, options())
			err := h.read(t.Context(), func(result[model.Snapshot]) {})
			if got := failure.ReasonOf(err); got != c.reason {
				t.Errorf("class %q (%v), want %q", got, err, c.reason)
			}
		})
	}
}

// A broken side command costs its own series, is a warning, and is asked again
// later, not at every poll.
func TestSideCommandFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		broken := func(ctx context.Context, args []string) (command.Output, error) {
			if args[0] == "table" {
				return prints("card")(ctx, args)
			}
			return fails(failure.Exit)(ctx, args)
		}
		s.set(broken)
		p := run(t, s)
		time.Sleep(55 * time.Second)
		if st := p.Status(); !st.Success || st.Warnings != 2 {
			t.Errorf("success %v with %d warnings, want success with 2", st.Success, st.Warnings)
		}
		if got := s.asked("list"); got != 1 {
			t.Errorf("the broken list was asked %d times in a minute, want 1", got)
		}
		if s.asked("new") != 1 || s.asked("old") != 1 {
			t.Error("the older form of the inventory was not tried")
		}
		s.set(prints("card"))
		time.Sleep(20 * time.Second)
		if v, ok := p.fresh(); !ok || v.Announced != 2 {
			t.Error("the list was not asked again")
		}
		before := s.asked("new")
		time.Sleep(4 * time.Minute)
		if got := s.asked("new"); got != before {
			t.Errorf("the inventory was asked %d times more within its interval", got-before)
		}
	})
}

// Two side commands that hang must not make the main table stale.
func TestHungSidesDoNotStarveTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(ctx context.Context, args []string) (command.Output, error) {
			if args[0] == "table" {
				return prints("card")(ctx, args)
			}
			time.Sleep(10 * time.Second)
			return fails(failure.Timeout)(ctx, args)
		}}
		p := run(t, s)
		for range 300 {
			time.Sleep(time.Second)
			if _, ok := p.fresh(); !ok {
				t.Fatal("the cards vanished while only side commands hang")
			}
		}
		if s.asked("old") != 0 {
			t.Error("a tool that hung was asked again in another form at once")
		}
	})
}

// A tool that takes 8 s for each answer is slow, not broken: its cards stay, and
// what is asked beside the table comes too.
func TestSlowToolKeepsItsCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(ctx context.Context, args []string) (command.Output, error) {
			time.Sleep(8 * time.Second)
			return prints("card")(ctx, args)
		}}
		p := run(t, s)
		time.Sleep(9 * time.Second)
		for range 600 {
			time.Sleep(time.Second)
			if _, ok := p.fresh(); !ok {
				t.Fatal("the cards of a slow tool vanished")
			}
		}
		if s.asked("list") == 0 || s.asked("new") == 0 {
			t.Error("a slow tool was never asked for its list or its inventory")
		}
		if p.Status().Success != true {
			t.Error("a slow tool counts as failing")
		}
	})
}

// What the table said is as old as the table, however long other questions took.
func TestSideCommandsDoNotRejuvenateTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(ctx context.Context, args []string) (command.Output, error) {
			if args[0] != "table" {
				time.Sleep(9 * time.Second)
			}
			return prints("card")(ctx, args)
		}}
		start := time.Now()
		h := newHardware(toy(), s, nowhere{}, 0, options())
		published := 0
		err := h.read(t.Context(), func(r result[model.Snapshot]) {
			published++
			if !r.taken.Equal(start) {
				t.Errorf("publication %d says the table was read %s later than it was", published, r.taken.Sub(start))
			}
		})
		if err != nil || published != 3 {
			t.Errorf("%d publications (%v), want one after the table and one after each side", published, err)
		}
	})
}

func TestExpectedIsTheMostEverSeenOrAnnounced(t *testing.T) {
	s := &scripted{answer: prints("card")}
	h := newHardware(toy(), s, nowhere{}, 0, options())
	if got := h.expected(); got != 0 {
		t.Errorf("expected %d cards before anything is known", got)
	}
	if err := h.read(t.Context(), func(result[model.Snapshot]) {}); err != nil {
		t.Fatal(err)
	}
	if got := h.expected(); got != 2 { // one in the table, two announced by the list
		t.Errorf("expected %d, want 2", got)
	}
	if got := newHardware(toy(), s, nowhere{}, 8, options()).expected(); got != 8 {
		t.Errorf("expected %d although 8 are configured", got)
	}
}

// A card that fell off the bus is named by what was known of it, until as many cards are listed as are expected.
func TestMissingCardsAreNamed(t *testing.T) {
	cards := []model.Device{{ID: "0", BusID: "0000:0a:00.0"}, {ID: "1", BusID: "0000:0b:00.0"}, {ID: "2", BusID: "0000:0c:00.0"}}
	shown := cards
	vendor := toy()
	vendor.Sides = nil
	vendor.Table.Parse = func([]byte) (model.Report, error) { return model.Report{Devices: slices.Clone(shown)}, nil }
	h := newHardware(vendor, &scripted{answer: prints("card")}, nowhere{}, 0, options())
	for _, poll := range []struct{ shown, missing []model.Device }{
		{cards, nil},
		{[]model.Device{cards[0], {ID: "1", BusID: "0000:0c:00.0"}}, cards[1:2]},
		{cards[:1], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}, cards[1]}},
		{cards[:2], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}}},
		{cards, nil},
	} {
		shown = poll.shown
		var got []model.Device
		if err := h.read(t.Context(), func(r result[model.Snapshot]) { got = r.value.Missing }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(poll.missing, got); diff != "" {
			t.Errorf("with %v listed, want (-) and got (+) differ:\n%s", poll.shown, diff)
		}
	}
}

// stalled is a log that nobody reads: writing to it waits until the test ends.
type stalled struct{ reached, end chan struct{} }

func (s stalled) Log(...any) error {
	select {
	case s.reached <- struct{}{}:
	default:
	}
	<-s.end
	return nil
}

// A scrape must not wait for the log: not while a warning is written, nor a failure.
func TestStalledLogDoesNotDelayAScrape(t *testing.T) {
	table := func(out []byte) (model.Report, error) {
		r := model.Report{Devices: []model.Device{{ID: "0"}}}
		if string(out) != "card" {
			return r, failure.New(failure.Parse, "not a card")
		}
		r.Warn("a row is cut")
		return r, nil
	}
	for name, text := range map[string]string{"a warning": "card", "a failure": "none"} {
		t.Run(name, func(t *testing.T) {
			vendor, o := toy(), options()
			vendor.Table.Parse, vendor.Sides = table, nil
			logger := stalled{make(chan struct{}, 1), make(chan struct{})}
			o.Logger = logger
			p := newPoller("toy", newHardware(vendor, &scripted{answer: prints(text)}, nowhere{}, 0, o), o)
			var wg sync.WaitGroup
			wg.Go(func() { p.poll(t.Context()) })
			defer wg.Wait()
			defer close(logger.end)
			<-logger.reached
			scraped := make(chan Status)
			go func() {
				p.fresh()
				p.lastTaken()
				scraped <- p.Status()
			}()
			select {
			case s := <-scraped:
				if !s.Polled || s.Success != (text == "card") {
					t.Errorf("the scrape saw %+v", s)
				}
			case <-time.After(10 * time.Second):
				t.Error("a scrape waits for the log")
			}
		})
	}
}

// Every row of a large broken table counts, few are kept and logged, and a poll that
// finds the same again logs nothing.
func TestManyWarningsAreLoggedOnce(t *testing.T) {
	const rows = 100_000
	vendor, o := toy(), options()
	vendor.Sides = nil
	vendor.Table.Parse = func([]byte) (model.Report, error) {
		r := model.Report{Devices: []model.Device{{ID: "0"}}}
		for i := range rows {
			r.Warn("row %d is cut", i)
		}
		return r, nil
	}
	lines := 0
	o.Logger = log.LoggerFunc(func(...any) error { lines++; return nil })
	p := newPoller("toy", newHardware(vendor, &scripted{answer: prints("card")}, nowhere{}, 0, o), o)
	for n := 1; n <= 2; n++ {
		p.poll(t.Context())
		s := p.Status()
		if s.Warnings != uint64(n*rows) || s.LeftOut.Count != rows || len(s.LeftOut.Texts) != 20 || lines != 21 {
			t.Errorf("after poll %d: %d warnings in all, %d now, %d kept, %d lines logged", n, s.Warnings, s.LeftOut.Count, len(s.LeftOut.Texts), lines)
		}
	}
}
