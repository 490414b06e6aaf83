package show

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// CSV writes a row for each step under the keys of all columns, which end in their unit:
// _s, _ms, _rps (requests a second), _tok_s (tokens a second), _ratio (0 to 1). Keys
// that begin with steady_ are of the steady part. A cell is empty where nothing is known.
func CSV(w io.Writer, r *result.Report) error {
	columns := reportColumns(r)
	rows := make([][]string, 1+len(r.Steps))
	rows[0] = []string{"step"}
	for i := range r.Steps {
		rows[1+i] = []string{words.Clean(r.Steps[i].Name)}
	}
	for _, c := range columns {
		rows[0] = append(rows[0], c.Key)
		for i := range r.Steps {
			rows[1+i] = append(rows[1+i], csvText(c, c.Value(&r.Steps[i], &r.Steps[i].Whole)))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func csvText(c Column, v float64) string {
	if c.Unit == Milliseconds {
		v *= 1000
	}
	if !words.Known(v) {
		return ""
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// markdownEscape keeps text from outside from being a cell's end, a tag or a link.
var markdownEscape = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", `\<`, "[", `\[`, "`", "\\`", "*", `\*`, "_", `\_`, "#", `\#`)

// markdownRow is a line of a table, whose cells hold no tab.
func markdownRow(cells []string) string {
	return "| " + strings.ReplaceAll(markdownEscape.Replace(strings.Join(cells, "\t")), "\t", " | ") + " |"
}

// Markdown writes the tables over the steps, the warnings and the [Answer], to paste.
func Markdown(w io.Writer, r *result.Report) error {
	var l lines
	l.line("# %s", markdownEscape.Replace(title(r)))
	for _, t := range reportTables(r) {
		l.line("\n%s\n\n%s\n|%s", t.Caption, markdownRow(t.Head), strings.Repeat(" ---: |", len(t.Head)))
		for _, row := range t.Rows {
			l.line("%s", markdownRow(row))
		}
	}
	l.line("")
	for _, warning := range Warnings(r) {
		l.line("- %s", markdownEscape.Replace(warning.String(r)))
	}
	l.line("\n%s", markdownEscape.Replace(Answer(r)))
	return l.writeTo(w)
}
