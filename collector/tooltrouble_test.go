package collector

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// hostOf is a toy tool with cards and commands, whose calls answer as wrong says, and else quickly and well.
func hostOf(t *testing.T, cards int, plan []model.Command, wrong func(ctx context.Context, args string) (process.Output, error, bool)) (*poller[model.Snapshot], *tool, *scripted) {
	t.Helper()
	v := toy()
	v.Commands, v.Classify = plan, toyClassify
	v.Table.Parse = func([]byte, []model.Device) (model.Report, error) {
		r := model.Report{Devices: toyCards(cards)}
		for i := range r.Devices { // one die to a card
			r.Devices[i].NPU, r.Devices[i].Chip = r.Devices[i].ID, "0"
		}
		return r, nil
	}
	well := takes(100*time.Millisecond, always("all cards"))
	s := &scripted{answer: func(ctx context.Context, args []string) (process.Output, error) {
		if out, err, ok := wrong(ctx, strings.Join(args, " ")); ok {
			return out, err
		}
		return well(ctx, args)
	}}
	o := options()
	o.Detail = DetailFull
	c := newCardsOf(newHardware(v, s, nowhere{}, 0, o), nil, o)
	return c.poller, c.hardware.tools[0], s
}

// hang waits until the timeout, as the Runner does.
func hang(ctx context.Context) (process.Output, error) {
	_, err := takes(10*time.Second, always(""))(ctx, nil)
	if err == nil {
		err = failure.Errorf(failure.Timeout, "no complete answer")
	}
	return process.Output{}, err
}

// start has a poller run until the test ends.
func start[T any](t *testing.T, p *poller[T]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// deepPlan is eight commands about each card, and one about all.
func deepPlan() []model.Command {
	plan := []model.Command{toyCommand("watch", model.Host, time.Minute)}
	for i := range 8 {
		plan = append(plan, toyCommand(fmt.Sprintf("deep%d", i), model.Die, []time.Duration{time.Minute, 5 * time.Minute}[i%2]))
	}
	return plan
}

// The ways in which a command goes wrong. The main table waits for one call that is under way and for no other, and the
// readings of every other card are there all the time; those of the sick card's other commands too.
func TestCommandsInTroubleCostTheirOwnOnly(t *testing.T) {
	const sick = " 3"
	about := func(suffix string, do func(context.Context) (process.Output, error)) func(context.Context, string) (process.Output, error, bool) {
		return func(ctx context.Context, args string) (process.Output, error, bool) {
			if !strings.HasSuffix(args, suffix) {
				return process.Output{}, nil, false
			}
			out, err := do(ctx)
			return out, err, true
		}
	}
	for name, wrong := range map[string]func(context.Context, string) (process.Output, error, bool){
		"one command hangs":   about("deep1"+sick, hang),
		"every command hangs": about(sick, hang),
		"every command is slow": about(sick, func(ctx context.Context) (process.Output, error) {
			return takes(8*time.Second, always("all cards"))(ctx, nil)
		}),
		"every command floods": about(sick, func(context.Context) (process.Output, error) {
			return process.Output{}, failure.Errorf(failure.OutputTooLarge, "more than")
		}),
		"every command is refused": about(sick, func(context.Context) (process.Output, error) {
			return process.Output{Stdout: []byte("does not support")}, nil
		}),
		"every command of every card is slow": about("", func(ctx context.Context) (process.Output, error) {
			return takes(2*time.Second, always("all cards"))(ctx, nil)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, tool, _ := hostOf(t, 8, deepPlan(), wrong)
				start(t, p)
				time.Sleep(5 * time.Minute) // the first round, of slow calls too
				for second := range 3600 {
					time.Sleep(time.Second)
					if age := time.Since(p.lastTaken()); age > 10*time.Second+11*time.Second+time.Second {
						t.Fatalf("the main table is %s old", age)
					}
					all := read(tool)
					for metric, cards := range all {
						needed := strings.Trim("01234567", cards+"3")
						if name == "one command hangs" && metric != "deep1" {
							needed = strings.Trim("01234567", cards)
						}
						if needed != "" {
							t.Fatalf("%d s after the first round, %s has the cards %s only", second, metric, cards)
						}
					}
					if len(all) != 9 {
						t.Fatalf("%d commands have readings, want 9", len(all))
					}
				}
			})
		})
	}
}

