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

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
)

// What is asked once an hour is asked again soon, where the tool was busy.
func TestDetailsAskedRarelyAreAskedAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, reason := range []failure.Reason{failure.Busy, failure.Timeout} {
			r := &scripted{answer: fails(reason)}
			d := newToyDetails([]smi.Detail{toyDetail("enable", smi.Die, time.Hour)}, r)
			d.setCards(toyCards(1))
			spendFor(t, d, time.Second)
			r.set(takes(time.Millisecond, always("all tell")))
			spendFor(t, d, 5*time.Minute)
			if tell(d)["enable"] != "0" {
				t.Errorf("%s: not told after five minutes", reason)
			}
		}
	})
}

// What a host's call told of a card before is kept where the next one hangs before that
// card, and only for its time.
func TestDetailsOfAHostThatHangsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("summary", smi.Host, time.Minute)}, r)
		d.setCards(toyCards(3))
		spendFor(t, d, time.Second)
		r.set(func(context.Context, []string) (command.Output, error) {
			return command.Output{Stdout: []byte("card 0 tells\n")}, failure.New(failure.Timeout, "late")
		})
		spendFor(t, d, 3*time.Minute)
		if got := tell(d)["summary"]; got != "012" {
			t.Errorf("told of %q before their time, want all", got)
		}
		spendFor(t, d, 2*time.Minute)
		if got := tell(d)["summary"]; got != "0" {
			t.Errorf("told of %q, want the card before which it hangs not", got)
		}
		if now, _ := d.warnings(); now.Count != 1 || !strings.Contains(now.Texts[0], "late") {
			t.Errorf("warnings %q", now.Texts)
		}
		if all := d.commands.all(); all[0].success {
			t.Error("a call that hung counts as a success")
		}
	})
}

// One call for all cards that hangs at one of them waits the whole timeout. It rests as any
// call that timed out; meanwhile the others' readings stay, and the sick card's go in
// their time.
func TestDetailsOfAHostThatHangsHalfwayRest(t *testing.T) {
	for name, flags := range map[string][]string{"without flags": nil, "with flags": {"--ecc", "--pcie"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sick, gone atomic.Bool
				detail := toyDetail("watch", smi.Host, time.Minute)
				detail.Flags = flags
				p, d, s := hostOf(4, []smi.Detail{detail}, func(ctx context.Context, args string) (command.Output, error, bool) {
					if !strings.HasPrefix(args, "watch") || !sick.Load() && flags == nil {
						return command.Output{}, nil, false
					}
					_, err := takes(10*time.Second, always(""))(ctx, nil)
					if err == nil {
						err = failure.New(failure.Timeout, "no complete answer")
					}
					out := command.Output{Stdout: []byte("card 0 tells\ncard 1 tells\ncard 2 tells\n")}
					if gone.Load() {
						out.Stdout = nil
					}
					return out, err, true
				})
				runUntilTheEnd(t, p)
				time.Sleep(2 * time.Minute)
				sick.Store(true)
				if got := tell(d)["watch"]; flags == nil && got != "0123" {
					t.Fatalf("told of %q at first", got)
				}
				started := func() (n int) {
					s.mu.Lock()
					defer s.mu.Unlock()
					for _, args := range s.calls {
						if strings.HasPrefix(args, "watch") {
							n++
						}
					}
					return n
				}
				before := 0
				for second := range 3600 + 360 {
					time.Sleep(time.Second)
					got := tell(d)["watch"]
					if strings.Trim("012", got) != "" {
						t.Fatalf("%d s after the card fell sick, told of %q", second, got)
					}
					if second > 270 && strings.Contains(got, "3") { // an interval until it is asked, three and a timeout
						t.Fatalf("%d s after the card fell sick, it is told of", second)
					}
					if second == 359 {
						before = started()
					}
				}
				if n := started() - before; n < 10 || n > 12 {
					t.Errorf("the tool was started %d times in an hour, want every five minutes", n)
				}
				// A call that tells nothing of anybody holds nothing.
				gone.Store(true)
				time.Sleep(8 * time.Minute)
				if got := tell(d)["watch"]; got != "" {
					t.Errorf("told of %q of which nothing was told for 8 minutes", got)
				}
			})
		})
	}
}

// A port without a module says so on standard error: that is news about the module, and
// what was told of the one before is gone with it.
func TestDetailsOfAModuleThatIsTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := vendors()[slices.IndexFunc(vendors(), func(v smi.Vendor) bool { return v.Name == "ascend" })]
		plan := slices.DeleteFunc(slices.Clone(v.Details), func(d smi.Detail) bool { return d.Name != "hccn_optical" })
		answer := command.Output{Stdout: []byte("optical info:\npresent : present\ntemperature : 46 C\n")}
		r := &scripted{answer: func(context.Context, []string) (command.Output, error) { return answer, nil }}
		d := newDetails(plan, r, v.ClassifyNetwork, &commands{}, Options{Timeout: 10 * time.Second, DetailShare: 0.2, Logger: log.NewNopLogger()})
		d.setCards(devs(t, "3 3.0 hbm"))
		readings := func() string {
			text := ""
			for _, x := range d.told() {
				text += fmt.Sprint(x.Readings)
			}
			return text
		}
		spendFor(t, d, time.Second)
		if got, want := readings(), "[{optical_present [] 1} {optical_temperature_celsius [] 46}]"; got != want {
			t.Errorf("told %s with a module, want %s", got, want)
		}
		answer = command.Output{Stderr: []byte("Optical module is not present.\n"), ExitCode: 20}
		asked := len(r.calls)
		spendFor(t, d, time.Hour)
		if got, want := readings(), "[{optical_present [] 0}]"; got != want {
			t.Errorf("told %s without one, want %s", got, want)
		}
		if n := len(r.calls) - asked; n < 11 || n > 13 {
			t.Errorf("asked %d times in an hour, want every five minutes", n)
		}
		if all := d.commands.all(); !all[0].success {
			t.Error("an answer counts as a failure")
		}
		if now, n := d.warnings(); now.Count != 0 || n != 0 {
			t.Errorf("warnings %q, %d parts that could not be read", now.Texts, n)
		}
		// Where a command answers on standard output alone, an error text tells nothing.
		d.plan[0].Stderr = false
		d.setCards(devs(t, "3 3.0 hbm"))
		spendFor(t, d, 20*time.Minute)
		if got := readings(); got != "" {
			t.Errorf("told %s by an error text", got)
		}
	})
}
