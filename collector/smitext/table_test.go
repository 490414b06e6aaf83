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

var tableRows = smitext.Rows{
	{Word: "npu id", As: "npu"},
	{Word: "process id", As: smitext.PID},
	{Word: "process id in container"},
	{Word: "gpu memory", As: smitext.ProcessMemory},
	{Word: "memory-usage", Metric: "used", Total: "total", Form: smitext.FormUsage, Unit: smitext.Bytes},
	{Word: "hbm-usage", Metric: "used", Total: "total", Form: smitext.FormUsage, Unit: smitext.Bytes},
	{Word: "pwr:usage/cap", Metric: "watts", Total: "limit", Form: smitext.FormLimit, Unit: smitext.Watts},
	{Word: "temp", Metric: "celsius", Unit: smitext.Celsius},
	{Word: "name", Form: smitext.FormPhrase},
	{Word: smitext.ProcessName, Form: smitext.FormPhrase},
}

func TestHeadersAreWordsAndUnits(t *testing.T) {
	for cell, want := range map[string][]string{
		"":                                   nil,
		"Power(W)    Fan(C)":                 {"power W", "fan C"},
		"Power (W)  Fan ( C )":               {"power W", "fan C"},
		"NPU Name":                           {"npu ", "name "},
		"NPU ID":                             {"npu "},
		"NPU IDs":                            {"npu ", "ids "},
		"Process id in container":            {"process id in container "},
		"GPU  PID  Process Name  GPU Memory": {"gpu ", "pid ", "process name ", "process memory "},
		"Memory-Usage(MB)HBM-Usage(MB)":      {"memory-usage MB", "hbm-usage MB"},
		"Usage(MiB":                          {"usage MiB"},
		"Fan\tPwr:Usage/Cap":                 {"fan ", "pwr:usage/cap "},
		"(((":                                {"( ("},
	} {
		var got []string
		for _, c := range tableRows.Header([]string{cell})[0] {
			got = append(got, c.Word+" "+c.Unit)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", cell, diff)
		}
	}
}

// A user would notice a value under the next column's name: a cell that lacks
// one gives none.
func TestBlockHasNoValueThatItCannotPlace(t *testing.T) {
	const none = "?"
	for _, c := range []struct{ header, row, word, want string }{
		{"Power(W) Temp(C)", "71.5  40", "temp", "40"},
		{"Power(W) Temp(C)", "40", "temp", none},
		{"GPU Persist-M", "3", "gpu", "3"}, // a card's number stands first
		{"GPU Persist-M", "3", "persist-m", none},
		{"GPU Persist-M", "3 Off on", "gpu", "3"},
		{"Temp(C) Power(W)", "1 2 3", "temp", none},
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
		b := tableRows.Header(strings.Split(c.header, "|")).Block(strings.Split(c.row, "|"))
		got := none
		if e := b.Find(c.word); e != nil {
			got = e.Value
		}
		if got != c.want {
			t.Errorf("%q in %q under %q: got %q, want %q", c.word, c.row, c.header, got, c.want)
		}
	}
}

// A header of a hundred thousand words would cost as much again for every row under it.
func TestHeaderIsBounded(t *testing.T) {
	h := smitext.Rows{}.Header([]string{strings.Repeat("a ", 100_000), "b"})
	if n := len(slices.Concat(h...)); n != 64 {
		t.Errorf("%d columns", n)
	}
}

// Half a record would look like a card that tells less.
func TestTablesLeaveOutWhatIsNotWhole(t *testing.T) {
	const head = "| NPU Name | Health |\n| Chip Bus-Id | Temp(C) |\n"
	const third = head + "| | L3 |\n"
	const processes = "| NPU PID Process Name GPU Memory(MB) |\n"
	for _, c := range []struct {
		name, out string
		want      []string // cards and processes
		warnings  int
	}{
		{"whole", head + "+--+\n| 0 A | OK |\n| 0 b0 | 40 |\n+--+\n| 1 A | OK |\n| 0 b1 | 41 |\n+--+\n", []string{"0 b0 40", "1 b1 41"}, 0},
		{"without rules", head + "| 0 A | OK |\n| 0 b0 | 40 |\n| 1 A | OK |\n| 0 b1 | 41 |", []string{"0 b0 40", "1 b1 41"}, 0},
		{"a third row", third + "+--+\n| 0 A | OK |\n| 0 b0 | 40 |\n|     | 5 |\n+--+\n| 1 A | OK |\n| 0 b1 | 41 |\n", []string{"0 b0 40", "1 b1 41"}, 0},
		{"a third row in place of the second", third + "| 0 A | OK |\n|     | 5 |\n", nil, 2},
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
		process := func(b *smitext.Block) bool {
			p, known, err := b.Process()
			if known {
				got = append(got, p.PID+" "+p.Name+" "+strconv.Itoa(int(p.UsedBytes)>>20))
			}
			return err == nil
		}
		reader := smitext.TableReader{
			Words: tableRows,
			Tables: []smitext.Table{
				{Header: []string{"npu", "health"}, Second: []string{"bus-id"}, Third: []string{"l3"}, Card: func(b *smitext.Block) bool {
					isCard := strings.HasPrefix(b.Value("bus-id"), "b")
					if isCard {
						got = append(got, b.Value("npu")+" "+b.Value("bus-id")+" "+b.Value("temp"))
					}
					return isCard
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
