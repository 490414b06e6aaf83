package collector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// hostOf is a toy tool with cards and details, whose calls answer as wrong says, and else
// quickly and well.
func hostOf(cards int, plan []smi.Detail, wrong func(ctx context.Context, args string) (command.Output, error, bool)) (*poller[model.Snapshot], *details, *scripted) {
	v := toy()
	v.Sides = nil
	v.Table.Parse = func([]byte) (model.Report, error) {
		r := model.Report{Devices: toyCards(cards)}
		for i := range r.Devices { // one die to a card
			r.Devices[i].NPU, r.Devices[i].Chip = r.Devices[i].ID, "0"
		}
		return r, nil
	}
	well := takes(100*time.Millisecond, always("all tell"))
	s := &scripted{answer: func(ctx context.Context, args []string) (command.Output, error) {
		if out, err, ok := wrong(ctx, strings.Join(args, " ")); ok {
			return out, err
		}
		return well(ctx, args)
	}}
	o := options()
	o.DetailShare = 0.2
	h := newHardware(v, s, nowhere{}, 0, o)
	p := newPoller("toy", h, o)
	d := newDetails(plan, s, func(text []byte) (failure.Reason, string, bool) {
		return failure.Match(text, []failure.Pattern{{Text: "does not support", Reason: failure.Unsupported}})
	}, h.commands, o)
	h.details, p.spare = []*details{d}, d.spend
	return p, d, s
}

func runUntilTheEnd(t *testing.T, p *poller[model.Snapshot]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// deepPlan is eight commands about each card, and one about all.
func deepPlan() []smi.Detail {
	plan := []smi.Detail{toyDetail("watch", smi.Host, time.Minute)}
	for i := range 8 {
		plan = append(plan, toyDetail(fmt.Sprintf("deep%d", i), smi.Die, []time.Duration{time.Minute, 5 * time.Minute}[i%2]))
	}
	return plan
}

// The ways a detail goes wrong. The main table waits for one call that is under way and
// for no other, and the details of every other card are there all the time.
func TestDetailsInTroubleCostTheirOwnOnly(t *testing.T) {
	const sick = " 3"
	hang := func(ctx context.Context) (command.Output, error) { // as the Runner ends it
		out, err := takes(11*time.Second, always(""))(ctx, nil)
		if err == nil {
			err = failure.New(failure.Timeout, "no complete answer")
		}
		return out, err
	}
	for name, wrong := range map[string]func(ctx context.Context, args string) (command.Output, error, bool){
		"one command hangs": func(ctx context.Context, args string) (command.Output, error, bool) {
			if args != "deep1"+sick {
				return command.Output{}, nil, false
			}
			out, err := hang(ctx)
			return out, err, true
		},
		"every command hangs": func(ctx context.Context, args string) (command.Output, error, bool) {
			if !strings.HasSuffix(args, sick) {
				return command.Output{}, nil, false
			}
			out, err := hang(ctx)
			return out, err, true
		},
		"every command is slow": func(ctx context.Context, args string) (command.Output, error, bool) {
			if !strings.HasSuffix(args, sick) {
				return command.Output{}, nil, false
			}
			out, err := takes(2*time.Second, always("all tell"))(ctx, nil)
			return out, err, true
		},
		"every command floods": func(_ context.Context, args string) (command.Output, error, bool) {
			return command.Output{}, failure.New(failure.OutputTooLarge, "more than"), strings.HasSuffix(args, sick)
		},
		"every command is refused": func(_ context.Context, args string) (command.Output, error, bool) {
			return command.Output{Stdout: []byte("does not support")}, nil, strings.HasSuffix(args, sick)
		},
		"watch tells a part and hangs": func(ctx context.Context, args string) (command.Output, error, bool) {
			if !strings.HasPrefix(args, "watch") {
				return command.Output{}, nil, false
			}
			out, err := hang(ctx)
			for i := range 8 {
				if i != 3 {
					out.Stdout = fmt.Appendf(out.Stdout, "card %d tells\n", i)
				}
			}
			return out, err, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, d, _ := hostOf(8, deepPlan(), wrong)
				runUntilTheEnd(t, p)
				time.Sleep(5 * time.Minute) // the first rounds, slow ones too
				for second := range 3600 {
					time.Sleep(time.Second)
					if age := time.Since(p.lastTaken()); age > 10*time.Second+11*time.Second+time.Second {
						t.Fatalf("the main table is %s old", age)
					}
					for metric, cards := range tell(d) {
						if missing := strings.Trim("01234567", cards+"3"); missing != "" {
							t.Fatalf("%d s after the first rounds, %s is told of the cards %s only", second, metric, cards)
						}
					}
					if n := len(tell(d)); n != 9 {
						t.Fatalf("%d metrics are told, want 9", n)
					}
				}
				if name == "one command hangs" {
					for metric, cards := range tell(d) {
						if metric != "deep1" && !strings.Contains(cards, "3") {
							t.Errorf("%s is not told of the sick card, whose deep1 alone hangs", metric)
						}
					}
				}
			})
		})
	}
}