// Eight cards that answer quickly have all been asked 20 s after the start, while the
// table is read at its pace. A table that fails leaves the readings of the last known cards.
func TestFirstRoundAndAFailingTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := deepPlan()
		for i := range 5 {
			plan = append(plan, toyCommand(fmt.Sprintf("hourly%d", i), model.Die, time.Hour))
		}
		var broken atomic.Bool
		p, tool, s := hostOf(t, 8, plan, func(_ context.Context, args string) (process.Output, error, bool) {
			return process.Output{}, failure.Errorf(failure.Exit, "broken"), broken.Load() && args == "table"
		})
		start(t, p)
		time.Sleep(20 * time.Second)
		all := func() {
			t.Helper()
			for metric, cards := range read(tool) {
				if len(cards) != 8 {
					t.Errorf("%s has the cards %s", metric, cards)
				}
			}
			if n := len(read(tool)); n != 14 {
				t.Errorf("%d of 14 commands have readings", n)
			}
		}
		all()
		if n := s.asked("table"); n < 2 {
			t.Errorf("%d tables", n)
		}
		broken.Store(true)
		time.Sleep(20 * time.Minute)
		if p.health.Status().Success {
			t.Fatal("the table does not fail")
		}
		all()
	})
}

// One call for all cards that hangs at one of them waits the whole timeout. It is asked again as any call that timed out;
// meanwhile the others' readings stay, and the sick card's go in their time.
func TestHostCallThatHangsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick, gone atomic.Bool
		p, tool, s := hostOf(t, 4, []model.Command{toyCommand("watch", model.Host, time.Minute)}, func(ctx context.Context, args string) (process.Output, error, bool) {
			if !strings.HasPrefix(args, "watch") || !sick.Load() {
				return process.Output{}, nil, false
			}
			out, err := hang(ctx)
			if !gone.Load() {
				out.Stdout = []byte("card 0\ncard 1\ncard 2\n")
			}
			return out, err, true
		})
		start(t, p)
		time.Sleep(2 * time.Minute)
		wantRead(t, tool, map[string]string{"watch": "0123"})
		sick.Store(true)
		before := 0
		for second := range 3600 + 360 {
			time.Sleep(time.Second)
			got := read(tool)["watch"]
			if strings.Trim("012", got) != "" {
				t.Fatalf("%d s after the card fell sick, readings of %q", second, got)
			}
			if second > 270 && strings.Contains(got, "3") { // an interval until it is asked, three and a timeout
				t.Fatalf("%d s after the card fell sick, it has readings", second)
			}
			if second == 359 {
				before = s.asked("watch 0")
			}
		}
		if n := s.asked("watch 0") - before; n < 10 || n > 12 {
			t.Errorf("the tool was started %d times in an hour, want every five minutes", n)
		}
		if got := tool.lastRuns()["watch"]; got != (run{10 * time.Second, false}) {
			t.Errorf("a call that hung counts as %+v", got)
		}
		// A call that tells nothing of anybody holds nothing.
		gone.Store(true)
		time.Sleep(8 * time.Minute)
		wantRead(t, tool, map[string]string{})
	})
}

// A child that outlives SIGKILL is one card's doing: the others' commands are not put off
// for minutes, as if they had hung.
func TestStuckToolIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: well, stuckN: 1}
		tool := newToyTool(r, toyCards(4), toyCommand("ecc", model.Die, time.Minute))
		askFor(t, tool, 20*time.Second)
		if len(r.calls) > 0 || statusOf(tool).Stuck != 1 {
			t.Errorf("asked %q of a tool that is stuck", r.calls)
		}
		r.stuckN = 0
		askFor(t, tool, 3*time.Second)
		wantRead(t, tool, map[string]string{"ecc": "0123"})
	})
}

