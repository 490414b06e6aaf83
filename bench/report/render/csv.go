package render

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// CSV writes one row a step, as RFC 4180 has it, under a row of names with the
// units in them: _s, _ms, _rps (requests a second), _tok_s (tokens a second),
// _ratio (0 to 1). First the run and the load, then the account with a column
// for every reason of a failure, the rates and latencies of the whole step, the
// same names begun with steady_ for its steady part, and the checks. There is a
// column for each percentile that any step holds. A cell is empty where nothing
// is known. A text that a spreadsheet would take for a formula is begun with an
// apostrophe.
func CSV(w io.Writer, r *report.Report) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.UseCRLF = true
	run := firstRun(r)
	names := []string{"model", "dataset"}
	rows := make([][]string, len(r.Steps))
	for i := range rows {
		rows[i] = []string{csvText(run.Model), csvText(run.Dataset)}
	}
	add := func(prefix string, columns []report.Column, of func(*report.Step) *report.Figures) {
		for _, c := range columns {
			if c.NoCSV {
				continue
			}
			names = append(names, prefix+c.Key)
			for i := range r.Steps {
				rows[i] = append(rows[i], csvCell(c, &r.Steps[i], of(&r.Steps[i])))
			}
		}
	}
	whole := func(s *report.Step) *report.Figures { return &s.Whole }
	window := windowAndLatencies(r)
	add("", report.StepColumns(), whole)
	add("", window, whole)
	add("steady_", window, func(s *report.Step) *report.Figures { return s.Steady })
	add("", report.CheckColumns(), whole)
	_ = c.WriteAll(append([][]string{names}, rows...)) // into memory: it cannot fail
	_, err := b.WriteTo(w)
	return err
}

func windowAndLatencies(r *report.Report) []report.Column {
	columns, held := report.WindowColumns(), heldPercentiles(r)
	for _, m := range report.Measures() {
		if m.Kind != report.Length {
			columns = slices.Concat(columns, m.Columns(held))
		}
	}
	return columns
}

// csvCell is a column's value in one window, which is nil where a step has no such.
func csvCell(c report.Column, s *report.Step, f *report.Figures) string {
	if c.Text != nil {
		return csvText(c.Text(s))
	}
	if f == nil {
		return ""
	}
	v, known := c.Value(s, f)
	switch {
	case !known || !words.Known(v):
		return ""
	case c.Unit == report.Count:
		return words.Integer(v)
	case c.Unit == report.Milliseconds:
		v *= 1e3
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

func csvText(text string) string {
	text = words.Clean(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
