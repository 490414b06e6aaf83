package smitext_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// A user would notice a rule or a cut row that is taken for data.
func TestLinesTellRowsFromRulesTextAndCuts(t *testing.T) {
	for _, c := range []struct {
		line  string
		kind  smitext.Kind
		cells []string
	}{
		{"", smitext.LineText, nil},
		{"Attached GPUs : 3", smitext.LineText, nil},
		{"grep: a | b", smitext.LineText, nil},
		{"│ 0 │ a Unicode box │", smitext.LineText, nil},
		{"..", smitext.LineText, nil},
		{"+", smitext.LineText, nil},
		{"+----+----+", smitext.LineSeparator, nil},
		{"|====+====+", smitext.LineSeparator, nil},
		{"+-----------=+", smitext.LineSeparator, nil},
		{"+----+--", smitext.LineSeparator, nil},
		{" ......  ", smitext.LineSeparator, nil},
		{"…", smitext.LineSeparator, nil},
		{"| 0  A | OK |   \r", smitext.LineRow, []string{"0  A", "OK"}},
		{"   |\t0\tA\t|", smitext.LineRow, []string{"0\tA"}},
		{"| | x |  |", smitext.LineRow, []string{"", "x", ""}},
		{"||", smitext.LineRow, []string{""}},
		{"| - 1 |", smitext.LineRow, []string{"- 1"}},
		{"|", smitext.LineTorn, []string{""}},
		{"| 0  A | OK", smitext.LineTorn, []string{"0  A", "OK"}},
		{"| 0  A | OK |x", smitext.LineTorn, []string{"0  A", "OK", "x"}},
	} {
		for _, out := range []string{c.line + "\n", c.line} {
			var got []smitext.Line
			for l := range smitext.Lines([]byte(out)) {
				l.Cells = slices.Clone(l.Cells)
				got = append(got, l)
			}
			want := []smitext.Line{{Kind: c.kind, Text: strings.TrimSpace(c.line), Cells: c.cells}}
			if diff := cmp.Diff(want, got); diff != "" && out != "" {
				t.Errorf("%q: want (-) and got (+) differ:\n%s", out, diff)
			}
		}
	}
}

var (
	pair       = smitext.Field{Metric: "used", Total: "total", Unit: smitext.Bytes}
	limited    = smitext.Field{Metric: "watts", Limit: "limit", Unit: smitext.Watts}
	vocabulary = smitext.Vocabulary{
		{Text: "npu id", As: "npu"},
		{Text: "process id", As: smitext.PID},
		{Text: "process id in container"},
		{Text: "gpu memory", As: smitext.ProcessMemory},
		{Text: "memory-usage", Field: pair},
		{Text: "hbm-usage", Field: pair},
		{Text: "pwr:usage/cap", Field: limited},
		{Text: "temp", Field: smitext.Field{Metric: "celsius", Unit: smitext.Celsius}},
		{Text: "name", Phrase: true},
		{Text: smitext.ProcessName, Phrase: true},
	}
)

func TestHeadersAreWordsAndUnits(t *testing.T) {
	word := func(word, unit string) smitext.Column { return smitext.Column{Word: word, Unit: unit} }
	phrase := func(word string) smitext.Column { return smitext.Column{Word: word, Phrase: true} }
	for cell, want := range map[string][]smitext.Column{
		"":                        {},
		"Power(W)    Fan(C)":      {word("power", "W"), word("fan", "C")},
		"Power (W)  Fan ( C )":    {word("power", "W"), word("fan", "C")},
		"NPU Name":                {word("npu", ""), phrase("name")},
		"NPU ID":                  {word("npu", "")},
		"NPU IDs":                 {word("npu", ""), word("ids", "")},
		"Process id in container": {word("process id in container", "")},
		"GPU  PID  Process Name  GPU Memory": {
			word("gpu", ""), word("pid", ""), phrase("process name"), word("process memory", ""),
		},
		"Memory-Usage(MB)HBM-Usage(MB)": {
			{Word: "memory-usage", Unit: "MB", Field: &pair}, {Word: "hbm-usage", Unit: "MB", Field: &pair},
		},
		"Usage(MiB":          {word("usage", "MiB")},
		"Fan\tPwr:Usage/Cap": {word("fan", ""), {Word: "pwr:usage/cap", Field: &limited}},
		"(((":                {word("(", "(")},
	} {
		if diff := cmp.Diff(want, vocabulary.Header([]string{cell}).Columns); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", cell, diff)
		}
	}
}

