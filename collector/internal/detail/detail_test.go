package detail_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

func only(*keyvalue.Block, []model.Device) (int, error) { return 0, nil }

// read is what rows read of one card's text, a line a reading: "m{a,b} 1", then the
// warnings.
func read(t *testing.T, text string, rows ...detail.Row) []string {
	t.Helper()
	told, err := detail.Parse(keyvalue.Read([]byte(text)), rows, only, []model.Device{{ID: "0"}})
	if err != nil {
		return []string{"refused"}
	}
	var lines []string
	for _, r := range told[0].Readings {
		lines = append(lines, fmt.Sprintf("%s{%s} %v", r.Metric, strings.Join(r.Labels, ","), r.Value))
	}
	return append(lines, told[0].Warnings...)
}

// A user would notice a 0 that no tool printed.
func TestMissingIsAbsent(t *testing.T) {
	number := detail.Key("k", "m", printed.Celsius)
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
	count, state := detail.Key("k", "m", printed.Count), detail.Key("k", "m", printed.Count, "*").As(detail.Text)
	list := detail.Key("k", "m", printed.Count, "*", "x").As(detail.List)
	codes, hex := detail.Key("k", "m", printed.Count, "*").As(detail.Codes), detail.Key("*", "m", printed.Count, "*").As(detail.Hex)
	pages := detail.Key("k", "m", printed.Pages).In("page")
	const bad = `card 0: cannot read k from `
	for _, c := range []struct {
		row   detail.Row
		value string
		want  []string
	}{
		{count, "12", []string{"m{} 12"}},
		{count, "9223372036854775807", []string{"m{} 9.223372036854776e+18"}},
		{count, "9223372036854775808", []string{bad + `"9223372036854775808"`}},
		{count, "18446744073709551615", []string{bad + `"18446744073709551615"`}},
		{count, "-1", []string{bad + `"-1"`}},
		{count, "1.5", []string{bad + `"1.5"`}},
		{count.NotZero(), "0", nil},
		{pages, "3", []string{"m{} 3"}},
		{pages, "4294967294", nil},
		{count.Of(words), "Active", []string{"m{} 1"}},
		{count.Of(words), "Not Active", []string{"m{} 0"}},
		{count.Of(words), "Init", nil},
		{count.Of(words), "Inactive", []string{bad + `"Inactive"`}},
		{state, "as printed", []string{"m{as printed} 1"}},
		{state, "NA", nil},
		{state, "a\u202eb", []string{bad + `"a\u202eb"`}},
		{state, strings.Repeat("x", 65), []string{bad + `"` + strings.Repeat("x", 40) + `"`}},
		{state.Of(words), "Init", []string{"m{Init} 1"}},
		{state.Of(words), "Initial", []string{bad + `"Initial"`}},
		{list, "[4   NA  0 ]", []string{"m{1,x} 4", "m{3,x} 0"}},
		{list, "[4 x 0]", []string{"m{1,x} 4", "m{3,x} 0", bad + `"[4 x 0]"`}},
		{list, "[4 2", []string{bad + `"[4 2"`}},
		{list, "[" + strings.Repeat("1 ", 65) + "]", []string{bad + `"[` + strings.Repeat("1 ", 19) + `1"`}},
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
	key := func(key string, labels ...string) detail.Row { return detail.Key(key, "m", printed.Count, labels...) }
	lost := detail.Key("los", "lost", printed.Count, "*").As(detail.Bits)
	lost.Lanes = "power*"
	gate := key("present").Of(map[string]float64{"yes": 1, "no": 0})
	gate.Gate = true
	used := detail.Key("used", "u", printed.Count)
	used.Total = "t"
	total := detail.Key("total", "t", printed.Count).NotZero()
	mcu := key("*", "*")
	mcu.MCU = true
	for name, c := range map[string]struct {
		rows []detail.Row
		text string
		want []string
	}{
		"a number in the key": {[]detail.Row{key("way *", "way*")}, "way 0 : 1\nway 12 : 2\nway 07 : 3\nway 100 : 4\nway x : 5\nway : 6\n", []string{"m{way0} 1", "m{way12} 2"}},
		"the section":         {[]detail.Row{key("k").Under("A/B")}, "A\n B\n  k : 1\n C\n  k : 2\nk : 3\n", []string{"m{} 1"}},
		"any section":         {[]detail.Row{key("k")}, "A\n k : 1\n", []string{"m{} 1"}},
		"the first row holds": {[]detail.Row{key("b"), key("a")}, "a : 1\nb : 2\n", []string{"m{} 2"}},
		"the second row":      {[]detail.Row{key("b"), key("a")}, "a : 1\nb : NA\n", []string{"m{} 1"}},
		"a key twice":         {[]detail.Row{key("a", "a"), key("b", "b")}, "a : 1\nb : 2\na : 3\n", []string{"card 0: a is there twice"}},
		"beside":              {[]detail.Row{key("a", "{id}", "x")}, "a : 1\nid : 7\n", []string{"m{7,x} 1"}},
		"nothing beside":      {[]detail.Row{key("a", "{id}", "x")}, "a : 1\n", []string{"m{,x} 1"}},
		"bits":                {[]detail.Row{lost}, "power0 : 1\npower1 : NA\npower3 : 1\nlos : 0x9\n", []string{"lost{0} 1", "lost{3} 1"}},
		"a gate that is open": {[]detail.Row{gate, key("a", "a")}, "a : 1\npresent : yes\n", []string{"m{} 1", "m{a} 1"}},
		"a gate":              {[]detail.Row{gate, key("a", "a")}, "a : 1\npresent : no\nb : 1\n", []string{"m{} 0"}},
		"used of a total":     {[]detail.Row{used, total}, "used : 3\ntotal : 4\n", []string{"t{} 4", "u{} 3"}},
		"more than the total": {[]detail.Row{used, total}, "used : 5\ntotal : 4\n", []string{"t{} 4"}},
		"a total of 0":        {[]detail.Row{used, total}, "used : 0\ntotal : 0\n", nil},
		"without a total":     {[]detail.Row{used, total}, "used : 1\n", nil},
		"a known key":         {[]detail.Row{{Key: "a"}}, "a : 1\n", nil},
		"the controller":      {[]detail.Row{mcu, key("t", "chip")}, "t : 1\nChip ID : 0\nt : 2\nT_B-1 x : 3\no/d : 4\nChip Name : mcu\n", []string{"m{t} 2", "m{t_b_1_x} 3", "m{chip} 1"}},
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
	owner := func(b *keyvalue.Block, _ []model.Device) (int, error) {
		if b.Chip == "9" {
			return -1, errors.New("chip 9")
		}
		return slices.IndexFunc(cards, func(d model.Device) bool { return d.Chip == b.Chip }), nil
	}
	row := detail.Key("k", "m", printed.Count).If(func(d *model.Device) bool { return d.ID == "b" })
	for text, want := range map[string]string{
		"Chip ID : 0\nk : 1\nChip ID : 1\nk : 2\nChip ID : 5\nk : 3\n": "[{b [{m [] 2}] []}] <nil>",
		"Chip ID : 0\nk : 1\n":                     "[] nothing in the output is about the cards that were asked for",
		"Chip ID : 1\nk : 1\nChip ID : 9\nk : 1\n": "[] chip 9",
	} {
		told, err := detail.Parse(keyvalue.Read([]byte(text)), []detail.Row{row}, owner, cards)
		if got := fmt.Sprint(told, err); got != want {
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
	rows := []detail.Row{detail.Key("*", "m", printed.Count, "*"), detail.Key("k*", "k", printed.Count, "*")}
	told, err := detail.Parse(keyvalue.Read([]byte(text.String())), rows, only, []model.Device{{ID: "0"}})
	if err != nil || len(told[0].Readings) != 512 || len(told[0].Warnings) != 5 {
		t.Errorf("%v, %d readings, %d warnings", err, len(told[0].Readings), len(told[0].Warnings))
	}
}
