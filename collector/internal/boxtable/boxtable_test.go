package boxtable_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

func lines(out string) []boxtable.Line {
	var all []boxtable.Line
	for l := range boxtable.Lines([]byte(out)) {
		l.Cells = slices.Clone(l.Cells)
		all = append(all, l)
	}
	return all
}

// A user would notice a rule or a cut row that is taken for data.
func TestLinesTellRowsFromRulesTextAndCuts(t *testing.T) {
	for _, c := range []struct {
		line  string
		kind  boxtable.Kind
		cells []string
	}{
		{"", boxtable.Text, nil},
		{"   ", boxtable.Text, nil},
		{"Attached GPUs : 3", boxtable.Text, nil},
		{"grep: a | b", boxtable.Text, nil},
		{"│ 0 │ a Unicode box │", boxtable.Text, nil},
		{"+----+----+", boxtable.Separator, nil},
		{"+====+====+", boxtable.Separator, nil},
		{"|----+----|", boxtable.Separator, nil},
		{"|====+====+", boxtable.Separator, nil},
		{"+-----------=+", boxtable.Separator, nil},
		{"+====+----+----+", boxtable.Separator, nil},
		{"====", boxtable.Separator, nil},
		{"...", boxtable.Separator, nil},
		{" ......  ", boxtable.Separator, nil},
		{"…", boxtable.Separator, nil},
		{". . .", boxtable.Separator, nil},
		{"..", boxtable.Text, nil},
		{"| 0  A | OK |", boxtable.Row, []string{"0  A", "OK"}},
		{"| 0  A | OK |   ", boxtable.Row, []string{"0  A", "OK"}},
		{"   | 0  A | OK |", boxtable.Row, []string{"0  A", "OK"}},
		{"|\t0\tA\t|", boxtable.Row, []string{"0\tA"}},
		{"| | x |  |", boxtable.Row, []string{"", "x", ""}},
		{"||", boxtable.Row, []string{""}},
		{"| - 1 |", boxtable.Row, []string{"- 1"}},
		{"| -   - | -  |", boxtable.Row, []string{"-   -", "-"}},
		{"|", boxtable.Torn, nil},
		{"| 0  A | OK", boxtable.Torn, nil},
		{"| 0  A | OK |x", boxtable.Torn, nil},
	} {
		dots := c.kind == boxtable.Separator && strings.ContainsAny(c.line, ".…")
		want := []boxtable.Line{{Kind: c.kind, Text: strings.TrimSpace(c.line), Cells: c.cells, Elided: dots}}
		if diff := cmp.Diff(want, lines(c.line+"\n")); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.line, diff)
		}
	}
}

func TestLinesEndInLFOrCRLFOrNot(t *testing.T) {
	want := []boxtable.Line{
		{Kind: boxtable.Row, Text: "| a |", Cells: []string{"a"}},
		{Kind: boxtable.Text},
		{Kind: boxtable.Row, Text: "| b |", Cells: []string{"b"}},
	}
	for _, out := range []string{"| a |\n\n| b |\n", "| a |\r\n\r\n| b |\r\n", "| a |\n\n| b |"} {
		if diff := cmp.Diff(want, lines(out)); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", out, diff)
		}
	}
}

func TestLinesStopWhenAsked(t *testing.T) {
	n := 0
	for range boxtable.Lines([]byte("a\nb\nc\n")) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("read %d lines after a break, want 1", n)
	}
}

func vocabulary() boxtable.Vocabulary {
	pair := printed.Field{Metric: "used", Total: "total", Unit: printed.Bytes}
	return boxtable.Vocabulary{
		{Text: "npu id"},
		{Text: "process id"},
		{Text: "process id in container"},
		{Text: "gpu memory"},
		{Text: "memory-usage", Field: pair},
		{Text: "hbm-usage", Field: pair},
		{Text: "pwr:usage/cap", Field: printed.Field{Metric: "watts", Limit: "limit", Unit: printed.Watts}},
		{Text: "name", Phrase: true},
		{Text: "process name", Phrase: true},
	}
}