// A user would notice a value under the next column's name: a cell that lacks
// one gives none.
func TestRecordGivesNoValueItCannotPlace(t *testing.T) {
	const none = "?"
	for _, c := range []struct{ header, row, word, want string }{
		{"Power(W) Temp(C)", "71.5  40", "temp", "40"},
		{"Power(W) Temp(C)", "40", "temp", none},
		{"Power(W) Temp(C)", "1 2 3", "power", none},
		{"Power(W) Temp(C)", "71.5  40", "fan", none},
		{"Bus-Id", "any text at all", "bus-id", "any text at all"},
		{"Bus-Id", "", "bus-id", ""},
		{"Temp Pwr:Usage/Cap Perf", "36C 69W / 350W P0", "pwr:usage/cap", "69W / 350W"},
		{"Temp Pwr:Usage/Cap Perf", "36 C 69 W / N/A P0", "pwr:usage/cap", "69 W / N/A"},
		{"Temp Pwr:Usage/Cap Perf", "36 C N/A P0", "pwr:usage/cap", "N/A"},
		{"Temp Pwr:Usage/Cap Perf", "36C 69W / P0", "temp", none},
		{"AICore(%) Memory-Usage(MB) HBM-Usage(MB)", "0 0    / 0 31859/ 32768", "hbm-usage", "31859/ 32768"},
		{"GPU NAME Persistence-M", "0 MetaX C500 Off", "name", "MetaX C500"},
		{"GPU NAME", "0 MXC550    B", "name", "MXC550 B"},
		{"GPU NAME Persistence-M", "0 Off", "name", ""},
		{"GPU PID Process Name GPU Memory", "0 7 a  b / c 12", "process name", "a b / c"},
		{"GPU PID Process Name GPU Memory", "0 7 C 12", "process name", "C"},
		{"GPU PID Process Name GPU Memory", "0 7 x 12 MiB", "process memory", "12 MiB"},
		{"GPU PID Process Name GPU Memory", "0 7 12", "process name", ""},
		{"NPU Name Health|Temp", "3 910 B|OK|40", "health", "OK"}, // a header that lost a bar
		{"NPU Name Health|Temp", "3 910 B|OK|40", "name", "910 B"},
		{"Chip Bus-Id|Temp", "3|0000:81:00.0|40", "temp", "40"},
		{"Chip Bus-Id|Temp", "3|0000:81:00.0|40 41", "temp", none},
		{"NPU Name|Health|Temp", "3 910 B|OK", "name", none}, // a row cut at a bar
	} {
		var r smitext.Record
		r.Read(vocabulary.Header(strings.Split(c.header, "|")), strings.Split(c.row, "|"))
		got, ok := r.Get(c.word)
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%q in %q under %q: got %q, want %q", c.word, c.row, c.header, got, c.want)
		}
	}
}

// A card's number stands first even where the value beside it is not printed.
func TestRecordIndex(t *testing.T) {
	for _, c := range []struct {
		cell, word, want string
	}{
		{"3 Off", "gpu", "3"}, {"3", "gpu", "3"}, {"3 Off on", "gpu", "3"}, {"x Off", "gpu", ""}, {"", "gpu", ""}, {"3", "persist-m", ""}, {"3", "fan", ""},
	} {
		var r smitext.Record
		r.Read(vocabulary.Header([]string{"GPU Persist-M", "Temp Perf"}), []string{c.cell, "40C P1"})
		if got, ok := r.Index(c.word); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q in %q: got %q, %v, want %q", c.word, c.cell, got, ok, c.want)
		}
	}
}

// A header of a hundred thousand words would cost as much again for every row under it.
func TestHeaderIsBounded(t *testing.T) {
	h := smitext.Vocabulary{}.Header([]string{strings.Repeat("a ", 100_000), "b"})
	if n := len(h.Columns); n != 64 {
		t.Errorf("%d columns", n)
	}
}

