package boxtable

// Rules are how a box is drawn, as far as it was read, and whether the rule behind its
// last record was lost: then the next line may belong to another record. The zero value
// is a box that begins.
type Rules struct {
	drawn  Place
	closes bool // the last row ended a record, so that a rule is next
}

// Place is where a box was seen to have rules; one behind a record tells more.
type Place uint8

// The places.
const (
	nowhere Place = iota
	BelowHeader
	BehindRecord
)

// EndRecord notes that a row ended a record.
func (r *Rules) EndRecord() { r.closes = true }

// Met notes a rule.
func (r *Rules) Met() {
	r.drawn = max(r.drawn, BelowHeader)
	if r.closes {
		r.drawn, r.closes = BehindRecord, false
	}
}

// Left notes that the box is over, by text that stands outside of it.
func (r *Rules) Left() { r.closes = false }

// Lost reports whether the last record lacks its rule, in a box that was seen to have
// them at such a place. It tells of a record once.
func (r *Rules) Lost(place Place) bool {
	lost := r.closes && r.drawn >= place
	r.closes = false
	return lost
}
