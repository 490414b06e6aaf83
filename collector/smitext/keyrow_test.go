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

// read is what rows read of one card's text, a line a reading: "m{a,b} 1", then the
// warnings.
func read(t *testing.T, text string, rows ...smitext.KeyRow) []string {
	t.Helper()
	report, err := smitext.ParseKeys(smitext.ReadKeyValues([]byte(text)), rows, firstCard, []model.Device{{ID: "0"}})
	if err != nil {
		return []string{"refused"}
	}
	var lines []string
	for _, r := range report.Devices[0].Readings {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", r.Metric, strings.Join(r.Labels, ","), r.Value))
	}
	return append(lines, report.Warnings.Texts...)
}

// A user would notice a 0 that no tool printed.
func TestMissingIsAbsent(t *testing.T) {
	number := smitext.Key("k", "m", smitext.Celsius)
	for _, none := range []string{
		"", "NA", "N/A", "-", "--", "Unknown!", "unknown", "not supported", "Not Support", "get failed", "Failed", "NA C", "- C",
	} {
		if got := read(t, "k (C) : "+none+"\n", number); len(got) > 0 {
			t.Errorf("%q gives %q", none, got)
		}
	}
	want := []string{`card 0: cannot read k from "the query is not known to this card"`}
	if diff := cmp.Diff(want, read(t, "k (C) : the query is not known to this card\n", number)); diff != "" {
		t.Errorf("a sentence: want (-) and got (+) differ:\n%s", diff)
	}
	if got := read(t, "other : 1\n", number); !slices.Equal(got, []string{"refused"}) {
		t.Errorf("a missing key gives %q", got)
	}
}

func TestForms(t *testing.T) {
	words := map[string]float64{"active": 1, "not active": 0, "init": math.NaN()}
	count, state := smitext.Key("k", "m", smitext.Count), smitext.Key("k", "m", smitext.Count, "*").WithForm(smitext.FormText)
	list := smitext.Key("k", "m", smitext.Count, "*", "x").WithForm(smitext.FormList)
	codes, hex := smitext.Key("k", "m", smitext.Count, "*").WithForm(smitext.FormCodes), smitext.Key("*", "m", smitext.Count, "*")
	pages := smitext.Key("k", "m", smitext.Pages).InUnit("page")
	const bad = `card 0: cannot read k from `
	for _, c := range []struct {
		row   smitext.KeyRow
		value string
		want  []string
	}{
		{count, "12", []string{"m{} 12"}},
		{count, "9223372036854775808", []string{"m{} 9.223372036854776e+18"}},
		{count, "18446744073709551616", []string{bad + `"18446744073709551616"`}},
		{count.NoUnderflow(), "9223372036854775807", []string{"m{} 9.223372036854776e+18"}},
		{count.NoUnderflow(), "18446744073709551615", []string{bad + `"18446744073709551615"`}},
		{count, "-1", []string{bad + `"-1"`}},
		{count, "1.5", []string{bad + `"1.5"`}},
		{count.NotZero(), "0", nil},
		{pages, "3", []string{"m{} 3"}},
		{pages, "4294967294", nil},
		{count.WithWords(words), "Active", []string{"m{} 1"}},
		{count.WithWords(words), "Not Active", []string{"m{} 0"}},
		{count.WithWords(words), "Init", nil},
		{count.WithWords(words), "Inactive", []string{bad + `"Inactive"`}},
		{state, "as printed", []string{"m{as printed} 1"}},
		{state, "NA", nil},
		{state, "a\u202eb", []string{bad + `"a\u202eb"`}},
		{state, strings.Repeat("x", 65), []string{bad + `"` + strings.Repeat("x", 40) + `"`}},
		{state.WithWords(words), "Init", []string{"m{Init} 1"}},
		{state.WithWords(words), "Initial", []string{bad + `"Initial"`}},
		{list, "[4   NA  0 ]", []string{"m{1,x} 4", "m{3,x} 0"}},
		{list, "[4 x 0]", []string{"m{1,x} 4", "m{3,x} 0", bad + `"[4 x 0]"`}},
		{list, "[4 2", []string{bad + `"[4 2"`}},
		{codes, "80e0 A4025021", []string{"m{80E0} 1", "m{A4025021} 1"}},
		{codes, "80E0 none", []string{bad + `"80E0 none"`}},
		{codes, "NA", nil},
		{hex, "0xff3000", []string{"m{k} 1.6723968e+07"}},
		{hex, "ff3000", nil}, // of what is read whatever its name, nothing is expected
	} {
		if diff := cmp.Diff(c.want, read(t, "k : "+c.value+"\n", c.row)); diff != "" {
			t.Errorf("%q: want (-) and got (+) differ:\n%s", c.value, diff)
		}
	}
}

