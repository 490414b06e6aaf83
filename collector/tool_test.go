package collector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// calls are those of a tool, without its table.
func (s *scripted) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(args string) bool { return args == "table" })
}

// A user would notice a card that is not asked about, and a card that is asked more often
// than one call for all of them needs. A call is gone from the scrape with what it is about.
func TestCommandsAreOfHostCardAndDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick := toyCommand("sick", model.Die, time.Minute)
		sick.When = func(d *model.Device) bool { return d.Health != nil && !d.Health.OK }
		h := newToy(options(), toyCards(4), toyCommand("watch", model.Host, time.Minute), toyCommand("ecc", model.Card, time.Minute), toyCommand("hccs", model.Die, time.Minute), sick)
		start(t, h)
		time.Sleep(5 * time.Second)
		wantRead(t, h, map[string]string{"watch": "0123", "ecc": "0123", "hccs": "0123"})
		if diff := cmp.Diff([]string{"watch 0", "ecc 0", "ecc 2", "hccs 0", "hccs 1", "hccs 2", "hccs 3"}, h.tool.commands()); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
		cards := toyCards(4)
		cards[1].Health = &model.Health{State: "Alarm"}
		h.setCards(cards)
		time.Sleep(15 * time.Second)
		if got := read(t, h)["sick"]; got != "1" {
			t.Errorf("asked of the cards %q, want the sick one", got)
		}
		h.tool.set(about("sick", fails(failure.Exit)))
		time.Sleep(2 * time.Minute)
		if r, isThere := runs(t, h)["sick"]; !isThere || r.success || h.status().LeftOut.Count != 1 {
			t.Errorf("a command that fails: %+v, %q", r, h.status().LeftOut.Texts)
		}
		h.setCards(toyCards(4))
		time.Sleep(15 * time.Second)
		if _, isThere := runs(t, h)["sick"]; isThere || read(t, h)["sick"] != "" || h.status().LeftOut.Count != 0 {
			t.Errorf("no card is sick, and the scrape has %q, the runs %v and the page %q", read(t, h)["sick"], runs(t, h), h.status().LeftOut.Texts)
		}
	})
}

// What is old is not shown: three intervals and a timeout after the last answer.
func TestReadingsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToy(options(), toyCards(1), toyCommand("ecc", model.Die, time.Minute))
		start(t, h)
		time.Sleep(time.Second)
		h.tool.set(about("ecc", fails(failure.Exit)))
		time.Sleep(3 * time.Minute)
		wantRead(t, h, map[string]string{"ecc": "0"})
		if w := h.status().LeftOut; w.Count != 1 || !strings.Contains(w.Texts[0], "ecc of card 0") {
			t.Errorf("warnings %q", w.Texts)
		}
		time.Sleep(12 * time.Second)
		wantRead(t, h, map[string]string{})
	})
}

// A card that is lost, or another one under its number, takes its readings along, and no other card's.
func TestReadingsGoWithTheirCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToy(options(), toyCards(3), toyCommand("ecc", model.Die, time.Minute), toyCommand("watch", model.Host, time.Minute))
		start(t, h)
		time.Sleep(time.Second)
		h.setCards(toyCards(2))
		time.Sleep(10 * time.Second)
		wantRead(t, h, map[string]string{"ecc": "01", "watch": "01"})
		h.tool.set(about("", takes(5*time.Second, prints("all cards"))))
		other := toyCards(2)
		other[1].BusID = "0000:99:00.0"
		h.setCards(other)
		time.Sleep(10 * time.Second)
		wantRead(t, h, map[string]string{"ecc": "0", "watch": "0"})
		time.Sleep(30 * time.Second)
		wantRead(t, h, map[string]string{"ecc": "01", "watch": "01"})
	})
}

// A number may mean another card when an answer is there.
func TestCardThatChangesDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := toyCommand("link", model.Die, time.Minute)
		link.Network = true
		network := &scripted{answer: takes(15*time.Second, prints("all cards"))}
		h := newToy(options(), toyCards(1), link)
		v := h.vendors[0].VendorOptions
		v.Network = "network"
		h.Collector = newScripted(options(), v, h.tool, network)
		start(t, h)
		time.Sleep(5 * time.Second)
		other := toyCards(1)
		other[0].BusID = "0000:99:00.0"
		h.setCards(other)
		time.Sleep(12 * time.Second)
		wantRead(t, h, map[string]string{})
		time.Sleep(2 * time.Minute)
		wantRead(t, h, map[string]string{"link": "0"})
	})
}

