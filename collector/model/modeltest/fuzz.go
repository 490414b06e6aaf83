package modeltest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Resolve finds the device that a topology's name means.
type Resolve = func(name string, devices []model.Device) string

// AddFixtures adds the texts whose names begin so.
func AddFixtures(f *testing.F, prefixes ...string) {
	f.Helper()
	for _, prefix := range prefixes {
		for _, name := range Glob(f, "testdata/"+prefix+"*.txt") {
			f.Add(Read(f, name))
		}
	}
}

// FuzzTable holds that no bytes make the parser of a main table panic, nothing is there twice, every value is in its range,
// and the end of the output changes no card before it but for what is ignored.
func FuzzTable(f *testing.F, parse Parse, resolve Resolve, ignored ...cmp.Option) {
	f.Fuzz(func(t *testing.T, out []byte) {
		whole, err := parse(out)
		CheckReport(t, whole, err)
		if err == nil {
			CheckSnapshot(t, model.Merge(whole, nil, resolve))
			checkHalf(t, parse, out, whole, 0, ignored...)
		}
	})
}

// FuzzCommands holds of each command of a vendor that no bytes make its parser panic, nothing is there twice, every value is in
// its range, and what is cut off the end of the main table changes no card before the last open ones. cards are those that the
// table showed before the others were asked.
func FuzzCommands(f *testing.F, v model.Vendor, cards func() []model.Device, open int, more ...string) {
	commands := slices.Concat([]model.Command{v.Table}, v.Commands)
	for _, pattern := range append(more, "testdata/*.txt") {
		for _, name := range Glob(f, pattern) {
			for i := range commands {
				f.Add(Read(f, name), uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, out []byte, which uint8) {
		c := commands[int(which)%len(commands)]
		whole, err := c.Parse(out, cards())
		CheckReport(t, whole, err)
		if err != nil {
			return
		}
		table := whole
		if c.Name != v.Table.Name {
			table = model.Report{Devices: cards()}
			table.Join(whole)
		}
		CheckSnapshot(t, model.Merge(table, []model.Report{whole}, v.Resolve))
		if c.Name == v.Table.Name {
			checkHalf(t, func(out []byte) (model.Report, error) { return c.Parse(out, cards()) }, out, whole, open)
		}
	})
}

// checkHalf fails where the first half of an output has other cards than the whole, but for the last open ones.
func checkHalf(t *testing.T, parse Parse, out []byte, whole model.Report, open int, ignored ...cmp.Option) {
	t.Helper()
	half, err := parse(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1])
	if n := len(half.Devices) - open; err == nil && n > 0 && (n > len(whole.Devices) || !cmp.Equal(whole.Devices[:n], half.Devices[:n], ignored...)) {
		t.Fatalf("the first half has other cards:\n%s", cmp.Diff(whole.Devices, half.Devices, ignored...))
	}
}

// FuzzMerge joins whatever a main table and two other commands print. It begins with fixtures of these names.
func FuzzMerge(f *testing.F, resolve Resolve, parsers [3]Parse, fixtures ...[3]string) {
	for _, names := range fixtures {
		f.Add(Read(f, "testdata/"+names[0]+".txt"), Read(f, "testdata/"+names[1]+".txt"), Read(f, "testdata/"+names[2]+".txt"))
	}
	f.Fuzz(func(t *testing.T, out, first, second []byte) {
		table, err := parsers[0](out)
		if err != nil {
			return
		}
		var sides []model.Report
		for i, text := range [][]byte{first, second} {
			if r, err := parsers[i+1](text); err == nil {
				sides = append(sides, r)
			}
		}
		CheckSnapshot(t, model.Merge(table, sides, resolve))
	})
}

// CheckClasses fails for an error text of a tool that has another class than the one given, or no telling line; a text
// without a class has none.
func CheckClasses(t *testing.T, classify func([]byte) (failure.Reason, string, bool), want map[string]failure.Reason) {
	t.Helper()
	for text, reason := range want {
		if got, line, _ := classify([]byte(text)); got != reason || (reason != "") != (line != "") || strings.Contains(line, "\n") {
			t.Errorf("%q is %q by the line %q, want %q", text, got, line, reason)
		}
	}
}
