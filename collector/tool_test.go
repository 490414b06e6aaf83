package collector

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// toyCommand asks "name card" and reads "card 3" or "all cards".
func toyCommand(name string, scope model.Scope, every time.Duration) model.Command {
	return model.Command{
		Name: name, Scope: scope, Every: every,
		Args: func(d model.Device) [][]string { return [][]string{{name, d.ID}} },
		Parse: func(out []byte, cards []model.Device) (r model.Report, err error) {
			for _, c := range cards {
				if bytes.Contains(out, []byte("card "+c.ID+"\n")) || bytes.Contains(out, []byte("all cards")) {
					r.Devices = append(r.Devices, model.Device{ID: c.ID, Readings: modeltest.Reading(model.Metric(name), 1)})
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

// takes answers after a while, as the function says.
func takes(d time.Duration, answer func(args string) (string, error)) func(context.Context, []string) (process.Output, error) {
	return func(ctx context.Context, args []string) (process.Output, error) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return process.Output{}, failure.Errorf(failure.Timeout, "ended: %w", ctx.Err())
		}
		text, err := answer(strings.Join(args, " "))
		return process.Output{Stdout: []byte(text)}, err
	}
}

func always(text string) func(string) (string, error) {
	return func(string) (string, error) { return text, nil }
}

var well = takes(time.Millisecond, always("all cards"))

// read is which cards have a reading, by command.
func read(t *tool) map[string]string {
	all := map[string]string{}
	for _, r := range t.readings() {
		for _, reading := range r.readings {
			all[string(reading.Metric)] += r.device
		}
	}
	return all
}

func wantRead(t *testing.T, tool *tool, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, read(tool)); diff != "" {
		t.Errorf("cards with readings, want (-) and got (+) differ:\n%s", diff)
	}
}

func toyClassify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, []smitext.Pattern{{Text: "does not support", Reason: failure.Unsupported}})
}

func newToyTool(r runner, cards []model.Device, commands ...model.Command) *tool {
	o := options()
	o.Detail = DetailFull
	t := newTool(commands, r, toyClassify, o)
	t.setCards(cards)
	return t
}

// askFor has the tool asked for so long.
func askFor(t *testing.T, tool *tool, length time.Duration) {
	t.Helper()
	tool.askUntil(t.Context(), time.Now().Add(length))
}

func statusOf(t *tool) (s Status) {
	t.addTo(&s)
	return s
}

// A user would notice a card that is not asked about, and a card that is asked more often
// than one call for all of them needs.
func TestCommandsAreOfHostCardAndDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: well}
		sick := toyCommand("sick", model.Die, time.Minute)
		sick.When = func(d *model.Device) bool { return d.Health != nil && !d.Health.OK }
		tool := newToyTool(r, toyCards(4), toyCommand("watch", model.Host, time.Minute), toyCommand("ecc", model.Card, time.Minute), toyCommand("hccs", model.Die, time.Minute), sick)
		askFor(t, tool, 5*time.Second)
		wantRead(t, tool, map[string]string{"watch": "0123", "ecc": "0123", "hccs": "0123"})
		if diff := cmp.Diff([]string{"watch 0", "ecc 0", "ecc 2", "hccs 0", "hccs 1", "hccs 2", "hccs 3"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
		// A question for sick cards is asked while there is one, and its readings go with it.
		cards := toyCards(4)
		cards[1].Health = &model.Health{State: "Alarm"}
		tool.setCards(cards)
		askFor(t, tool, time.Second)
		if got := read(tool)["sick"]; got != "1" {
			t.Errorf("asked of the cards %q, want the sick one", got)
		}
		tool.setCards(toyCards(4))
		if got := read(tool)["sick"]; got != "" {
			t.Errorf("readings of the cards %q, none of which is sick", got)
		}
	})
}

// What is old is not shown: three intervals and a timeout after the last answer.
func TestReadingsGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: well}
		tool := newToyTool(r, toyCards(1), toyCommand("ecc", model.Die, time.Minute))
		askFor(t, tool, time.Second)
		r.set(fails(failure.Exit))
		askFor(t, tool, 3*time.Minute)
		wantRead(t, tool, map[string]string{"ecc": "0"})
		if w := statusOf(tool).LeftOut; w.Count != 1 || !strings.Contains(w.Texts[0], "ecc of card 0") {
			t.Errorf("warnings %q", w.Texts)
		}
		askFor(t, tool, 12*time.Second)
		wantRead(t, tool, map[string]string{})
	})
}

