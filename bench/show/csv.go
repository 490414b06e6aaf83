package show

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// CSV writes a row for each step under the keys of all columns, which end in their unit:
// _s, _ms, _rps (requests a second), _tok_s (tokens a second), _ratio (0 to 1). Keys
// that begin with steady_ are of the steady part. A cell is empty where nothing is known.
func CSV(w io.Writer, r *result.Report) error {
	rows := make([][]string, 1+len(r.Steps))
	rows[0] = []string{"step"}
	for _, c := range reportColumns(r) {
		rows[0] = append(rows[0], c.Key)
	}
	for i := range r.Steps {
		rows[1+i] = []string{clean(r.Steps[i].Name)}
		for _, c := range reportColumns(r) {
			cell, v := "", c.Value(&r.Steps[i], &r.Steps[i].Whole)*c.Unit.keyScale()
			if isKnown(v) {
				cell = strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
			}
			rows[1+i] = append(rows[1+i], cell)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// keyScale is from a value to the unit that its key ends in.
func (u Unit) keyScale() float64 {
	if u == Milliseconds {
		return u.Scale()
	}
	return 1
}
