package iluvatar

import (
	"bytes"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

// captures are outputs of real machines, kept beside the checkout and not in it.
const captures = "../../../shared/captures/ixsmi"

// cards are those of the fixtures, the third of which is lost. The first two have the bus ids of the captured XML too.
func cards() []model.Device {
	return []model.Device{
		{ID: "0", BusID: "00000000:0c:00.0"},
		{ID: "1", BusID: "00000000:0F:00.0"},
		{ID: "2", BusID: "00000000:1A:00.0", Health: &model.Health{State: "65535W"}},
		{ID: "3", BusID: "00000000:1D:00.0"},
	}
}

func aboutCards(parse func([]byte, []model.Device) (model.Report, error)) modeltest.Parse {
	return func(out []byte) (model.Report, error) { return parse(out, cards()) }
}

// parsers tells by the name of a text what has printed it. What a reset prints is never asked for, and must be no table.
func parsers(name string, text []byte) []modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); {
	case kind == "xml", strings.Contains(name, "-xml"):
		return []modeltest.Parse{aboutCards(parseXML)}
	case kind == "temp":
		return []modeltest.Parse{aboutCards(parseMemory)}
	case kind == "topo":
		return []modeltest.Parse{parseTopology}
	case kind == "csv":
		header, _, _ := strings.Cut(string(text), "\n")
		q := smitext.Query{Fields: strings.Split(header, ", ")}
		return []modeltest.Parse{func(out []byte) (model.Report, error) { return parseQuery(q, out) }}
	}
	return []modeltest.Parse{ParseTable}
}

func TestGolden(t *testing.T)   { modeltest.Golden(t, *update, parsers) }
func TestCaptures(t *testing.T) { modeltest.Captures(t, *update, captures, parsers) }

// After a reset a lost card is gone, and a card behind it has its number: whoever goes to the machine must find the right
// one, and the processes are on the cards that they were on.
func TestCardsAreKnownByTheirBus(t *testing.T) {
	parse := func(name string, p modeltest.Parse) model.Report {
		r, err := p(modeltest.Read(t, filepath.Join("testdata", name)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	before, after := parse("table-lost.txt", ParseTable), parse("table-reset.txt", ParseTable)
	missing := model.Missing(after.Devices, before.Devices, len(before.Devices))
	if len(missing) != 1 || missing[0].BusID != "00000000:1A:00.0" {
		t.Errorf("missing: %+v, want the card at 1A", missing)
	}
	r := parse("xml-lost.txt", func(out []byte) (model.Report, error) { return parseXML(out, after.Devices) })
	uuids := map[string]string{}
	for _, d := range model.Merge(after, []model.Report{r}, Vendor().Resolve).Devices {
		uuids[d.ID] = d.UUID[:12]
	}
	if diff := cmp.Diff(map[string]string{"0": "GPU-7e110000", "1": "GPU-7e110001", "2": "GPU-7e110003"}, uuids); diff != "" {
		t.Errorf("UUIDs, want (-) and got (+) differ:\n%s", diff)
	}
}

// An operator acts on the class of a failure, and a field that a build does not know must lead to other words.
func TestClassify(t *testing.T) {
	modeltest.CheckClasses(t, Classify, map[string]failure.Reason{
		"/usr/local/corex/bin/ixsmi: error while loading shared libraries:\n  libixml.so: cannot open shared object file\n": failure.Driver,
		"IXSMI has failed because it couldn't communicate with the Iluvatar driver.\n":                                      failure.Driver,
		"Failed to initialize IXML: Insufficient Permissions\n":                                                             failure.Permission,
		"Failed to initialize IXML: Unknown Error\n":                                                                        failure.Driver,
		"Unable to open /dev/iluvatar0: Permission denied\n":                                                                failure.Permission,

		"No devices were found\n":                                                   failure.NoDevice,
		"Field \"gpu.power.draw\" is not a valid field to query.\n\n":               failure.Unsupported,
		"Invalid combination of input arguments. Please run 'ixsmi -h' for help.\n": failure.Unsupported,
		"GPU 00000000:14:00.0  was successfully reset.\nAll done.\n":                "",
		"sh: ixsmi: command not found\n":                                            "",
	})
}

// FuzzParse holds of each command that no bytes make its parser panic, nothing is there twice, every value is in its range,
// and the end of a text changes no card before it.
func FuzzParse(f *testing.F) {
	v := Vendor()
	commands := slices.Concat([]model.Command{v.Table}, v.Commands)
	for _, name := range modeltest.Glob(f, "testdata/*.txt") {
		for i := range commands {
			f.Add(modeltest.Read(f, name), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, out []byte, which uint8) {
		c := commands[int(which)%len(commands)]
		whole, err := c.Parse(out, cards())
		modeltest.CheckReport(t, whole, err)
		if err != nil {
			return
		}
		table := model.Report{Devices: cards()}
		if c.Name == v.Table.Name {
			table = whole
		}
		table.Join(whole)
		modeltest.CheckSnapshot(t, model.Merge(table, []model.Report{whole}, v.Resolve))
		half, err := c.Parse(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1], cards())
		for i, d := range append(half.Devices, half.Listed...) {
			if all := append(whole.Devices, whole.Listed...); err == nil && (i >= len(all) || !cmp.Equal(all[i], d)) {
				t.Fatalf("the first half has another card: %s", cmp.Diff(all, d))
			}
		}
	})
}