func TestColumnsFindWordsAndUnits(t *testing.T) {
	scalar := func(word, unit string) boxtable.Column { return boxtable.Column{Word: word, Unit: unit} }
	pair, limit := &vocabulary()[4].Field, &vocabulary()[6].Field
	for _, c := range []struct {
		cell string
		want []boxtable.Column
	}{
		{"", nil},
		{"Power(W)    Temp(C)", []boxtable.Column{scalar("power", "W"), scalar("temp", "C")}},
		{"Power (W)  Temp ( C )", []boxtable.Column{scalar("power", "W"), scalar("temp", "C")}},
		{"NPU Name", []boxtable.Column{scalar("npu", ""), {Word: "name", Phrase: true}}},
		{"NPU ID", []boxtable.Column{scalar("npu id", "")}},
		{"NPU IDs", []boxtable.Column{scalar("npu", ""), scalar("ids", "")}},
		{"Process id", []boxtable.Column{scalar("process id", "")}},
		{"Process id in container", []boxtable.Column{scalar("process id in container", "")}},
		{"GPU  PID  Process Name  GPU Memory", []boxtable.Column{
			scalar("gpu", ""), scalar("pid", ""), {Word: "process name", Phrase: true}, scalar("gpu memory", ""),
		}},
		{"Memory-Usage(MB)HBM-Usage(MB)", []boxtable.Column{
			{Word: "memory-usage", Unit: "MB", Field: pair}, {Word: "hbm-usage", Unit: "MB", Field: pair},
		}},
		{"Usage(MiB", []boxtable.Column{scalar("usage", "MiB")}},
		{"(MiB)", []boxtable.Column{scalar("(mib)", "")}},
		{"Temp\tPwr:Usage/Cap", []boxtable.Column{scalar("temp", ""), {Word: "pwr:usage/cap", Field: limit}}},
		{"(((", []boxtable.Column{scalar("(", "(")}},
	} {
		if diff := cmp.Diff(c.want, vocabulary().Columns(c.cell)); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.cell, diff)
		}
	}
}

func TestHeaderFindsWords(t *testing.T) {
	h := vocabulary().Header([]string{"NPU Name", "", "Power(W) Temp(C)"})
	for word, want := range map[string]int{"npu": 0, "name": 1, "power": 2, "temp": 3, "hbm": -1, "": -1} {
		if got := h.Find(word); got != want || h.Has(word) != (want >= 0) {
			t.Errorf("Find(%q) = %d, want %d", word, got, want)
		}
	}
	var none *boxtable.Header
	if none.Has("npu") {
		t.Error("a header that is not there has a word")
	}
}

// A user would notice a value under the next column's name: a cell that lacks
// one gives none.
func TestRecordGivesNoValueItCannotPlace(t *testing.T) {
	type value struct {
		text string
		fits bool
	}
	for _, c := range []struct {
		header, cell string
		word         string
		want         value
	}{
		{"Power(W) Temp(C)", "71.5  40", "temp", value{"40", true}},
		{"Power(W) Temp(C)", "40", "temp", value{"", false}},
		{"Power(W) Temp(C)", "1 2 3", "power", value{"", false}},
		{"Power(W) Temp(C)", "", "power", value{"", false}},
		{"Power(W) Temp(C)", "71.5  40", "fan", value{"", false}},
		{"Bus-Id", "any text at all", "bus-id", value{"any text at all", true}},
		{"Bus-Id", "", "bus-id", value{"", true}},
		{"Temp Pwr:Usage/Cap Perf", "36C 69W / 350W P0", "pwr:usage/cap", value{"69W / 350W", true}},
		{"Temp Pwr:Usage/Cap Perf", "36C 69W/350W P0", "perf", value{"P0", true}},
		{"Temp Pwr:Usage/Cap Perf", "36 C 69 W / N/A P0", "pwr:usage/cap", value{"69 W / N/A", true}},
		{"Temp Pwr:Usage/Cap Perf", "36 C N/A P0", "pwr:usage/cap", value{"N/A", true}},
		{"Temp Pwr:Usage/Cap Perf", "36C 69W / P0", "temp", value{"", false}},
		{"AICore(%) Memory-Usage(MB) HBM-Usage(MB)", "0 0    / 0 31859/ 32768", "hbm-usage", value{"31859/ 32768", true}},
		{"AICore(%) Memory-Usage(MB) HBM-Usage(MB)", "0 1 /2 3/4", "memory-usage", value{"1 /2", true}},
		{"GPU NAME Persistence-M", "0 MetaX C500 Off", "name", value{"MetaX C500", true}},
		{"GPU NAME", "0 MXC550    B", "name", value{"MXC550 B", true}},
		{"GPU NAME Persistence-M", "0 Off", "name", value{"", true}},
		{"GPU NAME Persistence-M", "0", "gpu", value{"", false}},
		{"GPU PID Process Name GPU Memory", "0 7 a  b / c 12", "process name", value{"a b / c", true}},
		{"GPU PID Process Name GPU Memory", "0 7 C 12", "process name", value{"C", true}},
		{"GPU PID Process Name GPU Memory", "0 7 x 12 MiB", "gpu memory", value{"12 MiB", true}},
		{"GPU PID Process Name GPU Memory", "0 7 12", "process name", value{"", true}},
	} {
		var r boxtable.Record
		if !r.Read(vocabulary().Header([]string{c.header}), []string{c.cell}) {
			t.Errorf("%q under %q: not read", c.cell, c.header)
			continue
		}
		text, fits := r.Get(c.word)
		if got := (value{text, fits}); got != c.want {
			t.Errorf("%q in %q under %q: got %+v, want %+v", c.word, c.cell, c.header, got, c.want)
		}
	}
}