// A refused command is asked again after an hour, one that timed out after five minutes, and only for its card. What is
// asked once an hour does not wait for that where the tool was busy.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name         string
		every, retry time.Duration
		answer       answering
	}{
		{"refused", time.Minute, time.Hour, prints("This device does not support querying ecc.")},
		{"timed out", time.Minute, 5 * time.Minute, fails(failure.Timeout)},
		{"busy, asked rarely", time.Hour, 5 * time.Minute, fails(failure.Busy)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newToy(options(), toyCards(4), toyCommand("ecc", model.Die, c.every))
				h.tool.set(about("ecc 1", c.answer))
				start(t, h)
				time.Sleep(c.retry - time.Second)
				if n := h.tool.asked("ecc 1"); n != 1 {
					t.Errorf("asked %d times in %s", n, c.retry)
				}
				if n := h.tool.asked("ecc 0"); n < int(c.retry/c.every)-1 {
					t.Errorf("the card beside it was asked %d times only", n)
				}
				time.Sleep(3 * time.Second)
				if n := h.tool.asked("ecc 1"); n != 2 {
					t.Errorf("asked %d times after %s, want 2", n, c.retry)
				}
			})
		})
	}
}

// A command that another family refuses is asked in that family's way.
func TestOtherArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := toyCommand("hccs", model.Die, time.Minute)
		c.Args = func(d model.Device) [][]string { return [][]string{{"-c", d.ID}, {"-i", d.ID}} }
		h := newToy(options(), toyCards(1), c)
		h.tool.set(about("-c", prints("-c: does not support")))
		start(t, h)
		time.Sleep(90 * time.Second)
		if diff := cmp.Diff([]string{"-c 0", "-i 0", "-i 0"}, h.tool.commands()); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// An answer may name ports, which are asked about one by one. A port that goes away must not be shown on, nor lose the
// others what was answered about them.
func TestMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ports atomic.Value
		ports.Store([]string{"4", "5", "6"})
		c := toyCommand("dev_info", model.Die, time.Minute)
		c.More = func(_ []byte, d model.Device) (all []model.Command) {
			for _, port := range ports.Load().([]string) {
				one := toyCommand("speed"+port, model.Die, time.Hour)
				one.Name, one.Part = "speed", port
				one.Args = model.SameArgs([]string{"speed", d.ID, port})
				serial := one
				serial.Name, serial.Serials = "serial", true
				all = append(all, one, serial) // of which nobody wants the second
			}
			return all
		}
		h := newToy(options(), toyCards(1), c)
		start(t, h)
		time.Sleep(time.Second)
		wantRead(t, h, map[string]string{"dev_info": "0", "speed4": "0", "speed5": "0", "speed6": "0"})
		ports.Store([]string{"5", "6"})
		time.Sleep(time.Minute)
		wantRead(t, h, map[string]string{"dev_info": "0", "speed5": "0", "speed6": "0"})
		if n := h.tool.asked("speed 0 5"); n != 1 {
			t.Errorf("port 5 was asked %d times, want once an hour", n)
		}
		ports.Store([]string{"7"})
		other := toyCards(1)
		other[0].BusID = "0000:99:00.0"
		h.setCards(other)
		time.Sleep(15 * time.Second)
		wantRead(t, h, map[string]string{"dev_info": "0", "speed7": "0"})
	})
}

// A port without a module says so on standard error: that is an answer about the module, and
// what was read of the one before is gone with it.
func TestModuleThatIsTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendorNamed("ascend")
		v.Commands = slices.DeleteFunc(slices.Clone(v.Commands), func(c model.Command) bool { return c.Name != "hccn_optical" })
		v.Table.Parse = func([]byte, []model.Device) (model.Report, error) {
			return model.Report{Devices: devs(t, "3 3.0 hbm")}, nil
		}
		network := &scripted{answer: prints("optical info:\npresent : present\ntemperature : 46 C\n")}
		c := newScripted(options(), VendorOptions{Vendor: v, Command: "npu-smi", Network: "hccn_tool"}, &scripted{answer: prints("")}, network)
		start(t, c)
		optical := func() map[string]float64 {
			all := map[string]float64{}
			scraped(t, c, func(name string, _ map[string]string, value float64) {
				if strings.HasPrefix(name, "optical_") {
					all[name] = value
				}
			})
			return all
		}
		time.Sleep(time.Second)
		want := map[string]float64{"optical_present": 1, "optical_temperature_celsius": 46}
		if diff := cmp.Diff(want, optical()); diff != "" {
			t.Errorf("with a module, want (-) and got (+) differ:\n%s", diff)
		}
		network.set(func(context.Context, []string) (process.Output, error) {
			return process.Output{Stderr: []byte("Optical module is not present.\n"), ExitCode: 20}, nil
		})
		asked := network.callCount()
		time.Sleep(time.Hour)
		if diff := cmp.Diff(map[string]float64{"optical_present": 0}, optical()); diff != "" {
			t.Errorf("without a module, want (-) and got (+) differ:\n%s", diff)
		}
		if n := network.callCount() - asked; n < 11 || n > 13 {
			t.Errorf("asked %d times in an hour, want every five minutes", n)
		}
		if s := c.Statuses()[0]; !runs(t, c)["hccn_optical"].success || s.LeftOut.Count+int(s.Warnings) != 0 {
			t.Errorf("an answer counts as a failure: %+v", s)
		}
	})
}