// Half a record would look like a card that tells less.
func TestTablesLeaveOutWhatIsNotWhole(t *testing.T) {
	const head = "| NPU Name | Health |\n| Chip Bus-Id | Temp(C) |\n"
	const processes = "| NPU PID Process Name GPU Memory(MB) |\n"
	for _, c := range []struct {
		name, out string
		want      []string // cards and processes
		warnings  int
	}{
		{"whole", head + "+--+\n| 0 A | OK |\n| 0 b0 | 40 |\n+--+\n| 1 A | OK |\n| 0 b1 | 41 |\n+--+\n", []string{"0 b0 40", "1 b1 41"}, 0},
		{"without rules", head + "| 0 A | OK |\n| 0 b0 | 40 |\n| 1 A | OK |\n| 0 b1 | 41 |", []string{"0 b0 40", "1 b1 41"}, 0},
		{"cut in a border", head + "| 0 A | OK |\n| 0 b0 | 40 |\n+-", []string{"0 b0 40"}, 0},
		{"cut in a row", head + "| 0 A | OK |\n| 0 b0 | 40 |\n| 1 A | OK |\n| 0 b1 | 4", []string{"0 b0 40"}, 2},
		{"cut at a bar", head + "| 0 A | OK |\n| 0 b0 | 40 |\n| 1 A | OK |\n| 0 b1 |", []string{"0 b0 40"}, 2},
		{"cut after a first row", head + "| 0 A | OK |\n| 0 b0 | 40 |\n| 1 A | OK |\n", []string{"0 b0 40"}, 1},
		{"a second row is missing", head + "| 0 A | OK |\n+--+\n| 1 A | OK |\n| 0 b1 | 41 |\n", []string{"1 b1 41"}, 1},
		{"a first row is missing", head + "| 0 b0 | 40 |\n| 1 A | OK |\n| 0 b1 | 41 |\n", []string{"1 b1 41"}, 1},
		{"no second header", "| NPU Name | Health |\n| 0 A | OK |\n| 0 b0 | 40 |\n", nil, 2},
		{"headers without their last bar", "| NPU Name | Health\n| Chip Bus-Id | Temp\n| 0 A | OK |\n| 0 b0 | 40 |\n", []string{"0 b0 40"}, 0},
		{"rows above and text between", "| hi |\nnoise\n" + head + "| 0 A | OK |\nnoise\n| 0 b0 | 40 |\n", []string{"hi", "noise", "noise", "0 b0 40"}, 0},
		{"processes", head + processes + "| 0 7 my prog 12 |\n| 0 8 NA |\n| 0 x y 5 |\n", []string{"7 my prog 12"}, 1},
		{"a unit of its own row", "| GPU PID GPU Memory |\n| Usage(MiB) |\n| 0 7 12 |", []string{"7  12"}, 0},
		{"a table that is passed over", head + "| Title: |\n| 0 A | OK |\n", nil, 0},
	} {
		var got []string
		var report model.Report
		process := func(r *smitext.Record) bool {
			p, known, err := r.Process()
			if known {
				got = append(got, p.PID+" "+p.Name+" "+strconv.Itoa(int(p.UsedBytes)>>20))
			}
			return err == nil
		}
		reader := smitext.TableReader{
			Words: vocabulary,
			Tables: []smitext.Table{
				{Header: []string{"npu", "health"}, Second: []string{"bus-id"}, Card: func(first, second *smitext.Record) bool {
					npu, _ := first.Get("npu")
					bus, _ := second.Get("bus-id")
					temp, ok := second.Get("temp")
					if ok = ok && strings.HasPrefix(bus, "b"); ok {
						got = append(got, npu+" "+bus+" "+temp)
					}
					return ok
				}},
				{Header: []string{"pid"}, Second: []string{"usage"}, Row: process},
				{Header: []string{"title:"}},
			},
			Outside: func(l smitext.Line) error {
				got = append(got, strings.Trim(l.Text, "| "))
				return nil
			},
			Report: &report,
		}
		if err := reader.Read([]byte(c.out)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || report.Warnings.Count != c.warnings {
			t.Errorf("%s: want (-) and got (+) differ:\n%s\nwarnings: %q", c.name, diff, report.Warnings.Texts)
		}
	}
}
