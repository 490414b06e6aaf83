package collector

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// scripted is a runner whose answers a test sets.
type scripted struct {
	mu     sync.Mutex
	answer func(ctx context.Context, args []string) (process.Output, error)
	calls  []string
	busy   bool
	stuckN int
}

func (s *scripted) set(answer func(ctx context.Context, args []string) (process.Output, error)) {
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

func prints(text string) func(context.Context, []string) (process.Output, error) {
	return func(context.Context, []string) (process.Output, error) {
		return process.Output{Stdout: []byte(text)}, nil
	}
}

func fails(reason failure.Reason) func(context.Context, []string) (process.Output, error) {
	return func(context.Context, []string) (process.Output, error) {
		return process.Output{}, failure.Errorf(reason, "no luck")
	}
}

// toy is a vendor whose table is "card", with a list asked every minute and a topology asked rarely.
func toy() model.Vendor {
	table := func(out []byte) (model.Report, error) {
		if string(out) != "card" {
			return model.Report{}, failure.Errorf(failure.Parse, "not a card: %q", out)
		}
		return model.Report{Devices: []model.Device{{ID: "0"}}, Announced: 2}, nil
	}
	inventory := func(name string, every time.Duration, args ...[]string) model.Command {
		return model.Command{Name: name, Inventory: true, Every: every, Args: model.SameArgs(args...), Parse: model.IgnoreCards(table)}
	}
	return model.Vendor{
		Name:     "toy",
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{"table"}), Parse: model.IgnoreCards(table)},
		Commands: []model.Command{inventory("list", time.Minute, []string{"list"}), inventory("topology", 0, []string{"new"}, []string{"old"})},
		Resolve:  func(name string, _ []model.Device) string { return name },
		Classify: func(text []byte) (failure.Reason, string, bool) {
			return failure.Driver, "driver", strings.Contains(string(text), "driver")
		},
	}
}

type nowhere struct{}

func (nowhere) look([]model.Process, time.Time) host.Look { return host.Look{} }

func options() Options {
	return Options{Interval: 10 * time.Second, InventoryInterval: 5 * time.Minute, Timeout: 10 * time.Second, Detail: DetailOff, Processes: true, Logger: log.NewNopLogger()}
}

// startToy starts the toy's poller over a scripted tool and ends it with the bubble's test.
func startToy(t *testing.T, s *scripted) cards {
	t.Helper()
	o := options()
	c := newCardsOf(newHardware(toy(), s, nowhere{}, 0, o), nil, o)
	start(t, c.poller)
	return c
}

// A hung tool must not go on showing the cards as they were: after three
// intervals and a timeout they are gone, and they are back after one good poll.
func TestStaleSnapshotIsGoneAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: prints("card")}
		c := startToy(t, s)
		p := c.poller
		time.Sleep(time.Second)
		if _, ok := p.fresh(); !ok {
			t.Fatal("no snapshot after a good poll")
		}
		s.set(func(ctx context.Context, _ []string) (process.Output, error) {
			time.Sleep(10 * time.Second) // hangs until the deadline
			return process.Output{}, failure.Errorf(failure.Timeout, "no answer")
		})
		time.Sleep(35 * time.Second)
		if _, ok := p.fresh(); !ok {
			t.Error("the snapshot is gone before three intervals and a timeout")
		}
		time.Sleep(10 * time.Second)
		if _, ok := p.fresh(); ok {
			t.Error("a snapshot older than three intervals and a timeout still counts")
		}
		if st := p.health.Status(); st.Success || st.Failures[failure.Timeout] < 3 || st.LastSuccess.IsZero() {
			t.Errorf("status of a hung tool: %+v", st)
		}
		s.set(prints("card"))
		time.Sleep(25 * time.Second)
		if _, ok := p.fresh(); !ok || !p.health.Status().Success {
			t.Error("the collector did not recover by itself")
		}
	})
}

func TestHealthIsThereBeforeTheFirstPoll(t *testing.T) {
	o := options()
	p := newPoller("toy", newHardware(toy(), &scripted{}, nowhere{}, 0, o), o)
	st := p.health.Status()
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
		out    process.Output
		reason failure.Reason
	}{
		{"good data and exit 1", process.Output{Stdout: []byte("card"), ExitCode: 1}, ""},
		{"an error text and exit 0", process.Output{Stdout: []byte("no driver")}, failure.Driver},
		{"an error text on stderr", process.Output{Stderr: []byte("no driver"), ExitCode: 127}, failure.Driver},
		{"nothing and exit 3", process.Output{ExitCode: 3}, failure.Exit},
		{"another program's output and exit 0", process.Output{Stdout: []byte("hello")}, failure.Parse},
		{"invalid UTF-8", process.Output{Stdout: []byte("card\xff")}, failure.Parse},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{answer: func(context.Context, []string) (process.Output, error) { return c.out, nil }}
			h := newHardware(toy(), s, nowhere{}, 0, options())
			_, err := h.read(t.Context())
			if got := failure.ReasonOf(err); got != c.reason {
				t.Errorf("class %q (%v), want %q", got, err, c.reason)
			}
		})
	}
}

