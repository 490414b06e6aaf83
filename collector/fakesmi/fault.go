package fakesmi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// FaultKind is what can be wrong with a card.
type FaultKind string

// The faults of a card. What one counts, it counts from the first call that meets it.
const (
	FaultUnhealthy  FaultKind = "unhealthy"   // the tool says so: text is the reason (MetaX) or the state (Ascend)
	FaultHot        FaultKind = "hot"         // 105 °C, or as many as the text says, and slower for it
	FaultPowerCap   FaultKind = "power_cap"   // busy, at its power limit and at a low performance level
	FaultMemoryFull FaultKind = "memory_full" // all but a few MiB in use
	FaultIdleHeld   FaultKind = "idle_held"   // does nothing and keeps its memory
	FaultUneven     FaultKind = "uneven"      // works alone while the cards beside it wait
	FaultECC        FaultKind = "ecc"         // memory errors grow, and pages are retired
	FaultLinkLanes  FaultKind = "link_lanes"  // a link with half its lanes: of HCCS (Ascend), of PCIe (MetaX)
	FaultPCIeSlow   FaultKind = "pcie_slow"   // PCIe below its best speed (MetaX), with errors (Ascend)
	FaultPortDown   FaultKind = "port_down"   // the RoCE port has no link (Ascend)
	FaultOpticsFade FaultKind = "optics_fade" // the optical module receives too little light (Ascend)
	FaultRAS        FaultKind = "ras"         // errors of hardware units (MetaX); a warning with the codes of the text (Ascend)
)

// faultKind is what may stand beside a kind: takes says what is wrong with it.
type faultKind struct {
	kind  FaultKind
	takes func(text string) error
}

func faultKinds() []faultKind {
	return []faultKind{
		{FaultUnhealthy, anything},
		{FaultHot, degrees},
		{FaultPowerCap, nothing},
		{FaultMemoryFull, nothing},
		{FaultIdleHeld, nothing},
		{FaultUneven, nothing},
		{FaultECC, nothing},
		{FaultLinkLanes, nothing},
		{FaultPCIeSlow, nothing},
		{FaultPortDown, nothing},
		{FaultOpticsFade, nothing},
		{FaultRAS, errorCodes},
	}
}

func anything(string) error { return nil }

func nothing(text string) error {
	if text != "" {
		return fmt.Errorf("it takes nothing beside it")
	}
	return nil
}

func degrees(text string) error {
	if _, err := strconv.ParseUint(text, 10, 16); text != "" && err != nil {
		return fmt.Errorf("%q is no whole number of degrees", text)
	}
	return nil
}

func errorCodes(text string) error {
	for _, code := range strings.Fields(text) {
		if _, err := strconv.ParseUint(code, 16, 32); err != nil {
			return fmt.Errorf("%q is no code of hexadecimal digits", code)
		}
	}
	return nil
}

// FaultKinds returns every kind.
func FaultKinds() []FaultKind {
	var all []FaultKind
	for _, k := range faultKinds() {
		all = append(all, k.kind)
	}
	return all
}

// Fault is what is wrong with one card.
type Fault struct {
	Device string // empty for every card
	Kind   FaultKind
	Text   string // what the kind takes beside it, often empty
}

// Faults are those of a machine.
type Faults []Fault

const (
	hotCelsius = 105
	fullyBusy  = 0.97
)

