package metax

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// withheld ends the reason mx-smi -L gives for a card that exists on the host but
// was not granted to the container it runs in. Such a card is neither broken
// nor missing. The word before it is the brand, which an OEM's build replaces.
const withheld = "Sysfs File Unaccessible"

// listedCard is a number, a name that may hold blanks, the bus id, and a state with a UUID or
// a reason in parentheses.
var listedCard = regexp.MustCompile(`^GPU#(\d+)\s+(.*?)\s+([[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[[:xdigit:]]|N/?A|-)\s+(.*)$`)

// ParseList reads the output of mx-smi -L, the only one with UUIDs and with the
// cards that failed:
//
//	GPU#0    MXC500      0000:37:00.0   Available (UUID: GPU-…)
//	GPU#1    MXC500      0000:0e:00.0   Not Available(Layout Node Not Found)
//
// Cards that are merely withheld from a container are left out and not counted.
func ParseList(out []byte) (model.Report, error) {
	var r model.Report
	known := map[string]bool{}
	for raw := range bytes.Lines(out) {
		line := strings.TrimSpace(string(raw))
		if !strings.HasPrefix(line, "GPU#") {
			continue
		}
		d := parseListed(line)
		isCut := raw[len(raw)-1] != '\n' && !strings.HasSuffix(line, ")")
		switch {
		case d.Health == nil || isCut:
			r.Warn("cannot read a line of the list: %.80q", line)
			continue
		case known[d.ID]:
			r.Warn("card %s is listed twice", d.ID)
			continue
		}
		known[d.ID] = true
		if !strings.HasSuffix(d.Health.Reason, withheld) {
			r.Announced++
			r.Listed = append(r.Listed, d)
		}
	}
	if len(known) == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return r, nil
}

// parseListed reads one line. Without a health it is no card with a state.
func parseListed(line string) (d model.Device) {
	if m := listedCard.FindStringSubmatch(line); m != nil {
		d = model.Device{ID: m[1], Name: m[2], BusID: smitext.Label(m[3]), Health: health(m[4])}
	}
	if d.Health == nil {
		return d
	}
	if uuid, ok := strings.CutPrefix(d.Health.Reason, "UUID:"); ok {
		uuid, _, _ = strings.Cut(uuid, ")")
		d.UUID, d.Health.Reason = smitext.Label(strings.TrimSpace(uuid)), ""
	}
	return d
}
