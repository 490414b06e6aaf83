package modeltest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Loss counts what becomes of an output that lost a part of itself.
type Loss struct {
	Tried int
	// ByLines and ByBytes tell the losses of whole lines, and of bytes, after which a
	// card or a slice is shown with what is not its own, Processes those after which
	// a process is.
	ByLines, ByBytes, Processes []string
}

// Lose takes parts out of an output, reads what is left, and compares it with what
// is read in the whole: every run of one to four adjacent lines, and holes of bytes, one at every stride, of lengths
// that stay inside a row or join two rows at about the same place.
func Lose(t testing.TB, out []byte, stride int, parse Parse) (all Loss) {
	t.Helper()
	whole, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	told := tell(whole)
	try := func(from, to int, wrong *[]string) {
		all.Tried++
		part, err := parse(slices.Concat(out[:from], out[to:]))
		if err != nil {
			return
		}
		cards, processes := told.contradicted(tell(part))
		if cards != "" {
			*wrong = append(*wrong, fmt.Sprintf("without the bytes %d to %d: %s", from, to, cards))
		}
		if processes != "" {
			all.Processes = append(all.Processes, fmt.Sprintf("without the bytes %d to %d: %s", from, to, processes))
		}
	}
	lines, width := starts(out)
	for i := range lines {
		for n := 1; n <= 4 && i+n < len(lines); n++ {
			try(lines[i], lines[i+n], &all.ByLines)
		}
	}
	lengths := []int{1, 2, 3, 5, 8, 13, 21, 34}
	for n := 1; n <= 4; n++ {
		for d := -3; d <= 3; d++ {
			lengths = append(lengths, n*(width+1)+d)
		}
	}
	for from := 0; from < len(out); from += stride {
		for _, n := range lengths {
			if from+n <= len(out) {
				try(from, from+n, &all.ByBytes)
			}
		}
	}
	return all
}

// starts is where lines begin, and how long the longest row is.
func starts(out []byte) (at []int, width int) {
	n := 0
	for line := range bytes.Lines(out) {
		at = append(at, n)
		n += len(line)
		if line[0] == '|' {
			width = max(width, len(line)-1)
		}
	}
	return append(at, n), width
}

// told is what a report says, by card and by process.
type told struct{ cards, processes map[string]string }

func tell(r model.Report) told {
	all := told{map[string]string{}, map[string]string{}}
	for _, d := range r.Devices {
		card := d.ID
		if d.NPU != "" {
			card = d.NPU + "." + d.Chip
		}
		for name, v := range ByName(d.Readings) {
			all.cards[card+" "+name] = fmt.Sprint(v)
		}
		if d.Health != nil {
			all.cards[card+" health"] = d.Health.State + d.Health.Reason
		}
		for label, v := range map[string]string{"bus": d.BusID, "name": d.Name, "board": d.Board} {
			if v != "" {
				all.cards[card+" "+label] = v
			}
		}
	}
	for _, s := range r.Slices {
		for name, v := range ByName(s.Readings) {
			all.cards[s.Device+"-"+s.ID+" "+name] = fmt.Sprint(v)
		}
	}
	for _, p := range r.Processes {
		all.processes[p.PID+" of "+p.Device] = fmt.Sprint(p.Name, p.UsedBytes)
	}
	return all
}

// contradicted returns the first that part tells otherwise than the whole.
func (whole told) contradicted(part told) (card, process string) {
	return differs(whole.cards, part.cards), differs(whole.processes, part.processes)
}

func differs(whole, part map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		if whole[key] != part[key] {
			return fmt.Sprintf("%s is %s and not %s", key, part[key], whole[key])
		}
	}
	return ""
}