func TestRecordLeadsWithTheFirstValue(t *testing.T) {
	h := vocabulary().Header([]string{"GPU Persist-M", "Temp Perf"})
	for _, c := range []struct{ cell, word, want string }{
		{"3 Off", "gpu", "3"},
		{"3", "gpu", "3"},
		{"3 Off on", "gpu", "3"},
		{"", "gpu", ""},
		{"3", "persist-m", ""},
		{"3 Off", "persist-m", "Off"},
		{"3", "fan", ""},
	} {
		var r boxtable.Record
		if !r.Read(h, []string{c.cell, "40C P1"}) {
			t.Fatal("not read")
		}
		if got, ok := r.Lead(c.word); got != c.want || ok != (c.want != "") {
			t.Errorf("%q in %q: got %q, %v, want %q", c.word, c.cell, got, ok, c.want)
		}
	}
}

func TestRecordRefusesOtherCellsThanTheHeader(t *testing.T) {
	h := vocabulary().Header([]string{"NPU Name", "Power(W)"})
	var r boxtable.Record
	if !r.Read(h, []string{"0 910B", "7"}) {
		t.Fatal("a row like the header is refused")
	}
	for _, cells := range [][]string{{"0 910B"}, {"0 910B", "7", "8"}, nil} {
		if r.Read(h, cells) {
			t.Errorf("%q is read under two cells", cells)
		}
		if v, ok := r.Get("npu"); ok {
			t.Errorf("after %q the row before it still answers %q", cells, v)
		}
	}
	if r.Read(nil, []string{"x"}) {
		t.Error("a row without a header is read")
	}
}

func TestRecordYieldsEveryColumn(t *testing.T) {
	var r boxtable.Record
	h := vocabulary().Header([]string{"NPU Name", "", "Power(W) Temp(C)"})
	if !r.Read(h, []string{"0 A B", "stray", "NA"}) {
		t.Fatal("not read")
	}
	var got []boxtable.Value
	for v := range r.Values() {
		got = append(got, v)
	}
	want := []boxtable.Value{
		{Column: &h.Columns[0], Text: "0", Cell: "0 A B", First: true, Fits: true},
		{Column: &h.Columns[1], Text: "A B", Cell: "0 A B", Fits: true},
		{Column: &h.Columns[2], Cell: "NA", First: true},
		{Column: &h.Columns[3], Cell: "NA"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
	if got := r.Cell("temp"); got != "NA" {
		t.Errorf("the cell of temp is %q, want NA", got)
	}
	for range r.Values() {
		break
	}
}

func TestTokens(t *testing.T) {
	for cell, want := range map[string][]string{
		"":                   nil,
		"36C 69W / 350W":     {"36C", "69W / 350W"},
		"36 C  P0":           {"36 C", "P0"},
		"C 36":               {"C", "36"},
		"/ 5":                {"/ 5"},
		"5 /":                {"5 /"},
		"1 / 2 MiB":          {"1 / 2 MiB"},
		"97W / N/A":          {"97W / N/A"},
		"N/A 5":              {"N/A", "5"},
		"40 % 41 C":          {"40 %", "41 C"},
		"a\u00a0b":           {"a", "b"},
		"1   /   2   3/ 4 5": {"1   /   2", "3/ 4", "5"},
	} {
		if diff := cmp.Diff(want, boxtable.Tokens(cell)); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", cell, diff)
		}
	}
}

// A header of a hundred thousand words would cost as much again for every row under it.
func TestHeaderIsBounded(t *testing.T) {
	h := boxtable.Vocabulary{}.Header([]string{strings.Repeat("a ", 100_000), "b"})
	var r boxtable.Record
	if n := len(h.Columns); n != 64 || !r.Read(h, []string{"1", "2"}) {
		t.Errorf("%d columns", n)
	}
}

// A number from which a digit was lost is a wrong number: the row is shorter than
// its box. Where no row of a box is as long as its rule, somebody drew it by hand.
func TestRowsThatLostAPart(t *testing.T) {
	const rule, row, short, long = "+-----+\n", "| 123 |\n", "| 12 |\n", "| 12345678 |\n"
	for _, c := range []struct {
		name, out string
		damaged   []int // lines
	}{
		{"a short row", rule + row + rule + short + row, []int{3}},
		{"several", rule + row + short + rule + short, []int{2, 4}},
		{"a long one has a long value", rule + row + long + row, nil},
		{"the first row says nothing: it may be a title", rule + short + row + rule + short, []int{4}},
		{"no row fits", rule + short + rule + short + long + short, nil},
		{"no rule", row + short, nil},
		{"another box, behind two rules", rule + row + rule + rule + short + rule + short, nil},
		{"another box, behind a blank line", rule + row + rule + "\n" + short, nil},
		{"another rule", rule + row + "+--------+\n" + row, nil},
		{"dots are no rule", rule + row + "...\n" + short, []int{3}},
	} {
		var damaged []int
		for i, line := range lines(c.out) {
			if line.Damaged {
				damaged = append(damaged, i)
			}
		}
		if diff := cmp.Diff(c.damaged, damaged); diff != "" {
			t.Errorf("%s: damaged lines, wanted (-) and got (+):\n%s", c.name, diff)
		}
	}
}