// A user would notice the value of one place, lane or card at another.
func TestRows(t *testing.T) {
	key := func(key string, labels ...string) smitext.KeyRow {
		return smitext.Key(key, "m", smitext.Count, labels...)
	}
	lost := smitext.Key("los", "lost", smitext.Count, "*").WithLaneBits("power*")
	used := smitext.Key("used", "u", smitext.Count).Within("t")
	total := smitext.Key("total", "t", smitext.Count).NotZero()
	mcu := key("*", "*")
	mcu.OfMCU = true
	for name, c := range map[string]struct {
		rows []smitext.KeyRow
		text string
		want []string
	}{
		"a number in the key": {[]smitext.KeyRow{key("way *", "way*")}, "way 0 : 1\nway 12 : 2\nway 07 : 3\nway 100 : 4\nway x : 5\nway : 6\n", []string{"m{way0} 1", "m{way12} 2"}},
		"the section":         {[]smitext.KeyRow{key("k").Under("A/B")}, "A\n B\n  k : 1\n C\n  k : 2\nk : 3\n", []string{"m{} 1"}},
		"any section":         {[]smitext.KeyRow{key("k")}, "A\n k : 1\n", []string{"m{} 1"}},
		"the first row holds": {[]smitext.KeyRow{key("b"), key("a")}, "a : 1\nb : 2\n", []string{"m{} 2"}},
		"the second row":      {[]smitext.KeyRow{key("b"), key("a")}, "a : 1\nb : NA\n", []string{"m{} 1"}},
		"beside":              {[]smitext.KeyRow{key("a", "{id}", "x")}, "a : 1\nid : 7\n", []string{"m{7,x} 1"}},
		"nothing beside":      {[]smitext.KeyRow{key("a", "{id}", "x")}, "a : 1\n", []string{"m{,x} 1"}},
		"bits":                {[]smitext.KeyRow{lost}, "power0 : 1\npower1 : NA\npower3 : 1\nlos : 0x9\n", []string{"lost{0} 1", "lost{3} 1"}},
		"used of a total":     {[]smitext.KeyRow{total, used}, "used : 3\ntotal : 4\n", []string{"t{} 4", "u{} 3"}},
		"more than the total": {[]smitext.KeyRow{total, used}, "used : 5\ntotal : 4\n", []string{"t{} 4"}},
		"a total of 0":        {[]smitext.KeyRow{total, used}, "used : 0\ntotal : 0\n", nil},
		"without a total":     {[]smitext.KeyRow{total, used}, "used : 1\n", nil},
		"a known key":         {[]smitext.KeyRow{{Key: "a"}}, "a : 1\n", nil},
		"the controller":      {[]smitext.KeyRow{mcu, key("t", "chip")}, "t : 1\nChip ID : 0\nt : 2\nT_B-1 x : 3\no/d : 4\nChip Name : mcu\n", []string{"m{chip} 1", "m{t} 2", "m{t_b_1_x} 3"}},
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
	row := smitext.Key("k", "m", smitext.Count).OnlyFor(func(d *model.Device) bool { return d.ID == "b" })
	for text, want := range map[string]string{
		"Chip ID : 0\nk : 1\nChip ID : 1\nk : 2\nChip ID : 5\nk : 3\n": "b[{m [] 2}] <nil>",
		"Chip ID : 0\nk : 1\n": " nothing in the output is about the cards that were asked for",
	} {
		report, err := smitext.ParseKeys(smitext.ReadKeyValues([]byte(text)), []smitext.KeyRow{row}, owner, cards)
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
func TestWhatIsToldIsBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("Chip ID : 0\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "chip %d : %d\n", i, i)
		fmt.Fprintf(&text, "k%d : ?\n", i%100)
		if i%100 == 99 {
			text.WriteString("Chip ID : 0\n")
		}
	}
	rows := []smitext.KeyRow{smitext.Key("*", "m", smitext.Count, "*"), smitext.Key("k*", "k", smitext.Count, "*")}
	report, err := smitext.ParseKeys(smitext.ReadKeyValues([]byte(text.String())), rows, firstCard, []model.Device{{ID: "0"}})
	if err != nil || len(report.Devices[0].Readings) != 512 || len(report.Warnings.Texts) != 20 {
		t.Errorf("%v, %d readings, %d warnings", err, len(report.Devices[0].Readings), len(report.Warnings.Texts))
	}
}
