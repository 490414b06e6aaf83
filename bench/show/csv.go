package show

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// CSV writes one row a step, as RFC 4180 has it, under a row of names with the
// units in them: _s, _ms, _rps (requests a second), _tok_s (tokens a second),
// _ratio (0 to 1). First the run and the load, then the account with a column
// for every reason of a failure, the rates and latencies of the whole step, the
// same names begun with steady_ for its steady part, and the checks. There is a
// column for each percentile that any step holds. A cell is empty where nothing
// is known. A text that a spreadsheet would take for a formula is begun with an
// apostrophe.
func CSV(w io.Writer, r *result.Report) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.UseCRLF = true
	run := firstRun(r)
	lines := make([][]string, 1+len(r.Steps))
	lines[0] = []string{"model", "dataset"}
	for i := range r.Steps {
		lines[1+i] = []string{csvText(run.Model), csvText(run.Dataset)}
	}
	window := windowAndLatencies(r)
	steady := make([]result.Column, len(window))
	for i, c := range window {
		steady[i] = steadily(c)
	}
	for _, c := range slices.Concat(result.StepColumns(), window, steady, result.CheckColumns()) {
		if c.NoCSV {
			continue
		}
		lines[0] = append(lines[0], c.Key)
		for i := range r.Steps {
			lines[1+i] = append(lines[1+i], csvCell(c, &r.Steps[i]))
		}
	}
	_ = c.WriteAll(lines) // into memory: it cannot fail
	_, err := b.WriteTo(w)
	return err
}

func windowAndLatencies(r *result.Report) []result.Column {
	columns, held := result.WindowColumns(), heldPercentiles(r)
	for _, m := range result.Measures() {
		if m.Kind != result.Length {
			columns = slices.Concat(columns, m.Columns(held))
		}
	}
	return columns
}

// csvCell is a column's value of a step.
func csvCell(c result.Column, s *result.Step) string {
	if c.Text != nil {
		return csvText(c.Text(s))
	}
	v, known := c.Value(s, &s.Whole)
	switch {
	case !known || !words.Known(v):
		return ""
	case c.Unit == result.Count:
		return words.Integer(v)
	case c.Unit == result.Milliseconds:
		v *= 1e3
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// csvText begins with an apostrophe what a spreadsheet would take for a formula; those of
// China and Japan take signs of full width for the plain ones.
func csvText(text string) string {
	text = words.Clean(text)
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@＝＋－＠", first) {
		return "'" + text
	}
	return text
}
