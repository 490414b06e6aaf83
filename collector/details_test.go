package collector

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

const fixtures = "testdata/details"

// dev is a device as the main table gives it: "1 0.1 hbm" is device 1, chip 1 of NPU 0, with
// HBM; MetaX's is a number and a bus id.
func dev(t testing.TB, s string) model.Device {
	t.Helper()
	f := strings.Fields(s)
	if strings.Contains(s, ":") {
		return model.Device{ID: f[0], BusID: f[1]}
	}
	d := model.Device{ID: f[0]}
	d.NPU, d.Chip, _ = strings.Cut(f[1], ".")
	for _, memory := range f[2:] {
		d.Readings.Add(model.Reading{Metric: "memory_total_bytes", Labels: []string{memory}, Value: 1})
	}
	return d
}

func devs(t testing.TB, list string) []model.Device {
	t.Helper()
	var all []model.Device
	for s := range strings.SplitSeq(list, ",") {
		all = append(all, dev(t, s))
	}
	return all
}

// detailOf finds a vendor's detail; one of Ascend 950's ports is that of the port 4 of
// its die 0.
func detailOf(t testing.TB, vendor, name string, cards []model.Device) model.Command {
	t.Helper()
	for _, v := range Vendors() {
		if v.Name != vendor {
			continue
		}
		details := v.Commands
		if cards[0].Chip == "" && vendor == "ascend" {
			details = slices.Concat(portDetails(t, cards[0]), details)
		}
		for _, d := range details {
			if d.Name == name {
				return d
			}
		}
	}
	t.Fatalf("%s has no detail %s", vendor, name)
	return model.Command{}
}

func portDetails(t testing.TB, d model.Device) []model.Command {
	t.Helper()
	for _, v := range Vendors() {
		for _, detail := range v.Commands {
			if detail.More != nil {
				return detail.More(modeltest.Read(t, filepath.Join(fixtures, "ascend-hccn_dev_info-950.txt")), d)
			}
		}
	}
	return nil
}

// compare holds sections of text against a golden file.
func compare(t *testing.T, golden, got string) {
	t.Helper()
	modeltest.Compare(t, *update, golden, got)
}

// cardsOf are the cards that a fixture is about, by its name.
func cardsOf(t testing.TB, name string, scope model.Scope) []model.Device {
	t.Helper()
	twoDies := "0 0.0 hbm,1 0.1 hbm"
	switch {
	case strings.HasPrefix(name, "metax-"), strings.HasPrefix(name, "kunlunxin-"):
		return devs(t, "0 0000:08:00.0,1 0000:09:00.0")
	case strings.Contains(name, "-950"):
		return devs(t, "9 9 hbm")
	case scope == model.Host:
		return devs(t, twoDies+",5 5.0 hbm,8 8.0 ddr")
	case strings.Contains(name, "-910a"):
		return devs(t, "5 5.0 ddr hbm")
	case strings.Contains(name, "-310p"):
		return devs(t, "5 5.0 ddr")
	case strings.Contains(name, "-x2"):
		return devs(t, twoDies)
	}
	return devs(t, "5 5.0 hbm")
}

// fixture is a committed text, the detail that reads it, and the cards that it is about.
type fixture struct {
	name   string
	text   []byte
	detail model.Command
	cards  []model.Device
}

func allFixtures(t testing.TB) []fixture {
	t.Helper()
	var all []fixture
	for _, file := range modeltest.Glob(t, filepath.Join(fixtures, "*-*.txt")) {
		f := fixture{name: strings.TrimSuffix(filepath.Base(file), ".txt"), text: modeltest.Read(t, file)}
		parts := strings.SplitN(f.name, "-", 3)
		d := detailOf(t, parts[0], parts[1], cardsOf(t, f.name, model.Card))
		f.cards = cardsOf(t, f.name, d.Scope)
		f.detail = d
		all = append(all, f)
	}
	return all
}

// Each fixture is own text in a layout that has been met, or a way in which output goes
// wrong. The golden file is what a user gets of all: look at its diff before keeping it.
func TestDetailsGolden(t *testing.T) {
	var b strings.Builder
	for _, f := range allFixtures(t) {
		fmt.Fprintf(&b, "== %s\n%s", f.name, modeltest.Text(f.detail.Parse(f.text, f.cards)))
	}
	compare(t, filepath.Join(fixtures, "golden.txt"), b.String())
}

// A user would notice a metric that nothing is read into. FuzzDetails holds its labels.
func TestDetailsHaveEveryMetric(t *testing.T) {
	read := map[model.Metric]bool{}
	for _, f := range allFixtures(t) {
		report, _ := f.detail.Parse(f.text, f.cards)
		for _, x := range report.Devices {
			for _, r := range x.Readings {
				read[r.Metric] = true
			}
		}
	}
	for _, s := range detailSections() {
		for _, m := range s.Metrics {
			if !read[model.Metric(m.Name)] {
				t.Errorf("no fixture has %s", m.Name)
			}
		}
	}
}