// A series that comes and goes is no series: the other commands of a card, one of whose
// commands hangs, are told all the time.
func TestOneHangingCommandOfACardLeavesItsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d, _ := hostOf(8, deepPlan(), func(ctx context.Context, args string) (command.Output, error, bool) {
			if args != "deep0 3" {
				return command.Output{}, nil, false
			}
			_, err := takes(10*time.Second, always(""))(ctx, nil)
			return command.Output{}, failure.New(failure.Timeout, "late: %w", err), true
		})
		runUntilTheEnd(t, p)
		time.Sleep(5 * time.Minute)
		for range 3600 {
			time.Sleep(time.Second)
			for metric, cards := range tell(d) {
				if metric != "deep0" && !strings.Contains(cards, "3") {
					t.Fatalf("%s is told of the cards %s only", metric, cards)
				}
			}
		}
	})
}

// A tool that does not know the last flag of several must not rest with those it knows.
func TestDetailsRefusedLastFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("counters", smi.Host, time.Minute)
		detail.Args = func(model.Device) [][]string { return [][]string{{}} }
		detail.Flags = []string{"--ecc", "--new"}
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			if strings.Contains(args, "--new") {
				return "this tool does not support it", nil
			}
			return "all tell", nil
		})}
		d := newToyDetails([]smi.Detail{detail}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, 30*time.Minute)
		if n := r.asked("--ecc"); n < 29 {
			t.Errorf("asked %d times in half an hour, want every minute", n)
		}
		if n := r.asked("--new"); n != 1 {
			t.Errorf("the refused flag was asked %d times", n)
		}
	})
}

// A port that goes away must not be told on, nor lose the others what was told of them.
func TestDetailsOfPortsThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ports := []string{"4", "5", "6"}
		detail := toyDetail("dev_info", smi.Die, time.Minute)
		detail.More = func(_ []byte, d model.Device) []smi.Detail {
			var all []smi.Detail
			for _, port := range ports {
				one := toyDetail("speed"+port, smi.Die, time.Hour)
				one.Name, one.Port = "speed", port
				one.Args = func(model.Device) [][]string { return [][]string{{"speed", d.ID, port}} }
				all = append(all, one)
			}
			return all
		}
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{detail}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, time.Second)
		ports = []string{"5", "6"}
		spendFor(t, d, time.Minute)
		got := tell(d)
		if got["speed4"] != "" || got["speed5"] != "0" || got["speed6"] != "0" {
			t.Errorf("told %v, want the ports 5 and 6", got)
		}
		if n := r.asked("speed 0 5"); n != 1 {
			t.Errorf("port 5 was asked %d times, want once an hour", n)
		}
		other := toyCards(1)
		other[0].BusID = "0000:99:00.0"
		d.setCards(other)
		if got := tell(d); len(got) != 0 {
			t.Errorf("told of another card: %v", got)
		}
		ports = []string{"7"}
		r.set(takes(time.Millisecond, func(args string) (string, error) {
			return map[bool]string{true: "all tell"}[!strings.HasPrefix(args, "dev_info")], nil
		}))
		spendFor(t, d, time.Second)
		if got := tell(d); len(got) != 0 {
			t.Errorf("asked for ports of the card before: %v", got)
		}
		r.set(takes(time.Millisecond, always("all tell")))
		spendFor(t, d, time.Minute)
		if got := tell(d); got["speed7"] != "0" || got["speed5"] != "" || r.asked("speed 0 5") != 1 {
			t.Errorf("told %v of a card with the port 7", got)
		}
	})
}

// A number may mean another card when the network tool's answer is there.
func TestDetailsOfACardThatChangesDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(4*time.Second, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("stat", smi.Die, time.Minute)}, r)
		d.setCards(toyCards(1))
		go func() {
			time.Sleep(2 * time.Second)
			other := toyCards(1)
			other[0].BusID = "0000:99:00.0"
			d.setCards(other)
		}()
		spendFor(t, d, 3*time.Second)
		if got := tell(d); len(got) != 0 {
			t.Errorf("told of the card that took the number: %v", got)
		}
		spendFor(t, d, 30*time.Second)
		if got := tell(d); got["stat"] != "0" {
			t.Errorf("the other card is not asked: %v", got)
		}
	})
}

// A child that outlives SIGKILL is one card's doing: the others' commands are not put off
// for minutes, as if they had hung.
func TestDetailsWaitForAStuckTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("all tell")), stuckN: 1}
		d := newToyDetails([]smi.Detail{toyDetail("ecc", smi.Die, time.Minute)}, r)
		d.setCards(toyCards(4))
		spendFor(t, d, 20*time.Second)
		if len(r.calls) > 0 {
			t.Errorf("asked %q of a tool that is stuck", r.calls)
		}
		r.stuckN = 0
		spendFor(t, d, 3*time.Second)
		if got := tell(d)["ecc"]; got != "0123" {
			t.Errorf("told of %q soon after, want all", got)
		}
	})
}