// besideOf is a toy whose tool prints a part of the table apart, as answer says.
func everyPoll(commands []model.Command) []model.Command {
	for i := range commands {
		commands[i].EveryPoll = true
	}
	return commands
}

func besideOf(answer func(context.Context, []string) (process.Output, error), o Options) (cards, *scripted) {
	v := toy()
	v.Commands, v.Classify = nil, toyClassify
	v.Commands = everyPoll([]model.Command{toyCommand("beside", model.Host, 0)})
	s := &scripted{answer: besideCard(answer)}
	return newCardsOf(newHardware(v, s, nowhere{}, 0, o), nil, o), s
}

// besideCard answers with a table of one card, and about what is beside it as answer says.
func besideCard(answer func(context.Context, []string) (process.Output, error)) func(context.Context, []string) (process.Output, error) {
	return func(ctx context.Context, args []string) (process.Output, error) {
		if args[0] == "beside" {
			return answer(ctx, args)
		}
		return prints("card")(ctx, args)
	}
}

// What is printed beside the table and fails takes whole columns of the scrape away: it is on the page all the time, in the
// log once, and back soon. Only what is refused is asked rarely.
func TestCommandBesideTheTableFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(context.Context, []string) (process.Output, error)
		asked   int // in an hour and a half
		counted int // as unread
		want    string
	}{
		"refused":    {prints("does not support"), 2, 0, "asking for beside: does not support"},
		"timed out":  {func(ctx context.Context, _ []string) (process.Output, error) { return hang(ctx) }, 108, 0, "asking for beside: no complete answer"},
		"unreadable": {prints("?"), 539, 539, "asking for beside: no card"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines atomic.Int32
				o := options()
				o.Logger = onLog(func() { lines.Add(1) })
				cards, s := besideOf(c.answer, o)
				start(t, cards.poller)
				for range 5400 - 15 {
					time.Sleep(time.Second)
					if status := cards.status(); status.Polled && !cmp.Equal(status.LeftOut.Texts, []string{c.want}) {
						t.Fatalf("left out: %q, want %q", status.LeftOut.Texts, c.want)
					}
				}
				got := [3]int{s.asked("beside "), int(cards.status().Warnings), int(lines.Load())}
				if want := [3]int{c.asked, c.counted, 1}; got != want {
					t.Errorf("asked, counted and logged %v times, want %v", got, want)
				}
				s.set(besideCard(prints("all cards")))
				time.Sleep(time.Hour)
				snapshot, ok := cards.poller.fresh()
				if status := cards.status(); !ok || len(status.LeftOut.Texts) > 0 || len(snapshot.Devices[0].Readings) != 1 {
					t.Errorf("after it works again: %q, %+v", strings.Join(status.LeftOut.Texts, "; "), snapshot)
				}
			})
		})
	}
}

// Where both parts that are printed apart hang, the table is shown all the same.
func TestTwoCommandsHangBesideTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Interval = 4 * time.Second // with a timeout of 10 s
		v := toy()
		v.Commands = nil
		v.Commands = everyPoll([]model.Command{toyCommand("beside", model.Host, 0), toyCommand("beside too", model.Host, 0)})
		s := &scripted{answer: func(ctx context.Context, args []string) (process.Output, error) {
			if args[0] == "table" {
				return prints("card")(ctx, args)
			}
			return hang(ctx)
		}}
		cards := newCardsOf(newHardware(v, s, nowhere{}, 0, o), nil, o)
		start(t, cards.poller)
		time.Sleep(2 * time.Minute) // both have hung once
		for range 600 {
			time.Sleep(time.Second)
			if _, ok := cards.poller.fresh(); !ok {
				t.Fatal("the cards are gone")
			}
		}
	})
}

// A poll that the exporter's end interrupts says nothing of the tool and of the cards.
func TestEndBesideTheTable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cards, _ := besideOf(func(context.Context, []string) (process.Output, error) {
		cancel()
		return fails(failure.Timeout)(ctx, nil)
	}, options())
	cards.poller.poll(ctx)
	if _, ok := cards.poller.fresh(); ok || cards.status().Polled {
		t.Errorf("a poll that was interrupted counts: %+v", cards.status())
	}
}
