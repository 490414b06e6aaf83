package smitext_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

func firstCard(*smitext.Block, []model.Device) int { return 0 }

// read is what rows read of one card's text, a line a reading: "m{a,b} 1", then the warnings.
func read(t *testing.T, text string, rows ...smitext.Row) []string {
	t.Helper()
	report, err := smitext.Rows(rows).ReadCards(smitext.ReadKeyValues([]byte(text)), firstCard, []model.Device{{ID: "0"}})
	if err != nil {
		return []string{"refused"}
	}
	var lines []string
	for _, r := range report.Devices[0].Readings {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", r.Metric, strings.Join(r.Labels, ","), r.Value))
	}
	for _, w := range report.Warnings.Texts {
		lines = append(lines, strings.TrimPrefix(w, "card 0: cannot read "))
	}
	return lines
}

// A user would notice a 0 that no tool printed.
func TestMissingIsAbsent(t *testing.T) {
	number := smitext.Row{Word: "k", Metric: "m", Unit: smitext.Celsius}
	for _, none := range []string{
		"", "NA", "N/A", "-", "--", "Unknown!", "unknown", "not supported", "Not Support", "get failed", "Failed", "NA C", "- C",
	} {
		if got := read(t, "k (C) : "+none+"\n", number); len(got) > 0 {
			t.Errorf("%q gives %q", none, got)
		}
	}
	want := []string{`k from "the query is not known to this card": no number`}
	if diff := cmp.Diff(want, read(t, "k (C) : the query is not known to this card\n", number)); diff != "" {
		t.Errorf("a sentence: want (-) and got (+) differ:\n%s", diff)
	}
	if got := read(t, "other : 1\n", number); !slices.Equal(got, []string{"refused"}) {
		t.Errorf("a missing word gives %q", got)
	}
}

func TestForms(t *testing.T) {
	words := map[string]float64{"active": 1, "not active": 0, "init": math.NaN()}
	row := func(form smitext.Form, labels ...string) smitext.Row {
		return smitext.Row{Word: "k", Metric: "m", Labels: labels, Form: form}
	}
	count, state, list, codes := row(smitext.FormNumber), row(smitext.FormText, "*"), row(smitext.FormList, "*", "x"), row(smitext.FormCodes, "*")
	whole, word, oneWord, natural, signed := count, count, state, count, count
	whole.Word, whole.Labels = "*", []string{"*"}
	word.Words, oneWord.Words = words, words
	natural.NotZero, signed.Underflow = true, true
	pages := smitext.Row{Word: "k", Metric: "m", Unit: smitext.Pages, Symbol: "page"}
	for _, c := range []struct {
		row   smitext.Row
		value string
		want  []string
	}{
		{count, "12", []string{"m{} 12"}},
		{count, "9223372036854775808", []string{"m{} 9.223372036854776e+18"}},
		{count, "18446744073709551616", []string{`k from "18446744073709551616": no number`}},
		{signed, "9223372036854770000", []string{"m{} 9.22337203685477e+18"}},
		{signed, "18446744073709551615", []string{`k from "18446744073709551615": beyond what a machine can have`}},
		{count, "-1", []string{`k from "-1": no number`}},
		{count, "1.5", []string{`k from "1.5": no number`}},
		{natural, "0", nil},
		{pages, "3", []string{"m{} 3"}},
		{pages, "4294967294", nil},
		{word, "Active", []string{"m{} 1"}},
		{word, "Not Active", []string{"m{} 0"}},
		{word, "Init", nil},
		{word, "Inactive", []string{`k from "Inactive": no known word`}},
		{state, "as printed", []string{"m{as printed} 1"}},
		{state, "NA", nil},
		{state, "a\u202eb", []string{`k from "a\u202eb": too long for a label, or not printable`}},
		{state, strings.Repeat("x", 65), []string{`k from "` + strings.Repeat("x", 40) + `": too long for a label, or not printable`}},
		{oneWord, "Init", []string{"m{Init} 1"}},
		{oneWord, "Initial", []string{`k from "Initial": no known word`}},
		{list, "[4   NA  0 ]", []string{"m{1,x} 4", "m{3,x} 0"}},
		{list, "[4 x 0]", []string{"m{1,x} 4", "m{3,x} 0", `k from "[4 x 0]": no number`}},
		{list, "[4 2", []string{`k from "[4 2": of another form`}},
		{codes, "80e0 A4025021", []string{"m{80E0} 1", "m{A4025021} 1"}},
		{codes, "80E0 none", []string{`k from "80E0 none": of another form`}},
		{codes, "NA", nil},
		{whole, "0xff3000", []string{"m{k} 1.6723968e+07"}},
		{whole, "ff3000", nil}, // of what is read whatever its name, nothing is expected
	} {
		if diff := cmp.Diff(c.want, read(t, "k : "+c.value+"\n", c.row)); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.value, diff)
		}
	}
}

