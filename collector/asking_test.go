package collector

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// toyDetail asks "name card" and reads "name card=value" lines.
func toyDetail(name string, scope smi.Scope, every time.Duration) smi.Detail {
	return smi.Detail{
		Name: name, Scope: scope, Every: every,
		Args: func(d model.Device) [][]string { return [][]string{{name, d.ID}} },
		Parse: func(out []byte, cards []model.Device) ([]smi.Told, error) {
			var all []smi.Told
			for _, c := range cards {
				if bytes.Contains(out, []byte("card "+c.ID+" tells")) || bytes.Contains(out, []byte("all tell")) {
					all = append(all, smi.Told{Device: c.ID, Readings: modeltest.Reading(model.Metric(name), 1)})
				}
			}
			if all == nil {
				return nil, failure.New(failure.Parse, "nothing told")
			}
			return all, nil
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

// takes answers after a while, as the function says.
func takes(d time.Duration, answer func(args string) (string, error)) func(context.Context, []string) (command.Output, error) {
	return func(ctx context.Context, args []string) (command.Output, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return command.Output{}, failure.New(failure.Timeout, "ended: %w", ctx.Err())
		}
		text, err := answer(strings.Join(args, " "))
		return command.Output{Stdout: []byte(text)}, err
	}
}

func always(text string) func(string) (string, error) {
	return func(string) (string, error) { return text, nil }
}

// tell is which commands tell something of which cards.
func tell(d *details) map[string]string {
	all := map[string]string{}
	for _, t := range d.told() {
		for _, r := range t.Readings {
			all[string(r.Metric)] += t.Device
		}
	}
	return all
}

func newToyDetails(plan []smi.Detail, r runner) *details {
	classify := func(text []byte) (failure.Reason, string, bool) {
		return failure.Match(text, []failure.Pattern{{Text: "does not support", Reason: failure.Unsupported}})
	}
	return newDetails(plan, r, classify, &commands{}, Options{Timeout: 10 * time.Second, DetailShare: 0.2, Logger: log.NewNopLogger()})
}

// spendFor lets the details have the tool for so long.
func spendFor(t *testing.T, d *details, length time.Duration) {
	t.Helper()
	d.spend(t.Context(), time.Now().Add(length))
}

// A user would notice a card that is not asked about, or a card that is asked more often
// than one call for all of them needs.
func TestDetailsAskHostCardAndDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(100*time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("watch", smi.Host, time.Minute), toyDetail("ecc", smi.Card, time.Minute), toyDetail("hccs", smi.Die, time.Minute)}, r)
		d.setCards(toyCards(4))
		spendFor(t, d, 5*time.Second)
		if diff := cmp.Diff(map[string]string{"watch": "0123", "ecc": "0123", "hccs": "0123"}, tell(d)); diff != "" {
			t.Errorf("want (-) and got (+) differ:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"watch ", "ecc 0", "ecc 2", "hccs 0", "hccs 1", "hccs 2", "hccs 3"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// What is old is not shown: three intervals and a timeout after the last answer.
func TestDetailsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("ecc", smi.Die, time.Minute)}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, time.Second)
		r.set(takes(time.Millisecond, func(string) (string, error) { return "", failure.New(failure.Exit, "broken") }))
		spendFor(t, d, 3*time.Minute)
		if tell(d)["ecc"] != "0" {
			t.Error("gone before its time")
		}
		if w, _ := d.warnings(); len(w.Texts) != 1 || !strings.Contains(w.Texts[0], "ecc of card 0") {
			t.Errorf("warnings %q", w.Texts)
		}
		spendFor(t, d, 12*time.Second)
		if tell(d)["ecc"] != "" {
			t.Error("still shown after three intervals and a timeout")
		}
	})
}

// A card that is lost, or another one under its number, takes its details along.
func TestDetailsGoWithTheirCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("ecc", smi.Die, time.Minute)}, r)
		cards := toyCards(3)
		d.setCards(cards)
		spendFor(t, d, time.Second)
		other := append([]model.Device(nil), cards[:2]...)
		other[1].BusID = "0000:99:00.0"
		d.setCards(other)
		if got := tell(d)["ecc"]; got != "0" {
			t.Errorf("told of %q, want card 0 only", got)
		}
		spendFor(t, d, time.Second)
		if got := tell(d)["ecc"]; got != "01" {
			t.Errorf("told of %q, want both cards", got)
		}
	})
}

// One call tells of all cards: a card that is lost must not take the others' details along.
func TestDetailsOfAHostOutliveALostCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{toyDetail("watch", smi.Host, time.Minute)}, r)
		d.setCards(toyCards(3))
		spendFor(t, d, time.Second)
		d.setCards(toyCards(2))
		if got := tell(d)["watch"]; got != "01" {
			t.Errorf("told of %q, want the two that are left", got)
		}
	})
}