// ParseFaults reads one fault a line: a card's number, which may be left out for
// all cards, the kind, and what that takes. "2 unhealthy Critical", "hot 98".
func ParseFaults(text string) (Faults, error) {
	var all Faults
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		f, err := parseFault(line)
		if err != nil {
			return nil, fmt.Errorf("reading the card fault %q: %w", line, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func parseFault(line string) (Fault, error) {
	var f Fault
	word, rest, _ := strings.Cut(line, " ")
	if word[0] >= '0' && word[0] <= '9' {
		f.Device = word
		word, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	f.Kind, f.Text = FaultKind(word), strings.TrimSpace(rest)
	kinds := faultKinds()
	i := slices.IndexFunc(kinds, func(k faultKind) bool { return k.kind == f.Kind })
	if i < 0 {
		return f, fmt.Errorf("no kind %q; there are %v", f.Kind, FaultKinds())
	}
	if err := kinds[i].takes(f.Text); err != nil {
		return f, err
	}
	if f.Kind == FaultUneven && f.Device == "" {
		return f, fmt.Errorf("%s needs the number of the card that works", f.Kind)
	}
	return f, nil
}

// Check fails when a fault names a card that the machine lacks: it would do
// nothing, and nobody would be told.
func (all Faults) Check(devices []model.Device) error {
	for _, f := range all {
		if f.Device != "" && !slices.ContainsFunc(devices, func(d model.Device) bool { return d.ID == f.Device }) {
			return fmt.Errorf("fault %s: there is no card %s", f.Kind, f.Device)
		}
	}
	return nil
}

// of finds the last fault of a kind that a card has.
func (all Faults) of(device string, kind FaultKind) (Fault, bool) {
	for _, f := range slices.Backward(all) {
		if f.Kind == kind && (f.Device == "" || f.Device == device) {
			return f, true
		}
	}
	return Fault{}, false
}

func (all Faults) has(device string, kind FaultKind) bool {
	_, ok := all.of(device, kind)
	return ok
}

// throttled reports whether a card is slower than it could be.
func (all Faults) throttled(device string) bool {
	return all.has(device, FaultHot) || all.has(device, FaultPowerCap)
}

// codes are the error codes of a card, none without the fault.
func (all Faults) codes(device string) []string {
	f, ok := all.of(device, FaultRAS)
	if !ok {
		return nil
	}
	return strings.Fields(strings.ToUpper(cmp.Or(f.Text, "80E18401")))
}

// health is what the tool says of a card: ok, unless it is unhealthy. The fault's
// text then takes the place of the reason, or of the state where a tool has none.
func (all Faults) health(device, ok string, bad model.Health) *model.Health {
	f, isBad := all.of(device, FaultUnhealthy)
	switch {
	case !isBad:
		return &model.Health{OK: true, State: ok}
	case bad.Reason != "":
		bad.Reason = cmp.Or(f.Text, bad.Reason)
	default:
		bad.State = cmp.Or(f.Text, bad.State)
	}
	return &bad
}

// shared is a card's part of work that a group of cards shares.
func (all Faults) shared(device string, busy float64) float64 {
	const waiting = 0.2
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Kind == FaultUneven })
	switch {
	case i < 0:
		return busy
	case all[i].Device == device:
		return fullyBusy
	}
	return busy * waiting
}

// busy is how much of a card is used when it would be busy without its faults.
func (all Faults) busy(device string, busy float64) float64 {
	switch {
	case all.has(device, FaultIdleHeld):
		return 0
	case all.has(device, FaultPowerCap):
		return fullyBusy
	}
	return busy
}

// held is what a card's process holds when it would hold some without its faults.
func (all Faults) held(device string, held float64, c card) float64 {
	const left = 40 // MiB that even a full card has
	switch {
	case all.has(device, FaultMemoryFull):
		return c.totalMiB - c.idleMiB - left
	case all.has(device, FaultIdleHeld):
		return max(held, c.modelMiB)
	}
	return held
}

// celsius is how hot a card is that would be so many degrees without its faults.
func (all Faults) celsius(device string, degrees float64) float64 {
	f, hot := all.of(device, FaultHot)
	if !hot {
		return degrees
	}
	if told, err := strconv.ParseFloat(f.Text, 64); err == nil {
		return told
	}
	return hotCelsius
}

// watts is what a card draws that would draw so much without its faults.
func (all Faults) watts(device string, watts float64, c card) float64 {
	if all.has(device, FaultPowerCap) && c.limitWatts > 0 {
		return c.limitWatts
	}
	return watts
}

// Available leaves out the cards that are not, as mx-smi's table does: only its
// list has them.
func Available(r model.Report) model.Report {
	return without(r, func(d *model.Device) bool { return d.Health != nil && !d.Health.OK })
}

// WithoutLast leaves out the last card, as when it fell off the bus.
func WithoutLast(r model.Report) model.Report {
	if len(r.Devices) == 0 {
		return r
	}
	last := r.Devices[len(r.Devices)-1].ID
	return without(r, func(d *model.Device) bool { return d.ID == last })
}

// without leaves out cards and what is on them.
func without(r model.Report, gone func(*model.Device) bool) model.Report {
	lost := map[string]bool{}
	r.Devices = slices.DeleteFunc(slices.Clone(r.Devices), func(d model.Device) bool {
		lost[d.ID] = gone(&d)
		return lost[d.ID]
	})
	r.Processes = slices.DeleteFunc(slices.Clone(r.Processes), func(p model.Process) bool { return lost[p.Device] })
	r.Slices = slices.DeleteFunc(slices.Clone(r.Slices), func(s model.Slice) bool { return lost[s.Device] })
	r.Announced = len(r.Devices)
	return r
}