// A user would notice memory that nobody uses, or more of it than the card has.
func TestPairs(t *testing.T) {
	memory := smitext.Row{Word: "k", Metric: "used", Total: "total", Form: smitext.FormUsage, Unit: smitext.Bytes}
	pages, power := memory, memory
	pages.Unit, power.Unit, power.Form = smitext.Pages, smitext.Watts, smitext.FormLimit
	above, lanes := memory, memory
	above.MayExceed, lanes.Unit = true, smitext.Lanes
	const noUnit, beyond, noNumber = "no unit, or another one", "beyond what a machine can have", "no number"
	for _, c := range []struct {
		row         smitext.Row
		text, unit  string
		used, total float64 // -1 for none
		why         string  // it cannot be read
	}{
		{power, "69W / 350W", "", 69, 350, ""},
		{power, "450W/350W", "", 450, 350, ""},
		{power, "97W / N/A", "", 97, -1, ""},
		{power, "97W", "", 97, -1, ""},
		{power, "N/A / 350W", "", -1, 350, ""},
		{power, "70W / 0W", "", 70, -1, ""},
		{power, "201 / 350", "", -1, -1, noUnit},
		{power, "much / 350W", "", -1, 350, noNumber},

		{memory, "5680/65536 KiB", "", 5680 << 10, 65536 << 10, ""},
		{memory, "5680/65536KiB", "", 5680 << 10, 65536 << 10, ""},
		{memory, "5680 KiB / 64 MiB", "", 5680 << 10, 64 << 20, ""},
		{memory, "31859/ 32768", "B", 31859, 32768, ""},
		{memory, "0    / 32768", "B", 0, 32768, ""},
		{pages, "15   / 15", "page", 15, 15, ""},
		{memory, "3 / 4", "", -1, -1, noUnit},
		{memory, "0    / 0", "B", -1, -1, ""},
		{memory, "7    / 0", "B", -1, -1, ""},
		{memory, "NA", "B", -1, -1, ""},
		{memory, "N/A", "B", -1, -1, ""},
		{memory, "", "B", -1, -1, ""},
		{memory, "NA / 44280", "B", -1, 44280, ""},
		{memory, "N/A / 44280", "B", -1, 44280, ""},
		{memory, "- / 44280", "B", -1, 44280, ""},
		{memory, "/ 44280", "B", -1, 44280, ""},
		{memory, "5680/NA B", "", 5680, -1, ""},
		{memory, "5680 / N/A", "B", 5680, -1, ""},
		{memory, "NA/NA MiB", "", -1, -1, ""},
		{memory, "n/a/n/a", "B", -1, -1, ""},
		{memory, "NA/65536 B", "", -1, 65536, ""},
		{memory, "-24 / 32768", "B", -1, 32768, beyond},
		{memory, "32769/ 32768", "B", -1, 32768, "used is more than the total"},
		{memory, "18446744073709551592 / 32768", "B", -1, 32768, beyond},
		{memory, "x / 32768", "B", -1, 32768, noNumber},
		{pages, "1 / 18446744073709551615", "page", -1, -1, beyond},
		{memory, "1 / -4", "B", -1, -1, beyond},
		{memory, "1 / 4 TB", "", -1, -1, noUnit},
		{memory, "1/2/3", "B", -1, -1, noNumber},
		{memory, "12345", "B", -1, -1, "no pair with a slash"},
		{memory, "2MiB(16MiB)", "", 2 << 20, 16 << 20, ""},
		{memory, "17MiB(16MiB)", "", -1, 16 << 20, "used is more than the total"},
		{above, "17MiB(16MiB)", "", 17 << 20, 16 << 20, ""},
		{above, "0MiB(0MiB)", "", -1, -1, ""},
		{above, "N/A(16MiB)", "", -1, 16 << 20, ""},
		{above, "2MiB(16", "", -1, -1, "no pair with a slash"},
		{lanes, "4x(16x)", "", 4, 16, ""},
	} {
		var want []string
		if c.used >= 0 {
			want = append(want, fmt.Sprintf("used{} %v", c.used))
		}
		if c.total >= 0 {
			want = append(want, fmt.Sprintf("total{} %v", c.total))
		}
		if c.why != "" {
			want = append(want, fmt.Sprintf("k from %q: %s", c.text, c.why))
		}
		if diff := cmp.Diff(want, read(t, "k ("+c.unit+") : "+c.text+"\n", c.row)); diff != "" {
			t.Errorf("%q (%s): want (-) and got (+) differ:\n%s", c.text, c.unit, diff)
		}
	}
}