// A card that is lost, or another one under its number, takes its readings along, and no other card's.
func TestReadingsGoWithTheirCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{answer: well}
		tool := newToyTool(r, toyCards(3), toyCommand("ecc", model.Die, time.Minute), toyCommand("watch", model.Host, time.Minute))
		askFor(t, tool, time.Second)
		tool.setCards(toyCards(2))
		wantRead(t, tool, map[string]string{"ecc": "01", "watch": "01"})
		other := toyCards(2)
		other[1].BusID = "0000:99:00.0"
		tool.setCards(other)
		wantRead(t, tool, map[string]string{"ecc": "0", "watch": "0"})
		askFor(t, tool, time.Second)
		wantRead(t, tool, map[string]string{"ecc": "01", "watch": "01"})
		// A number may mean another card when the answer is there.
		r.set(takes(4*time.Second, always("all cards")))
		go func() {
			time.Sleep(2 * time.Minute)
			tool.setCards(toyCards(2))
		}()
		askFor(t, tool, 2*time.Minute+3*time.Second)
		if got := read(tool)["ecc"]; strings.Contains(got, "1") {
			t.Errorf("readings of the cards %s, of which the second has changed during the call", got)
		}
	})
}

// A refused command is asked again after an hour, one that timed out after five minutes, and only for its card. What is
// asked once an hour does not wait for that where the tool was busy.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		name         string
		every, retry time.Duration
		text         string
		reason       failure.Reason
	}{
		{"refused", time.Minute, time.Hour, "This device does not support querying ecc.", ""},
		{"timed out", time.Minute, 5 * time.Minute, "", failure.Timeout},
		{"busy, asked rarely", time.Hour, 5 * time.Minute, "", failure.Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
					switch {
					case args != "ecc 1":
						return "all cards", nil
					case c.reason != "":
						return "", failure.Errorf(c.reason, "no luck")
					}
					return c.text, nil
				})}
				tool := newToyTool(r, toyCards(4), toyCommand("ecc", model.Die, c.every))
				askFor(t, tool, c.retry-time.Second)
				if n := r.asked("ecc 1"); n != 1 {
					t.Errorf("asked %d times in %s", n, c.retry)
				}
				if n := r.asked("ecc 0"); n < int(c.retry/c.every)-1 {
					t.Errorf("the card beside it was asked %d times only", n)
				}
				askFor(t, tool, 3*time.Second)
				if n := r.asked("ecc 1"); n != 2 {
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
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			if strings.HasPrefix(args, "-c") {
				return "-c: does not support", nil
			}
			return "all cards", nil
		})}
		askFor(t, newToyTool(r, toyCards(1), c), 90*time.Second)
		if diff := cmp.Diff([]string{"-c 0", "-i 0", "-i 0"}, r.calls); diff != "" {
			t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// An answer may name ports, which are asked about one by one. A port that goes away must not be shown on, nor lose the
// others what was answered about them.
func TestMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ports := []string{"4", "5", "6"}
		c := toyCommand("dev_info", model.Die, time.Minute)
		c.More = func(_ []byte, d model.Device) (all []model.Command) {
			for _, port := range ports {
				one := toyCommand("speed"+port, model.Die, time.Hour)
				one.Name, one.Part = "speed", port
				one.Args = model.SameArgs([]string{"speed", d.ID, port})
				all = append(all, one)
			}
			return all
		}
		r := &scripted{answer: well}
		tool := newToyTool(r, toyCards(1), c)
		askFor(t, tool, time.Second)
		wantRead(t, tool, map[string]string{"dev_info": "0", "speed4": "0", "speed5": "0", "speed6": "0"})
		ports = []string{"5", "6"}
		askFor(t, tool, time.Minute)
		wantRead(t, tool, map[string]string{"dev_info": "0", "speed5": "0", "speed6": "0"})
		if n := r.asked("speed 0 5"); n != 1 {
			t.Errorf("port 5 was asked %d times, want once an hour", n)
		}
		other := toyCards(1)
		other[0].BusID = "0000:99:00.0"
		tool.setCards(other)
		wantRead(t, tool, map[string]string{})
		ports = []string{"7"}
		askFor(t, tool, time.Minute)
		wantRead(t, tool, map[string]string{"dev_info": "0", "speed7": "0"})
		// They are of the level of detail that was asked for: ports cost a call each.
		tool.options.Detail = DetailLean
		askFor(t, tool, time.Minute)
		wantRead(t, tool, map[string]string{"dev_info": "0"})
	})
}

