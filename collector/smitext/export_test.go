package smitext

import "iter"

// Value is what one column of a row holds.
type Value struct {
	Column *Column
	Text   string // "" where the values of the cell do not fit its words
	Fits   bool
}

// Values yields one value a column, in order.
func (r *Record) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for i := range r.values {
			if !yield(Value{&r.header.Columns[i], r.values[i], r.fits[i]}) {
				return
			}
		}
	}
}

// Value reads one value in base units. Its unit stands behind the number, else it
// is headerUnit; without either, or out of range, it is not read.
func (u Unit) Value(text, headerUnit string) (float64, bool) {
	v, known, _ := u.parse(text, headerUnit)
	return v, known
}