// Parts of details that could not be read are counted as those of the table are, once for
// each answer, and a refusal is none.
func TestDetailWarningsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		torn := toyDetail("torn", smi.Die, time.Minute)
		torn.Parse = func(_ []byte, cards []model.Device) ([]smi.Told, error) {
			return []smi.Told{{Device: cards[0].ID, Warnings: []string{"cannot read x", "cannot read y"}}}, nil
		}
		p, _, _ := hostOf(1, []smi.Detail{torn, toyDetail("refused", smi.Die, time.Minute), toyDetail("garbled", smi.Die, time.Minute)},
			func(_ context.Context, args string) (command.Output, error, bool) {
				text, ok := map[string]string{"refused 0": "does not support", "garbled 0": "?"}[args]
				return command.Output{Stdout: []byte(text)}, nil, ok
			})
		runUntilTheEnd(t, p)
		for rounds, want := range []uint64{3, 6, 9} {
			time.Sleep(30 * time.Second)
			if s := p.Status(); s.Warnings != want || s.LeftOut.Count != 3 {
				t.Errorf("%d warnings after %d rounds, %q now; want %d and 3", s.Warnings, rounds+1, s.LeftOut.Texts, want)
			}
			time.Sleep(30 * time.Second)
		}
	})
}

// onLog is a log whose lines call something.
type onLog func()

func (f onLog) Log(...any) error { f(); return nil }

// A log that nobody reads must not make a scrape wait for the details.
func TestDetailsAreLoggedOutsideTheirLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			return map[string]string{"refused 0": "does not support", "garbled 0": "?"}[args], nil
		})}
		d := newToyDetails([]smi.Detail{toyDetail("refused", smi.Die, time.Minute), toyDetail("garbled", smi.Die, time.Minute)}, r)
		d.logger = onLog(func() {
			lines++
			if !d.mu.TryLock() {
				t.Error("a line is logged under the lock")
				return
			}
			d.mu.Unlock()
		})
		d.setCards(toyCards(1))
		spendFor(t, d, 2*time.Hour)
		if lines != 2 {
			t.Errorf("%d lines, want one for each", lines)
		}
	})
}

// Nothing is run for details that are turned off, nor the network tool.
func TestDetailOffRunsNothing(t *testing.T) {
	for _, detail := range []Detail{DetailOff, DetailLean, DetailFull} {
		o := options()
		o.Detail = detail
		for _, v := range vendors() {
			own, network := o.plan(v.Details, false), o.plan(v.Details, true)
			if got := len(own)+len(network) > 0; got != (detail != DetailOff) {
				t.Errorf("%s of %s: %d details", detail, v.Name, len(own)+len(network))
			}
			if slices.ContainsFunc(own, func(d smi.Detail) bool { return d.Serials }) {
				t.Errorf("%s of %s asks for serial numbers", detail, v.Name)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, _, s := hostOf(8, nil, func(context.Context, string) (command.Output, error, bool) { return command.Output{}, nil, false })
		runUntilTheEnd(t, p)
		time.Sleep(time.Minute + time.Second)
		if n := s.asked("table"); n != 7 || len(s.calls) != n {
			t.Errorf("calls %q, want seven tables", s.calls)
		}
	})
}

// Eight cards that answer quickly have all been asked 20 s after the start, while the
// table is read at its pace.
func TestFirstRoundIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := deepPlan()
		for i := range 5 {
			plan = append(plan, toyDetail(fmt.Sprintf("hourly%d", i), smi.Die, time.Hour))
		}
		p, d, s := hostOf(8, plan, func(context.Context, string) (command.Output, error, bool) { return command.Output{}, nil, false })
		runUntilTheEnd(t, p)
		time.Sleep(20 * time.Second)
		for metric, cards := range tell(d) {
			if len(cards) != 8 {
				t.Errorf("%s is told of %s", metric, cards)
			}
		}
		if n := len(tell(d)); n != 14 {
			t.Errorf("%d of 14 details are told", n)
		}
		if n := s.asked("table"); n < 2 {
			t.Errorf("%d tables", n)
		}
	})
}

// A main table that fails leaves the details of the last known cards asked and told.
func TestDetailsOutliveTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		p, d, _ := hostOf(2, deepPlan(), func(_ context.Context, args string) (command.Output, error, bool) {
			return command.Output{}, failure.New(failure.Exit, "broken"), broken.Load() && args == "table"
		})
		runUntilTheEnd(t, p)
		time.Sleep(10 * time.Second)
		broken.Store(true)
		time.Sleep(20 * time.Minute)
		if p.Status().Success {
			t.Fatal("the table does not fail")
		}
		if got := tell(d); got["deep0"] != "01" || got["watch"] != "01" {
			t.Errorf("told %v", got)
		}
	})
}

var _ log.Logger = onLog(nil)