// A user would notice the value of one place, lane or card at another.
func TestRows(t *testing.T) {
	row := func(word string, labels ...string) smitext.Row {
		return smitext.Row{Word: word, Metric: "m", Labels: labels}
	}
	lost := smitext.Row{Word: "los", Metric: "lost", Labels: []string{"*"}, Form: smitext.FormBits, Lanes: "power*"}
	used := smitext.Row{Word: "used", Metric: "u", Within: "t"}
	total := smitext.Row{Word: "total", Metric: "t", NotZero: true}
	pair := smitext.Row{Word: "pair", Metric: "u", Total: "t", Form: smitext.FormUsage, Unit: smitext.Pages, Symbol: "page"}
	mcu := row("*", "*")
	mcu.MCU = true
	for name, c := range map[string]struct {
		rows []smitext.Row
		text string
		want []string
	}{
		"a number in the word":   {[]smitext.Row{row("way *", "way*")}, "way 0 : 1\nway 12 : 2\nway 07 : 3\nway 100 : 4\nway x : 5\nway : 6\n", []string{"m{way0} 1", "m{way12} 2"}},
		"the titles":             {[]smitext.Row{row("a > b > k")}, "A\n B\n  k : 1\n C\n  k : 2\nk : 3\n", []string{"m{} 1"}},
		"any titles":             {[]smitext.Row{row("k")}, "A\n k : 1\n", []string{"m{} 1"}},
		"the first row holds":    {[]smitext.Row{row("b"), row("a")}, "a : 1\nb : 2\n", []string{"m{} 2"}},
		"the second row":         {[]smitext.Row{row("b"), row("a")}, "a : 1\nb : NA\n", []string{"m{} 1"}},
		"the first value holds":  {[]smitext.Row{row("a")}, "a : 1\na : 2\n", []string{"m{} 1"}},
		"beside":                 {[]smitext.Row{row("a", "{id}", "x")}, "a : 1\nid : 7\n", []string{"m{7,x} 1"}},
		"nothing beside":         {[]smitext.Row{row("a", "{id}", "x")}, "a : 1\n", []string{"m{,x} 1"}},
		"bits":                   {[]smitext.Row{lost}, "power0 : 1\npower1 : NA\npower3 : 1\nlos : 0x9\n", []string{"lost{0} 1", "lost{3} 1"}},
		"used of a total":        {[]smitext.Row{total, used}, "used : 3\ntotal : 4\n", []string{"t{} 4", "u{} 3"}},
		"more than the total":    {[]smitext.Row{total, used}, "used : 5\ntotal : 4\n", []string{"t{} 4"}},
		"a total of 0":           {[]smitext.Row{total, used}, "used : 0\ntotal : 0\n", nil},
		"without a total":        {[]smitext.Row{total, used}, "used : 1\n", nil},
		"half of two pairs":      {[]smitext.Row{total, pair}, "total : 20\npair : 30 / 40\n", []string{"t{} 20"}},
		"a word without metric":  {[]smitext.Row{{Word: "a"}}, "a : 1\n", nil},
		"the board's controller": {[]smitext.Row{mcu, row("t", "chip")}, "t : 1\nChip ID : 0\nt : 2\nT_B-1 x : 3\no/d : 4\nChip Name : mcu\n", []string{"m{chip} 1", "m{t} 2", "m{t_b_1_x} 3"}},
	} {
		if diff := cmp.Diff(c.want, read(t, c.text, c.rows...)); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

// An answer about another card than the one asked for is nobody's, and a row for some
// chips is not for the others.
func TestOwner(t *testing.T) {
	cards := []model.Device{{ID: "a", Chip: "0"}, {ID: "b", Chip: "1"}}
	owner := func(b *smitext.Block, _ []model.Device) int {
		return slices.IndexFunc(cards, func(d model.Device) bool { return d.Chip == b.Chip })
	}
	rows := smitext.Rows{{Word: "k", Metric: "m", Applies: func(d *model.Device) bool { return d.ID == "b" }}}
	for text, want := range map[string]string{
		"Chip ID : 0\nk : 1\nChip ID : 1\nk : 2\nChip ID : 5\nk : 3\n": "b[{m [] 2}] <nil>",
		"Chip ID : 0\nk : 1\n": " nothing in the output is about the cards that were asked for",
	} {
		report, err := rows.ReadCards(smitext.ReadKeyValues([]byte(text)), owner, cards)
		var got string
		for _, d := range report.Devices {
			got += fmt.Sprint(d.ID, d.Readings)
		}
		if got = fmt.Sprint(got, " ", err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err != nil && failure.ReasonOf(err) != failure.Parse {
			t.Errorf("%v has the class %s", err, failure.ReasonOf(err))
		}
	}
}

// A text of a megabyte must not become a megabyte of series, or of log lines.
func TestReadingsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("Chip ID : 0\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "chip %d : %d\n", i, i)
		fmt.Fprintf(&text, "k%d : ?\n", i%100)
		if i%100 == 99 {
			text.WriteString("Chip ID : 0\n")
		}
	}
	rows := smitext.Rows{{Word: "*", Metric: "m", Labels: []string{"*"}}, {Word: "k*", Metric: "k", Labels: []string{"*"}}}
	report, err := rows.ReadCards(smitext.ReadKeyValues([]byte(text.String())), firstCard, []model.Device{{ID: "0"}})
	if err != nil || len(report.Devices[0].Readings) != 512 || len(report.Warnings.Texts) != 20 {
		t.Errorf("%v, %d readings, %d warnings", err, len(report.Devices[0].Readings), len(report.Warnings.Texts))
	}
}

// FuzzRow holds that a pair's parts are non-negative and within their total, whatever the text, and nothing else is read.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{"1/2", "0    / 0", "NA / 5 MiB", "N/A/N/A", "-3 / 4", "18446744073709551615 / 4", "9 GiB / 1 KiB", "/", "1 / 2 / 3", "71W / 350W", "36 %", "P9", "-5 C"} {
		f.Add(seed, "MB", uint8(smitext.Bytes))
		f.Add(seed, "", uint8(smitext.Watts))
	}
	f.Fuzz(func(t *testing.T, text, unit string, u uint8) {
		for _, row := range []smitext.Row{
			{Word: "k", Metric: "value", Unit: smitext.Unit(u)},
			{Word: "k", Metric: "value", Total: "total", Form: smitext.FormUsage, Unit: smitext.Unit(u)},
			{Word: "k", Metric: "value", Total: "total", Form: smitext.FormLimit, Unit: smitext.Unit(u)},
		} {
			var rs model.Readings
			var err error
			b := smitext.Block{Entries: []smitext.Entry{{Word: "k", Unit: unit, Value: text}}}
			smitext.Rows{row}.Read(&b, nil, &rs, func(e error) { err = e })
			value, hasValue := rs.Get("value")
			total, hasTotal := rs.Get("total")
			isUsage := row.Form == smitext.FormUsage
			switch {
			case hasValue && value < 0 && row.Unit != smitext.Celsius && row.Unit != smitext.Decibels, value > 1 && row.Unit == smitext.Percent:
				t.Fatalf("%q gives %v", text, value)
			case value >= 1<<60 && row.Unit != smitext.Count:
				t.Fatalf("%q gives %v", text, value)
			case hasTotal && total == 0, isUsage && hasValue && hasTotal && value > total:
				t.Fatalf("%q gives %v of %v", text, value, total)
			case isUsage && err != nil && hasValue, smitext.Absent(text) && len(rs) > 0, len(rs) > 2:
				t.Fatalf("%q gives %v, %v", text, rs, err)
			}
		}
	})
}