// Parts of answers that could not be read count when they come, and a refusal is none. Each is logged once, with whose
// tool it is. A command that fails and comes back with the same warnings counts its failure alone.
func TestWarningsOfCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		torn := toyCommand("torn", model.Die, time.Minute)
		torn.Parse = func(_ []byte, cards []model.Device) (model.Report, error) {
			r := model.Report{Devices: []model.Device{{ID: cards[0].ID}}}
			r.Warn("cannot read x")
			r.Warn("cannot read y")
			return r, nil
		}
		lines := map[string]int{}
		o := options()
		o.Logger = log.LoggerFunc(func(keyvals ...any) error { lines[logLine(keyvals)]++; return nil })
		h := newToy(o, toyCards(1), torn, toyCommand("refused", model.Die, time.Minute), toyCommand("garbled", model.Die, time.Minute))
		answer := func(_ context.Context, args []string) (process.Output, error) {
			text := map[string]string{"table": "all cards", "torn": "x", "refused": "does not support", "garbled": "?"}[args[0]]
			return process.Output{Stdout: []byte(text)}, nil
		}
		h.tool.set(answer)
		start(t, h)
		for _, step := range []struct {
			answer         answering
			counted, holds int
		}{{answer, 3, 3}, {about("", hang), 6, 5}, {answer, 7, 3}} {
			h.tool.set(step.answer)
			time.Sleep(3 * time.Hour)
			if s := h.status(); s.Warnings != uint64(step.counted) || s.LeftOut.Count != step.holds {
				t.Errorf("%d warnings, %q now; want %d and %d", s.Warnings, s.LeftOut.Texts, step.counted, step.holds)
			}
		}
		for line := range lines {
			if !strings.Contains(line, "collector=toy") {
				t.Errorf("the line does not say whose tool it is: %s", line)
			}
		}
		if len(lines) != 7 {
			t.Errorf("lines %v", lines)
		}
	})
}

// Nothing but inventories is asked where details are off, and serial numbers only where they are wanted.
func TestLevelsOfDetail(t *testing.T) {
	for _, v := range Vendors() {
		for _, c := range v.Commands {
			got := map[string]bool{}
			for name, o := range map[string]Options{
				"off": {Detail: DetailOff, Serials: true}, "lean": {Detail: DetailLean}, "full": {Detail: DetailFull}, "serials": {Detail: DetailFull, Serials: true},
				"processes": {Detail: DetailOff, Processes: true},
			} {
				got[name] = o.wants(c)
			}
			always := c.Inventory || c.EveryPoll && !c.Processes
			want := map[string]bool{
				"off": always, "lean": always || c.Lean, "full": !c.Serials && !c.Processes, "serials": !c.Processes, "processes": c.Inventory || c.EveryPoll,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s is asked, want (-) and got (+) differ:\n%s", v.Name, c.Name, diff)
			}
		}
	}
}

// deepPlan is eight commands about each card, and one about all.
func deepPlan() []model.Command {
	plan := []model.Command{toyCommand("watch", model.Host, time.Minute)}
	for i := range 8 {
		plan = append(plan, toyCommand(fmt.Sprintf("deep%d", i), model.Die, []time.Duration{time.Minute, 5 * time.Minute}[i%2]))
	}
	return plan
}

// dies are cards of one die each.
func dies(n int) []model.Device {
	cards := toyCards(n)
	for i := range cards {
		cards[i].NPU, cards[i].Chip = cards[i].ID, "0"
	}
	return cards
}