// A broken inventory costs its own series, is a warning, and is asked again later, not at every poll. A card that only
// it shows is there a minute later at most.
func TestInventoryFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(ctx context.Context, args []string) (process.Output, error) {
			if args[0] == "list" {
				return fails(failure.Exit)(ctx, args)
			}
			return prints("card")(ctx, args)
		}}
		c := startToy(t, s)
		time.Sleep(55 * time.Second)
		if st := c.status(); !st.Success || st.Warnings != 1 || st.LeftOut.Count != 1 || s.asked("list") != 1 {
			t.Errorf("a list that failed %d times gives %+v", s.asked("list"), st)
		}
		s.set(prints("card"))
		before := s.asked("new")
		time.Sleep(4 * time.Minute)
		if st := c.status(); st.Warnings != 1 || st.LeftOut.Count != 0 || s.asked("list") != 5 || s.asked("new") != before {
			t.Errorf("a list that is well was asked %d times, the topology %d times, and the status is %+v", s.asked("list"), s.asked("new"), st)
		}
	})
}

// A tool that takes 8 s for each answer is slow, not broken: its cards stay, and what is asked beside the table comes
// too. Inventories that hang do not make the table stale either.
func TestSlowAndHangingInventories(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context, args []string) (process.Output, error){
		"slow": takes(8*time.Second, always("card")),
		"hanging": func(ctx context.Context, args []string) (process.Output, error) {
			if args[0] == "table" {
				return prints("card")(ctx, args)
			}
			return hang(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answer: answer}
				c := startToy(t, s)
				time.Sleep(9 * time.Second)
				for range 600 {
					time.Sleep(time.Second)
					if _, ok := c.poller.fresh(); !ok || !c.status().Success {
						t.Fatal("the cards vanished")
					}
				}
				if s.asked("list") == 0 || s.asked("new") == 0 || s.asked("old") > 0 {
					t.Errorf("calls %q", s.calls)
				}
			})
		})
	}
}

// What an inventory has is shown at once, and is as old as the table, however long it took.
func TestInventoryIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, o := toy(), options()
		v.Commands[0].Parse = func([]byte, []model.Device) (model.Report, error) {
			return model.Report{Listed: []model.Device{{ID: "1", Health: &model.Health{State: "Not Available"}}}}, nil
		}
		s := &scripted{answer: takes(3*time.Second, always("card"))}
		c := newCardsOf(newHardware(v, s, nowhere{}, 0, o), nil, o)
		start(t, c.poller)
		time.Sleep(3*time.Second + time.Millisecond)
		read := c.poller.lastTaken()
		time.Sleep(3 * time.Second)
		snapshot, _ := c.poller.fresh()
		if len(snapshot.Devices) != 2 || snapshot.Seen != 1 || !c.poller.lastTaken().Equal(read) {
			t.Errorf("cards %+v, read at %s; want the listed one too, and the instant %s", snapshot.Devices, c.poller.lastTaken(), read)
		}
	})
}

func TestExpectedIsTheMostEverSeenOrAnnounced(t *testing.T) {
	s := &scripted{answer: prints("card")}
	h := newHardware(toy(), s, nowhere{}, 0, options())
	if got := h.expected(); got != 0 {
		t.Errorf("expected %d cards before anything is known", got)
	}
	if _, err := h.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.expected(); got != 2 { // one in the table, two announced
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
	vendor.Commands = nil
	vendor.Table.Parse = func([]byte, []model.Device) (model.Report, error) {
		return model.Report{Devices: slices.Clone(shown)}, nil
	}
	h := newHardware(vendor, &scripted{answer: prints("card")}, nowhere{}, 0, options())
	for _, poll := range []struct{ shown, missing []model.Device }{
		{cards, nil},
		{[]model.Device{cards[0], {ID: "1", BusID: "0000:0c:00.0"}}, cards[1:2]},
		{cards[:1], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}, cards[1]}},
		{cards[:2], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}}},
		{cards, nil},
	} {
		shown = poll.shown
		r, err := h.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(poll.missing, r.value.Missing); diff != "" {
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
	table := func(out []byte, _ []model.Device) (model.Report, error) {
		r := model.Report{Devices: []model.Device{{ID: "0"}}}
		if string(out) != "card" {
			return r, failure.Errorf(failure.Parse, "not a card")
		}
		r.Warn("a row is cut")
		return r, nil
	}
	for name, text := range map[string]string{"a warning": "card", "a failure": "none"} {
		t.Run(name, func(t *testing.T) {
			vendor, o := toy(), options()
			vendor.Table.Parse, vendor.Commands = table, nil
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
				scraped <- p.health.Status()
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
	vendor.Commands = nil
	vendor.Table.Parse = func([]byte, []model.Device) (model.Report, error) {
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
		s := p.health.Status()
		if s.Warnings != uint64(n*rows) || s.LeftOut.Count != rows || len(s.LeftOut.Texts) != 20 || lines != 21 {
			t.Errorf("after poll %d: %d warnings in all, %d now, %d kept, %d lines logged", n, s.Warnings, s.LeftOut.Count, len(s.LeftOut.Texts), lines)
		}
	}
}
