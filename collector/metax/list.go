package metax

import (
	"bytes"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// withheld ends the reason mx-smi -L gives for a card that exists on the host but
// was not granted to the container it runs in. Such a card is neither broken
// nor missing. The word before it is the brand, which an OEM's build replaces.
const withheld = "Sysfs File Unaccessible"

// ParseList reads the output of mx-smi -L, the only one with UUIDs and with the
// cards that failed:
//
//	GPU#0    MXC500      0000:37:00.0   Available (UUID: GPU-…)
//	GPU#1    MXC500      0000:0e:00.0   Not Available(Layout Node Not Found)
//
// Cards that are merely withheld from a container are left out and not counted.
func ParseList(out []byte) (model.Report, error) {
	var r model.Report
	hidden := 0
	known := map[string]bool{}
	for raw := range bytes.Lines(out) {
		line := strings.TrimSpace(string(raw))
		card, ok := strings.CutPrefix(line, "GPU#")
		if !ok {
			continue
		}
		number, rest, _ := strings.Cut(card, " ")
		d, ok := listed(number, rest)
		cut := raw[len(raw)-1] != '\n' && !strings.HasSuffix(line, ")")
		switch {
		case !ok || cut:
			r.Warn("cannot read a line of the list: %.80q", line)
		case known[number]:
			r.Warn("card %s is listed twice", number)
		case strings.HasSuffix(d.Health.Reason, withheld):
			hidden++
			known[number] = true
		default:
			known[number] = true
			r.Announced++
			r.Listed = append(r.Listed, d)
		}
	}
	if len(r.Listed)+hidden == 0 {
		return model.Report{}, failure.New(failure.Parse, "no card in the list")
	}
	return r, nil
}

// listed reads what follows the number: a name that may hold blanks, the bus
// id, a state that may hold a blank, and a UUID or a reason in parentheses.
func listed(number, rest string) (model.Device, bool) {
	if _, ok := printed.Index(number); !ok {
		return model.Device{}, false
	}
	fields := strings.Fields(rest)
	for i, f := range fields {
		if !printed.PCIAddress(f) && (i == 0 || !printed.Absent(f)) {
			continue
		}
		h := health(strings.Join(fields[i+1:], " "))
		if h == nil {
			return model.Device{}, false
		}
		d := model.Device{ID: number, Name: strings.Join(fields[:i], " "), BusID: printed.Label(f), Health: h}
		if uuid, ok := strings.CutPrefix(h.Reason, "UUID:"); ok {
			uuid, _, _ = strings.Cut(uuid, ")")
			d.UUID, h.Reason = printed.Label(strings.TrimSpace(uuid)), ""
		}
		return d, true
	}
	return model.Device{}, false
}