// The ways in which a command goes wrong. The main table waits for one call that is under way and for no other, and the
// readings of every other card are there all the time; those of the sick card's other commands too.
func TestCommandsInTroubleCostTheirOwnOnly(t *testing.T) {
	const ofSick = " 3$"
	for name, answer := range map[string]answering{
		"one command hangs":                   about("deep1"+ofSick, hang),
		"every command hangs":                 about(ofSick, hang),
		"every command is slow":               about(ofSick, takes(8*time.Second, prints("all cards"))),
		"every command floods":                about(ofSick, fails(failure.OutputTooLarge)),
		"every command is refused":            about(ofSick, prints("does not support")),
		"every command of every card is slow": about("", takes(2*time.Second, prints("all cards"))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newToy(options(), dies(8), deepPlan()...)
				h.tool.set(answer)
				start(t, h)
				time.Sleep(5 * time.Minute) // the first round, of slow calls too
				for step := range 720 {
					time.Sleep(5 * time.Second)
					if age := time.Since(h.Cards()[0].Taken); age > 10*time.Second+11*time.Second+time.Second {
						t.Fatalf("the main table is %s old", age)
					}
					all := read(t, h)
					for command, cards := range all {
						needed := strings.Trim("01234567", cards+"3")
						if name == "one command hangs" && command != "deep1" {
							needed = strings.Trim("01234567", cards)
						}
						if needed != "" {
							t.Fatalf("%d s after the first round, %s has the cards %s only", 5*step, command, cards)
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
		h := newToy(options(), dies(8), plan...)
		quick := takes(100*time.Millisecond, prints("all cards"))
		h.tool.set(quick)
		start(t, h)
		want := map[string]string{}
		for _, c := range plan {
			want[c.Name] = "01234567"
		}
		time.Sleep(20 * time.Second)
		wantRead(t, h, want)
		if n := h.tool.asked("table"); n < 2 {
			t.Errorf("%d tables", n)
		}
		h.tool.set(func(ctx context.Context, args []string) (process.Output, error) {
			if args[0] == "table" {
				return fails(failure.Exit)(ctx, args)
			}
			return quick(ctx, args)
		})
		time.Sleep(20 * time.Minute)
		if h.status().Success {
			t.Fatal("the table does not fail")
		}
		wantRead(t, h, want)
	})
}

// The tool is left alone after the last call of the first round too: four times as long as the call took.
func TestRestBehindTheFirstRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		began := time.Now()
		h := newToy(options(), toyCards(1), toyCommand("a", model.Host, 10*time.Second), toyCommand("b", model.Host, 10*time.Second))
		h.tool.set(about("", func(ctx context.Context, args []string) (process.Output, error) {
			starts = append(starts, time.Since(began).Round(time.Second))
			return takes(4*time.Second, prints("all cards"))(ctx, args)
		}))
		start(t, h)
		time.Sleep(50 * time.Second)
		h.tool.mu.Lock() // as each call does
		defer h.tool.mu.Unlock()
		if diff := cmp.Diff([]time.Duration{0, 4 * time.Second, 24 * time.Second, 44 * time.Second}, starts); diff != "" {
			t.Errorf("calls begin at (-want +got):\n%s", diff)
		}
	})
}

// One call for all cards that hangs at one of them waits the whole timeout. It is asked again as any call that timed out;
// meanwhile the others' readings stay, and the sick card's go in their time.
func TestHostCallThatHangsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToy(options(), dies(4), toyCommand("watch", model.Host, time.Minute))
		start(t, h)
		time.Sleep(2 * time.Minute)
		wantRead(t, h, map[string]string{"watch": "0123"})
		h.tool.set(about("watch", func(ctx context.Context, args []string) (process.Output, error) {
			out, err := hang(ctx, args)
			out.Stdout = []byte("card 0\ncard 1\ncard 2\n")
			return out, err
		}))
		before := 0
		for second := 5; second <= 3600+360; second += 5 {
			time.Sleep(5 * time.Second)
			got := read(t, h)["watch"]
			if strings.Trim("012", got) != "" {
				t.Fatalf("%d s after the card fell sick, readings of %q", second, got)
			}
			if second > 270 && strings.Contains(got, "3") { // an interval until it is asked, three and a timeout
				t.Fatalf("%d s after the card fell sick, it has readings", second)
			}
			if second == 360 {
				before = h.tool.asked("watch 0")
			}
		}
		if n := h.tool.asked("watch 0") - before; n < 10 || n > 12 {
			t.Errorf("the tool was started %d times in an hour, want every five minutes", n)
		}
		if got := runs(t, h)["watch"]; got != (run{10 * time.Second, false}) {
			t.Errorf("a call that hung counts as %+v", got)
		}
		// A call that tells nothing of anybody holds nothing.
		h.tool.set(about("watch", hang))
		time.Sleep(8 * time.Minute)
		wantRead(t, h, map[string]string{})
	})
}

// A child that outlives SIGKILL is one card's doing: the others' commands are not put off
// for minutes, as if they had hung.
func TestStuckToolIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToy(options(), toyCards(4), toyCommand("ecc", model.Die, time.Minute))
		h.tool.stuckN = 1
		start(t, h)
		time.Sleep(20 * time.Second)
		if calls := h.tool.commands(); len(calls) > 0 || h.status().Stuck != 1 {
			t.Errorf("asked %q of a tool that is stuck", calls)
		}
		h.tool.mu.Lock()
		h.tool.stuckN = 0
		h.tool.mu.Unlock()
		time.Sleep(3 * time.Second)
		wantRead(t, h, map[string]string{"ecc": "0123"})
	})
}
