package collector

import (
	"context"
	"os"
	"path/filepath"
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
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// A hung tool must not go on showing the cards as they were: after three
// intervals and a timeout they are gone, and they are back after one good poll.
func TestStaleSnapshotIsGoneAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToy(options(), toyCards(1))
		start(t, h)
		time.Sleep(time.Second)
		if !h.isShown() {
			t.Fatal("no snapshot after a good poll")
		}
		h.tool.set(hang)
		time.Sleep(35 * time.Second)
		if !h.isShown() {
			t.Error("the snapshot is gone before three intervals and a timeout")
		}
		time.Sleep(10 * time.Second)
		if h.isShown() {
			t.Error("a snapshot older than three intervals and a timeout still counts")
		}
		if st := h.status(); st.Success || st.Failures[failure.Timeout] < 3 || st.LastSuccess.IsZero() {
			t.Errorf("status of a hung tool: %+v", st)
		}
		h.tool.set(well)
		time.Sleep(25 * time.Second)
		if !h.isShown() || !h.status().Success {
			t.Error("the collector did not recover by itself")
		}
	})
}

func TestOutputIsJudgedBeforeTheExitStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		out    process.Output
		reason failure.Reason
	}{
		{"good data and exit 1", process.Output{Stdout: []byte("all cards"), ExitCode: 1}, ""},
		{"an error text and exit 0", process.Output{Stdout: []byte("no driver")}, failure.Driver},
		{"an error text on stderr", process.Output{Stderr: []byte("no driver"), ExitCode: 127}, failure.Driver},
		{"nothing and exit 3", process.Output{ExitCode: 3}, failure.Exit},
		{"another program's output and exit 0", process.Output{Stdout: []byte("hello")}, failure.Parse},
		{"invalid UTF-8", process.Output{Stdout: []byte("all\xffcards")}, failure.Parse},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newToy(options(), toyCards(1))
				h.tool.set(func(context.Context, []string) (process.Output, error) { return c.out, nil })
				start(t, h)
				synctest.Wait()
				if s := h.status(); s.LastReason != c.reason || s.Success != (c.reason == "") {
					t.Errorf("class %q (%s), want %q", s.LastReason, s.LastError, c.reason)
				}
			})
		})
	}
}

// inventory is a toy's inventory, which lists a card that is not available.
func inventory(name string, every time.Duration, args ...[]string) model.Command {
	c := toyCommand(name, model.Host, every)
	c.Inventory, c.Args = true, model.SameArgs(args...)
	c.Parse = func(out []byte, _ []model.Device) (model.Report, error) {
		if string(out) != "all cards" {
			return model.Report{}, failure.Errorf(failure.Parse, "no list: %q", out)
		}
		return model.Report{Announced: 2, Listed: []model.Device{{ID: "x", Health: &model.Health{State: "Not Available"}}}}, nil
	}
	return c
}

func newToyWithInventories(o Options) *toy {
	return newToy(o, toyCards(1), inventory("list", time.Minute, []string{"list"}), inventory("topology", 0, []string{"new"}, []string{"old"}))
}

// A broken inventory costs its own series, is a warning, and is asked again later, not at every poll. A card that only
// it shows is there a minute later at most.
func TestInventoryFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToyWithInventories(options())
		h.tool.set(about("list", fails(failure.Exit)))
		start(t, h)
		time.Sleep(55 * time.Second)
		if st := h.status(); !st.Success || st.Warnings != 1 || st.LeftOut.Count != 1 || h.tool.asked("list") != 1 {
			t.Errorf("a list that failed %d times gives %+v", h.tool.asked("list"), st)
		}
		h.tool.set(well)
		before := h.tool.asked("new")
		time.Sleep(4 * time.Minute)
		if st := h.status(); st.Warnings != 1 || st.LeftOut.Count != 0 || h.tool.asked("list") != 5 || h.tool.asked("new") != before {
			t.Errorf("a list that is well was asked %d times, the topology %d times, and the status is %+v", h.tool.asked("list"), h.tool.asked("new"), st)
		}
	})
}

// A tool that takes 8 s for each answer is slow, not broken: its cards stay, and what is asked beside the table comes
// too. Inventories that hang do not make the table stale either.
func TestSlowAndHangingInventories(t *testing.T) {
	for name, answer := range map[string]answering{"slow": takes(8*time.Second, well), "hanging": about("", hang)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newToyWithInventories(options())
				h.tool.set(answer)
				start(t, h)
				time.Sleep(9 * time.Second)
				for range 600 {
					time.Sleep(time.Second)
					if !h.isShown() || !h.status().Success {
						t.Fatal("the cards vanished")
					}
				}
				if h.tool.asked("list") == 0 || h.tool.asked("new") == 0 || h.tool.asked("old") > 0 {
					t.Errorf("calls %q", h.tool.calls)
				}
			})
		})
	}
}