// Output that is cut tells less and nothing else: a user would act on a number of another
// card.
func TestDetailsOfCutText(t *testing.T) {
	for _, f := range allFixtures(t) {
		if strings.Contains(f.name, "-other-") || f.detail.Serials { // refused for one line; told with what is printed
			continue
		}
		whole := samples(f.detail, f.text, f.cards)
		for n := 0; n < len(f.text); n += max(1, len(f.text)/200) {
			for sample := range samples(f.detail, f.text[:n], f.cards) {
				if !whole[sample] {
					t.Errorf("%s cut at byte %d: %s, which the whole text does not give", f.name, n, sample)
				}
			}
		}
	}
}

func samples(d model.Command, text []byte, cards []model.Device) map[string]bool {
	report, _ := d.Parse(text, cards)
	all := map[string]bool{}
	for _, x := range report.Devices {
		for _, r := range x.Readings {
			all[fmt.Sprint(x.ID, r)] = true
		}
	}
	return all
}

// A command's name is a label, and its arguments are what is run on a user's host: only
// reading ones, as this file has them.
func TestDetailsPlan(t *testing.T) {
	var b strings.Builder
	line := func(vendor string, d model.Command, card model.Device) {
		level := map[bool]string{true: "lean", false: "full"}[d.Lean]
		if d.Every == 0 && !d.Inventory {
			fmt.Fprintf(&b, "%s %s at every poll: %q\n", vendor, d.Name, d.Args(card))
			return
		}
		if d.Serials {
			level = "serials"
		}
		scope := []string{"host", "card", "die"}[d.Scope]
		every := d.Every.String()
		if d.Inventory {
			level = "inventory"
			if d.Every == 0 {
				every = "inventory interval"
			}
		}
		fmt.Fprintf(&b, "%s %s for each %s every %s, %s: %q\n", vendor, d.Name, scope, every, level, d.Args(card))
	}
	kinds := map[string]map[string]model.Device{
		"ascend": {"A3": dev(t, "7 3.1 hbm"), "950": dev(t, "9 9 hbm"), "no number": dev(t, "3.1 3.1 hbm")},
	}
	for _, v := range Vendors() {
		if kinds[v.Name] == nil {
			kinds[v.Name] = map[string]model.Device{"": {ID: "3"}}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds[v.Name])) {
			card := kinds[v.Name][kind]
			card.Health = &model.Health{State: "Alarm"}
			for _, d := range slices.Concat([]model.Command{v.Table}, v.Commands) {
				if unknown := (model.Device{ID: card.ID, NPU: card.NPU, Chip: card.Chip}); d.When == nil || d.When(&card) || d.When(&unknown) {
					line(strings.TrimSpace(v.Name+" "+kind), d, card)
				}
				if card.Health.OK = true; d.When != nil && d.Name == "health" && d.When(&card) {
					t.Error("a card that is well is asked for its fault codes")
				}
				card.Health.OK = false
			}
		}
	}
	for _, d := range portDetails(t, dev(t, "9 9 hbm")) {
		line("ascend 950 port", d, dev(t, "9 9 hbm"))
	}
	compare(t, filepath.Join(fixtures, "plan.txt"), b.String())
}

// A watch that is ended before the last card told costs that card its series; one that
// is not ended costs the tool its time.
func TestWatchIsEnough(t *testing.T) {
	cards := devs(t, "0 0.0 hbm,1 0.1 hbm,5 5.0 hbm")
	d := detailOf(t, "ascend", "watch", cards)
	const header = "NpuID(Idx)  ChipId(Idx) Pwr(W)      AI Core(%)\n"
	for text, want := range map[string]bool{
		"":                                false,
		header:                            false,
		header + "0 0 90.1 3\n0 1 NA 4\n": false,
		header + "0 0 90.1 3\n0 1 NA 4\n5 0 60.5 7":        false,
		header + "0 0 90.1 3\n0 1 NA 4\n5 0 60.5 7\n":      true,
		header + "0 0 90.1 3\n0 1 NA 4\n5 0 60.5 7\n0 0 9": true,
		header + "0 0 90.1 3\n0 2 NA 4\n5 0 60.5 7\n":      false,
		header + "0 0 90.1\n0 1 NA 4\n5 0 60.5 7\n":        false,
		"0 0 90.1 3\n0 1 NA 4\n5 0 60.5 7\n" + header:      false,
		header + "0 1 NA 4\n0 0 90.1 3\n0 1 NA 4\n":        true, // the round is over: a card is left out
	} {
		if got := d.Enough([]byte(text), cards); got != want {
			t.Errorf("enough: %t, want %t, of:\n%s", got, want, text)
		}
	}
}