// A port without a module says so on standard error: that is an answer about the module, and
// what was read of the one before is gone with it.
func TestModuleThatIsTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := Vendors()[slices.IndexFunc(Vendors(), func(v model.Vendor) bool { return v.Name == "ascend" })]
		plan := slices.DeleteFunc(slices.Clone(v.Commands), func(c model.Command) bool { return c.Name != "hccn_optical" })
		answer := process.Output{Stdout: []byte("optical info:\npresent : present\ntemperature : 46 C\n")}
		r := &scripted{answer: func(context.Context, []string) (process.Output, error) { return answer, nil }}
		tool := newTool(plan, r, v.ClassifyNetwork, options())
		tool.setCards(devs(t, "3 3.0 hbm"))
		askFor(t, tool, time.Second)
		wantRead(t, tool, map[string]string{"optical_present": "3", "optical_temperature_celsius": "3"})
		answer = process.Output{Stderr: []byte("Optical module is not present.\n"), ExitCode: 20}
		asked := len(r.calls)
		askFor(t, tool, time.Hour)
		wantRead(t, tool, map[string]string{"optical_present": "3"})
		if v, _ := tool.readings()[0].readings.Get("optical_present"); v != 0 {
			t.Errorf("present is %v without a module", v)
		}
		if n := len(r.calls) - asked; n < 11 || n > 13 {
			t.Errorf("asked %d times in an hour, want every five minutes", n)
		}
		if s := statusOf(tool); !tool.lastRuns()["hccn_optical"].success || s.LeftOut.Count+int(s.Warnings) != 0 {
			t.Errorf("an answer counts as a failure: %+v", s)
		}
	})
}

// Parts of answers that could not be read are counted as those of the table are, once for each answer, and a refusal is
// none. A tool that prints nothing is no text that could not be read: nobody is to send a capture. Each is logged once, and
// not under the lock that a scrape needs.
func TestWarningsOfCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		torn := toyCommand("torn", model.Die, time.Minute)
		torn.Parse = func(_ []byte, cards []model.Device) (model.Report, error) {
			r := model.Report{Devices: []model.Device{{ID: cards[0].ID}}}
			r.Warn("cannot read x")
			r.Warn("cannot read y")
			return r, nil
		}
		r := &scripted{answer: takes(time.Millisecond, func(args string) (string, error) {
			return map[string]string{"torn 0": "x", "refused 0": "does not support", "garbled 0": "?", "silent 0": "\n"}[args], nil
		})}
		tool := newToyTool(r, toyCards(1), torn, toyCommand("refused", model.Die, time.Minute), toyCommand("garbled", model.Die, time.Minute), toyCommand("silent", model.Die, time.Minute))
		lines := 0
		tool.logger = onLog(func() {
			lines++
			if !tool.mu.TryLock() {
				t.Error("a line is logged under the lock")
				return
			}
			tool.mu.Unlock()
		})
		for round, want := range []uint64{3, 6, 9} {
			askFor(t, tool, time.Minute)
			if s := statusOf(tool); s.Warnings != want || s.LeftOut.Count != 4 {
				t.Errorf("%d warnings after %d rounds, %q now; want %d and 4", s.Warnings, round+1, s.LeftOut.Texts, want)
			}
		}
		if askFor(t, tool, 2*time.Hour); lines != 3 {
			t.Errorf("%d lines, want one for each command that fails", lines)
		}
	})
}

// onLog is a log whose lines call something.
type onLog func()

func (f onLog) Log(...any) error { f(); return nil }

// Nothing but inventories is asked where details are off, and serial numbers only where they are wanted.
func TestLevelsOfDetail(t *testing.T) {
	for _, v := range Vendors() {
		for _, c := range v.Commands {
			got := map[string]bool{
				"off": Options{Detail: DetailOff, Serials: true}.wants(c), "lean": Options{Detail: DetailLean}.wants(c),
				"full": Options{Detail: DetailFull}.wants(c), "serials": Options{Detail: DetailFull, Serials: true}.wants(c),
			}
			want := map[string]bool{"off": c.Inventory, "lean": c.Inventory || c.Lean, "full": !c.Serials, "serials": true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s is asked, want (-) and got (+) differ:\n%s", v.Name, c.Name, diff)
			}
		}
	}
}