// A tool that takes longer than three intervals is slow: its cards stay until the next table, which comes in time.
func TestToolSlowerThanItsIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Interval = time.Second // with a timeout of 10 s
		h := newToy(o, toyCards(1))
		h.tool.set(takes(9*time.Second, prints("all cards")))
		start(t, h)
		time.Sleep(10 * time.Second)
		for range 60 {
			time.Sleep(time.Second)
			if !h.isShown() {
				t.Fatal("the cards vanished")
			}
		}
	})
}

// What an inventory has is shown at once, and is as old as the table, however long it took.
func TestInventoryIsShownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToyWithInventories(options())
		h.tool.set(takes(3*time.Second, prints("all cards")))
		start(t, h)
		time.Sleep(3*time.Second + time.Millisecond)
		before := h.Cards()[0]
		time.Sleep(3 * time.Second)
		if now := h.Cards()[0]; len(before.Devices) != 1 || len(now.Devices) != 2 || now.Seen != 1 || !now.Taken.Equal(before.Taken) {
			t.Errorf("cards %+v, want the listed one too, as of %s", now, before.Taken)
		}
	})
}

func TestExpectedIsTheMostEverSeenOrAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newToyWithInventories(options())
		if got := h.Cards()[0].Expected; got != 0 {
			t.Errorf("expected %d cards before anything is known", got)
		}
		start(t, h)
		time.Sleep(time.Second)
		if got := h.Cards()[0].Expected; got != 2 { // one in the table, two announced
			t.Errorf("expected %d, want 2", got)
		}
	})
	configured := newScripted(options(), VendorOptions{Vendor: model.Vendor{Name: "toy"}, ExpectedDevices: 8}, nil, nil)
	if got := configured.Cards()[0].Expected; got != 8 {
		t.Errorf("expected %d although 8 are configured", got)
	}
}

// A card that fell off the bus is named by what was known of it, until as many cards are listed as are expected.
func TestMissingCardsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cards := []model.Device{{ID: "0", BusID: "0000:0a:00.0"}, {ID: "1", BusID: "0000:0b:00.0"}, {ID: "2", BusID: "0000:0c:00.0"}}
		h := newToy(options(), cards)
		start(t, h)
		for _, poll := range []struct{ shown, missing []model.Device }{
			{cards, nil},
			{[]model.Device{cards[0], {ID: "1", BusID: "0000:0c:00.0"}}, cards[1:2]},
			{cards[:1], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}, cards[1]}},
			{cards[:2], []model.Device{{ID: "1", BusID: "0000:0c:00.0"}}},
			{cards, nil},
		} {
			h.setCards(poll.shown)
			time.Sleep(15 * time.Second)
			if diff := cmp.Diff(poll.missing, h.Cards()[0].Missing); diff != "" {
				t.Errorf("with %v listed, want (-) and got (+) differ:\n%s", poll.shown, diff)
			}
		}
	})
}

// A scrape must not wait for the log: not while a warning is written, nor a failure.
func TestStalledLogDoesNotDelayAScrape(t *testing.T) {
	for name, answer := range map[string]answering{
		"a failure": prints("none"), "a warning": about("list", prints("?")), "a refusal": about("list", prints("does not support")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reached, end := make(chan struct{}, 10), make(chan struct{})
				o := options()
				o.Logger = log.LoggerFunc(func(...any) error { reached <- struct{}{}; <-end; return nil })
				h := newToyWithInventories(o)
				h.tool.set(answer)
				start(t, h)
				<-reached
				scrape := make(chan Status)
				go func() {
					read(t, h)
					scrape <- h.status()
				}()
				select {
				case s := <-scrape:
					if !s.Polled || s.Success != (name != "a failure") {
						t.Errorf("the scrape saw %+v", s)
					}
				case <-time.After(time.Minute):
					t.Error("a scrape waits for the log")
				}
				close(end)
			})
		})
	}
}

// Every row of a large broken table counts, few are kept and logged, and a poll that finds the same again counts and logs
// nothing, nor does one behind a tool that failed. What comes back counts again.
func TestWarningsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 100_000
		var lines atomic.Int32
		o := options()
		o.Logger = log.LoggerFunc(func(keyvals ...any) error {
			if slices.Contains(keyvals, any("why")) {
				lines.Add(1)
			}
			return nil
		})
		h := newToy(o, toyCards(1))
		var broken atomic.Bool
		parse := h.vendors[0].Table.Parse
		h.vendors[0].Table.Parse = func(out []byte, cards []model.Device) (model.Report, error) {
			r, err := parse(out, cards)
			for i := range rows {
				if broken.Load() && err == nil {
					r.Warn("row %d is cut", i)
				}
			}
			return r, err
		}
		start(t, h)
		for _, step := range []struct {
			isBroken, fails bool
			counted         uint64
			now, lines      int
		}{
			{true, false, rows, rows, 20}, {true, true, rows, rows, 20}, {true, false, rows, rows, 20}, {false, false, rows, 0, 20}, {true, false, 2 * rows, rows, 40},
		} {
			broken.Store(step.isBroken)
			h.tool.set(well)
			if step.fails {
				h.tool.set(fails(failure.Timeout))
			}
			time.Sleep(time.Minute)
			if s := h.status(); s.Warnings != step.counted || s.LeftOut.Count != step.now || len(s.LeftOut.Texts) != min(20, step.now) || int(lines.Load()) != step.lines {
				t.Errorf("%+v: %d warnings in all, %d now, %d kept, %d lines", step, s.Warnings, s.LeftOut.Count, len(s.LeftOut.Texts), lines.Load())
			}
		}
	})
}

