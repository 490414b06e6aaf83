package fakesmi

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Moment is a point in a machine's life. Its counters grow with both figures.
type Moment struct {
	At   time.Time `json:"at"`
	Busy float64   `json:"busy"` // seconds of full load since the machine began
}

// Life is what a machine has been through. It is kept between calls, so that what was
// counted stays counted when a fault is over.
type Life struct {
	Start    Moment    `json:"start"`
	Now      Moment    `json:"-"`
	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble is the times that a card had one kind of fault.
type Trouble struct {
	Device  string      `json:"device"`
	Kind    FaultKind   `json:"kind"`
	Times   int         `json:"times"`             // how often it began
	Seconds float64     `json:"seconds"`           // of the times that are over
	Busy    float64     `json:"busy"`              // seconds of full load in them
	Since   *Moment     `json:"since,omitempty"`   // while it lasts
	Changes []time.Time `json:"changes,omitempty"` // its last begins and ends, newest first
}

// changesKept is as many as hccn_tool tells.
const changesKept = 10

// Live brings a machine's life to now: the faults that its cards have begin, where
// they had not, and those that they had no more are over. It reports whether any did,
// or the life itself began.
func (l *Life) Live(now Moment, faults Faults, devices []model.Device) bool {
	changed := l.Start.At.IsZero()
	if changed {
		l.Start = now
	}
	l.Now = now
	for i := range devices {
		for _, kind := range FaultKinds() {
			changed = l.live(devices[i].ID, kind, faults.has(devices[i].ID, kind)) || changed
		}
	}
	return changed
}

// live begins or ends a trouble, and reports whether it did either.
func (l *Life) live(device string, kind FaultKind, has bool) bool {
	t := l.trouble(device, kind)
	switch {
	case has == (t != nil && t.Since != nil):
		return false
	case t == nil:
		l.Troubles = append(l.Troubles, Trouble{Device: device, Kind: kind})
		t = &l.Troubles[len(l.Troubles)-1]
	}
	if has {
		since := l.Now
		t.Times, t.Since = t.Times+1, &since
	} else {
		t.Seconds, t.Busy, t.Since = t.seconds(l.Now), t.busy(l.Now), nil
	}
	t.Changes = append([]time.Time{l.Now.At}, t.Changes...)
	t.Changes = t.Changes[:min(len(t.Changes), changesKept)]
	return true
}

// trouble finds the times that a card had a fault, nil when it never had it.
func (l *Life) trouble(device string, kind FaultKind) *Trouble {
	for i := range l.Troubles {
		if l.Troubles[i].Device == device && l.Troubles[i].Kind == kind {
			return &l.Troubles[i]
		}
	}
	return nil
}

// seconds is how long the trouble has lasted, all times together.
func (t *Trouble) seconds(now Moment) float64 {
	if t.Since == nil {
		return t.Seconds
	}
	return t.Seconds + max(0, now.At.Sub(t.Since.At).Seconds())
}

// busy is how much of that the machine was at work, in seconds of full load.
func (t *Trouble) busy(now Moment) float64 {
	if t.Since == nil {
		return t.Busy
	}
	return t.Busy + max(0, now.Busy-t.Since.Busy)
}

// rate is how fast something is counted.
type rate struct {
	perSecond, perBusySecond float64
}

// grown is a counter that grows all the time.
func (l *Life) grown(r rate) uint64 {
	return r.count(l.Now.At.Sub(l.Start.At).Seconds(), l.Now.Busy-l.Start.Busy)
}

// grownWithout is a counter that stands still while the card has a fault.
func (l *Life) grownWithout(device string, kind FaultKind, r rate) uint64 {
	seconds, busy := l.Now.At.Sub(l.Start.At).Seconds(), l.Now.Busy-l.Start.Busy
	if t := l.trouble(device, kind); t != nil {
		seconds, busy = seconds-t.seconds(l.Now), busy-t.busy(l.Now)
	}
	return r.count(seconds, busy)
}

// grownIn is a counter that grows while the card has a fault: by first at once, and
// then by so many a second.
func (l *Life) grownIn(device string, kind FaultKind, first, perSecond float64) uint64 {
	t := l.trouble(device, kind)
	if t == nil {
		return 0
	}
	return uint64(first*float64(t.Times) + perSecond*t.seconds(l.Now))
}

func (r rate) count(seconds, busy float64) uint64 {
	return uint64(max(0, r.perSecond*seconds) + max(0, r.perBusySecond*busy))
}