// A refused type is asked again after an hour, one that timed out after five minutes, and
// only for its card.
func TestDetailsRest(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(string) (string, error)
		rest   time.Duration
	}{
		{"refused", func(args string) (string, error) { return "This device does not support querying ecc.", nil }, time.Hour},
		{"timed out", func(string) (string, error) { return "", failure.New(failure.Timeout, "too late") }, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
					if args == "ecc 1" {
						return c.answer(args)
					}
					return "all tell", nil
				})}
				d := newToyDetails([]smi.Detail{toyDetail("ecc", smi.Die, time.Minute)}, r)
				d.setCards(toyCards(4))
				spendFor(t, d, c.rest-time.Second)
				if n := r.asked("ecc 1"); n != 1 {
					t.Errorf("asked %d times in %s", n, c.rest)
				}
				if n := r.asked("ecc 0"); n < int(c.rest/time.Minute)-1 {
					t.Errorf("the card beside it was asked %d times only", n)
				}
				spendFor(t, d, time.Minute)
				if n := r.asked("ecc 1"); n != 2 {
					t.Errorf("asked %d times after its rest, want 2", n)
				}
			})
		})
	}
}

// Each flag is tried alone once, and then those that were accepted go together.
func TestDetailsCombineFlags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("counters", smi.Host, time.Minute)
		detail.Args = func(model.Device) [][]string { return [][]string{{}} }
		detail.Flags = []string{"--ecc", "--new", "--pcie"}
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			if strings.Contains(args, "--new") {
				return "this tool does not support it", nil
			}
			return "all tell", nil
		})}
		d := newToyDetails([]smi.Detail{detail}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, 90*time.Second)
		if diff := cmp.Diff([]string{"--ecc", "--new", "--pcie", "--ecc --pcie"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
		if tell(d)["counters"] != "0" {
			t.Error("nothing told")
		}
	})
}

// A command that another family refuses is asked in that family's way.
func TestDetailsTryOtherArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("hccs", smi.Die, time.Minute)
		detail.Args = func(d model.Device) [][]string { return [][]string{{"-c", d.ID}, {"-i", d.ID}} }
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			if strings.HasPrefix(args, "-c") {
				return "-c: does not support", nil
			}
			return "all tell", nil
		})}
		d := newToyDetails([]smi.Detail{detail}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, 2*time.Minute)
		if diff := cmp.Diff([]string{"-c 0", "-i 0", "-i 0"}, r.calls[:3]); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// A question for sick cards is asked while there is one.
func TestDetailsAskWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("health", smi.Die, time.Minute)
		detail.When = func(d *model.Device) bool { return d.Health != nil && !d.Health.OK }
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{detail}, r)
		cards := toyCards(2)
		d.setCards(cards)
		spendFor(t, d, time.Minute)
		cards = toyCards(2)
		cards[1].Health = &model.Health{State: "Alarm"}
		d.setCards(cards)
		spendFor(t, d, time.Second)
		if diff := cmp.Diff([]string{"health 1"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
		d.setCards(toyCards(2))
		if len(tell(d)) != 0 {
			t.Error("codes are shown of a card that is well again")
		}
	})
}

// An answer may name ports, which are asked about one by one.
func TestDetailsAskForPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("dev_info", smi.Die, time.Minute)
		detail.More = func(_ []byte, d model.Device) []smi.Detail {
			var ports []smi.Detail
			for _, port := range []string{"4", "5"} {
				one := toyDetail("stat", smi.Die, time.Minute)
				one.Port = port
				one.Args = func(model.Device) [][]string { return [][]string{{"stat", d.ID, port}} }
				ports = append(ports, one)
			}
			return ports
		}
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		d := newToyDetails([]smi.Detail{detail}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, time.Second)
		if diff := cmp.Diff([]string{"dev_info 0", "stat 0 4", "stat 0 5"}, r.calls[:3]); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// The questions that an answer gives rise to are of the level that was asked for: ports
// of a 950 cost a call each.
func TestDetailsAskForPortsOfTheirLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		detail := toyDetail("dev_info", smi.Die, time.Minute)
		detail.Lean = true
		detail.More = func(_ []byte, d model.Device) []smi.Detail {
			lean, full := toyDetail("link", smi.Die, time.Minute), toyDetail("stat", smi.Die, time.Minute)
			lean.Lean, lean.Port, full.Port = true, "4", "4"
			return []smi.Detail{lean, full}
		}
		r := &scripted{answer: takes(time.Millisecond, always("all tell"))}
		o := Options{Timeout: 10 * time.Second, DetailShare: 0.2, Detail: DetailLean, Logger: log.NewNopLogger()}
		d := newDetails([]smi.Detail{detail}, r, newToyDetails(nil, r).classify, &commands{}, o)
		d.setCards(toyCards(1))
		spendFor(t, d, time.Second)
		if diff := cmp.Diff([]string{"dev_info 0", "link 0"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// A tool that prints nothing is no text that could not be read: nobody is to send a capture.
func TestDetailsThatPrintNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: takes(time.Millisecond, always("\n"))}
		d := newToyDetails([]smi.Detail{toyDetail("ecc", smi.Die, time.Minute)}, r)
		d.setCards(toyCards(1))
		spendFor(t, d, 5*time.Minute)
		if now, leftOut := d.warnings(); leftOut != 0 || now.Count != 1 {
			t.Errorf("%d parts could not be read, warnings %q", leftOut, now.Texts)
		}
	})
}