// What does not fit together counts as what cannot be read does: once, and so does a file of the kernel's.
func TestWarningsOfMergeAndNodesCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.NUMA, o.Sysfs, o.Procfs = true, processtest.Nodes(t), string(processtest.Host(t, nil))
		if err := os.Remove(filepath.Join(o.Sysfs, "devices/system/node/node1/meminfo")); err != nil {
			t.Fatal(err)
		}
		h := newToy(o, toyCards(1))
		parse := h.vendors[0].Table.Parse
		h.vendors[0].Table.Parse = func(out []byte, cards []model.Device) (model.Report, error) {
			r, err := parse(out, cards)
			r.Processes = []model.Process{{Device: "0", PID: "7"}, {Device: "0", PID: "7"}, {Device: "9", PID: "8"}}
			return r, err
		}
		start(t, h)
		time.Sleep(2 * time.Minute)
		for i, want := range []uint64{2, 1} {
			if s := h.Statuses()[i]; s.Warnings != want || s.LeftOut.Count != int(want) {
				t.Errorf("%s: %d warnings counted, %q hold now; want %d", s.Collector, s.Warnings, s.LeftOut.Texts, want)
			}
		}
	})
}

// What is printed beside the table and fails takes whole columns of the scrape away: it is on the page all the time, in the
// log once, and back soon. Only what is refused is asked rarely.
func TestCommandOfEveryPollFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer answering
		asked  int // in an hour and a half
		want   string
	}{
		"refused":    {prints("does not support"), 2, "asking for beside: does not support"},
		"timed out":  {hang, 108, "asking for beside: no complete answer"},
		"unreadable": {prints("?"), 539, "asking for beside: no card"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines atomic.Int32
				o := options()
				o.Logger = log.LoggerFunc(func(keyvals ...any) error {
					if text := logLine(keyvals); !strings.Contains(text, "collector=toy") || !strings.Contains(text, "command=beside") {
						t.Errorf("the line does not say whose command fails: %s", text)
					}
					lines.Add(1)
					return nil
				})
				h := newToy(o, toyCards(1), everyPoll(toyCommand("beside", model.Host, 0)))
				h.tool.set(about("beside", c.answer))
				start(t, h)
				for range 5400 - 15 {
					time.Sleep(time.Second)
					if status := h.status(); status.Polled && !cmp.Equal(status.LeftOut.Texts, []string{c.want}) {
						t.Fatalf("left out: %q, want %q", status.LeftOut.Texts, c.want)
					}
				}
				got := [3]int{h.tool.asked("beside 0"), int(h.status().Warnings), int(lines.Load())}
				if want := [3]int{c.asked, 1, 1}; got != want {
					t.Errorf("asked, counted and logged %v times, want %v", got, want)
				}
				h.tool.set(well)
				time.Sleep(time.Hour)
				wantRead(t, h, map[string]string{"beside": "0"})
				if status := h.status(); len(status.LeftOut.Texts) > 0 {
					t.Errorf("after it works again: %q", status.LeftOut.Texts)
				}
			})
		})
	}
}

func everyPoll(c model.Command) model.Command {
	c.EveryPoll = true
	return c
}

// Where both parts that are printed apart hang, the table is shown all the same.
func TestTwoCommandsOfEveryPollHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.Interval = 4 * time.Second // with a timeout of 10 s
		h := newToy(o, toyCards(1), everyPoll(toyCommand("beside", model.Host, 0)), everyPoll(toyCommand("beside too", model.Host, 0)))
		h.tool.set(about("beside", hang))
		start(t, h)
		time.Sleep(2 * time.Minute) // both have hung once
		for range 600 {
			time.Sleep(time.Second)
			if !h.isShown() {
				t.Fatal("the cards are gone")
			}
		}
	})
}

// A poll that the exporter's end interrupts says nothing of the tool and of the cards.
func TestEndDuringAPoll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newToy(options(), toyCards(1), everyPoll(toyCommand("beside", model.Host, 0)))
	h.tool.set(about("beside", func(context.Context, []string) (process.Output, error) {
		cancel()
		return process.Output{}, failure.Errorf(failure.Timeout, "ended")
	}))
	h.Run(ctx)
	if h.isShown() || h.status().Polled {
		t.Errorf("a poll that was interrupted counts: %+v", h.status())
	}
}
