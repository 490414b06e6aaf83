package fakesmi_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// metaxCards are the cards an exporter would read, table and list together.
func metaxCards(t *testing.T, load fakesmi.Load, text string) map[string]model.Device {
	t.Helper()
	layout := fakesmi.MetaXLayouts()[4]
	machine := fakesmi.MetaXMachine(layout.Version, load, faults(t, text)...)
	var table, list bytes.Buffer
	if err := layout.Print(&table, fakesmi.Available(machine), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := layout.PrintList(&list, machine); err != nil {
		t.Fatal(err)
	}
	cards, err := metax.ParseTable(table.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, table.String())
	}
	listed, err := metax.ParseList(list.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, list.String())
	}
	return byID(model.Merge(cards, []model.Report{listed}, metax.Vendor().Resolve))
}

func ascendCards(t *testing.T, load fakesmi.Load, text string) map[string]model.Device {
	t.Helper()
	layout, err := fakesmi.AscendLayoutNamed("910b-23.0")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := layout.Print(&b, layout.Reduce(fakesmi.AscendMachine(layout.Version, 1, load, faults(t, text)...))); err != nil {
		t.Fatal(err)
	}
	r, err := ascend.ParseInfo(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return byID(model.Merge(r, nil, ascend.Vendor().Resolve))
}

func byID(s model.Snapshot) map[string]model.Device {
	all := map[string]model.Device{}
	for _, d := range s.Devices {
		all[d.ID] = d
	}
	return all
}

// readings are a card's by metric: these cards have none twice.
func readings(d model.Device) map[string]float64 {
	all := map[string]float64{}
	for _, r := range d.Readings {
		all[string(r.Metric)] = r.Value
	}
	return all
}

func faults(t *testing.T, text string) fakesmi.Faults {
	t.Helper()
	all, err := fakesmi.ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An alert's test would notice: a fault that does not reach what is printed, or
// that spills over to the cards beside it.
func TestFaultsArePrinted(t *testing.T) {
	type cards = map[string]model.Device
	load := fakesmi.Load{Busy: 0.5, Cache: 0.3, PID: 4242, Process: "VLLM::EngineCor"}
	value := func(d model.Device, metric string) float64 { return readings(d)[metric] }
	used := func(d model.Device) float64 { return value(d, "memory_used_bytes") / value(d, "memory_total_bytes") }
	for text, c := range map[string]struct {
		print   func(*testing.T, fakesmi.Load, string) map[string]model.Device
		changed []string // cards whose record differs from a healthy machine's
		holds   func(cards) bool
	}{
		"2 unhealthy": {metaxCards, []string{"2"}, func(c cards) bool {
			d := c["2"]
			return cmp.Equal(d.Health, &model.Health{State: "Not Available", Reason: "Layout Node Not Found"}) && d.Readings == nil && d.UUID == ""
		}},
		"2 unhealthy MetaX Kernel Driver Not Found": {metaxCards, []string{"2"}, func(c cards) bool {
			return cmp.Equal(c["2"].Health, &model.Health{State: "Not Available", Reason: "MetaX Kernel Driver Not Found"})
		}},
		"5 unhealthy": {ascendCards, []string{"5"}, func(c cards) bool {
			return cmp.Equal(c["5"].Health, &model.Health{State: "Alarm"}) && value(c["5"], "temperature_celsius") > 0
		}},
		"5 unhealthy Critical": {ascendCards, []string{"5"}, func(c cards) bool { return cmp.Equal(c["5"].Health, &model.Health{State: "Critical"}) }},
		"0 hot\n":              {metaxCards, []string{"0"}, func(c cards) bool { return value(c["0"], "temperature_celsius") == 105 }},
		"hot 91": {ascendCards, []string{"0", "1", "2", "3", "4", "5", "6", "7"}, func(c cards) bool {
			return value(c["0"], "temperature_celsius") == 91 && value(c["7"], "temperature_celsius") == 91
		}},
		"1 power_cap": {metaxCards, []string{"1"}, func(c cards) bool {
			return value(c["1"], "power_watts") == value(c["1"], "power_limit_watts") && value(c["1"], "utilization_ratio") > 0.9 && value(c["1"], "performance_level") < 5
		}},
		"3 memory_full": {metaxCards, []string{"3"}, func(c cards) bool { return used(c["3"]) > 0.999 && used(c["3"]) < 1 }},
		"6 memory_full": {ascendCards, []string{"6"}, func(c cards) bool { return used(c["6"]) > 0.998 && used(c["6"]) < 1 }},
		"6 idle_held": {metaxCards, []string{"6"}, func(c cards) bool {
			return value(c["6"], "utilization_ratio") == 0 && used(c["6"]) > 0.7
		}},
		"4 idle_held": {ascendCards, []string{"4"}, func(c cards) bool {
			return value(c["4"], "utilization_ratio") == 0 && used(c["4"]) > 0.7
		}},
		"1 uneven": {metaxCards, []string{"0", "1", "2", "3"}, func(c cards) bool {
			return value(c["1"], "utilization_ratio") > 0.9 && value(c["0"], "utilization_ratio") < 0.2 && value(c["1"], "power_watts") > 2*value(c["0"], "power_watts")
		}},
		"4 ras": {ascendCards, []string{"4"}, func(c cards) bool { return cmp.Equal(c["4"].Health, &model.Health{State: "Warning"}) }},
		"0 hot\n5 hot 99": {metaxCards, []string{"0", "5"}, func(c cards) bool {
			return value(c["0"], "temperature_celsius") == 105 && value(c["5"], "temperature_celsius") == 99
		}},
	} {
		t.Run(text, func(t *testing.T) {
			healthy, got := c.print(t, load, ""), c.print(t, load, text)
			if !c.holds(got) {
				t.Errorf("the fault is not to be seen:\n%s", cmp.Diff(healthy, got))
			}
			var changed []string
			for _, id := range []string{"0", "1", "2", "3", "4", "5", "6", "7"} {
				if !cmp.Equal(healthy[id], got[id]) {
					changed = append(changed, id)
				}
			}
			if diff := cmp.Diff(c.changed, changed); diff != "" {
				t.Errorf("cards that change, wanted (-) and got (+):\n%s", diff)
			}
		})
	}
}

func TestBadFaultsAreSaid(t *testing.T) {
	for text, want := range map[string]string{
		"2 tired":        `no kind "tired"`,
		"hot very":       "no whole number",
		"3":              `no kind ""`,
		"uneven":         "number of the card",
		"1 power_cap 3":  "takes nothing",
		"1 ras 80E1840Z": "no code of hexadecimal digits",
	} {
		if _, err := fakesmi.ParseFaults(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
	devices := fakesmi.MetaXMachine("2.2.9", fakesmi.Load{}).Devices
	if err := faults(t, "7 hot").Check(devices); err != nil {
		t.Error(err)
	}
	if err := faults(t, "8 hot").Check(devices); err == nil {
		t.Error("a fault of a card that is not there passes")
	}
}

// What the machines of the demo show must be all there in print, whatever the
// load: the demo's dashboards hang on it.
func TestMachinesParseBack(t *testing.T) {
	for _, load := range []fakesmi.Load{{}, {Busy: 0.5, Cache: 0.3, PID: 4242, Process: "VLLM::EngineCor"}, {Busy: 1, Cache: 1, PID: 1, Process: "x"}} {
		layout := fakesmi.MetaXLayouts()[4]
		want := layout.Reduce(fakesmi.MetaXMachine(layout.Version, load))
		want.Links = nil // printed by another command
		var b bytes.Buffer
		if err := layout.Print(&b, want, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		got, err := metax.ParseTable(b.Bytes())
		if diff := cmp.Diff(want, got, modeltest.InAnyOrder()); diff != "" || err != nil || len(got.Slices) == 0 {
			t.Errorf("mx-smi: %v, printed (-) and parsed (+) differ:\n%s", err, diff)
		}
		npu, err := fakesmi.AscendLayoutNamed("310p-25.5")
		if err != nil {
			t.Fatal(err)
		}
		want = npu.Reduce(fakesmi.Ascend310PMachine(npu.Version, load))
		want.Links = nil
		b.Reset()
		if err := npu.Print(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err = ascend.ParseInfo(b.Bytes())
		if diff := cmp.Diff(want, got, modeltest.InAnyOrder()); diff != "" || err != nil || readings(got.Devices[0])["hugepages_total"] == 0 {
			t.Errorf("npu-smi: %v, printed (-) and parsed (+) differ:\n%s", err, diff)
		}
	}
}
