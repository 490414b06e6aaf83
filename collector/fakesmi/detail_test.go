package fakesmi_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// lived is the life of a machine that has been busy all the time, with faults.
func lived(devices []model.Device, all fakesmi.Faults, up time.Duration) *fakesmi.Life {
	start := time.Date(2026, 3, 9, 8, 15, 2, 0, time.UTC)
	l := &fakesmi.Life{}
	l.Live(fakesmi.Moment{At: start}, all, devices)
	l.Live(fakesmi.Moment{At: start.Add(up), Busy: up.Seconds()}, all, devices)
	return l
}

func metaXDetails(t *testing.T, text string, up time.Duration) []fakesmi.MetaXCard {
	t.Helper()
	all := faults(t, text)
	machine := fakesmi.MetaXMachine("2.2.9", fakesmi.Load{Busy: 0.7, Cache: 0.5, PID: 42, Process: "VLLM::EngineCor"}, all...)
	return fakesmi.MetaXCards(machine, all, lived(machine.Devices, all, up))
}

func ascendDetails(t *testing.T, name, text string, up time.Duration) (fakesmi.AscendLayout, []fakesmi.AscendCard) {
	t.Helper()
	layout, err := fakesmi.AscendLayoutNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	all := faults(t, text)
	machine := layout.Machine(fakesmi.Load{Busy: 0.7, Cache: 0.5, PID: 42, Process: "VLLMEngineCor"}, all...)
	return layout, layout.AscendCards(machine, all, lived(machine.Devices, all, up))
}

// Who breaks a card in the demo would notice: a fault that the deeper commands do not
// tell of, or tell of another card.
func TestFaultsShowInMetaXDetails(t *testing.T) {
	reason := func(c fakesmi.MetaXCard) (active []string) {
		for _, r := range c.Throttles {
			if r.Active {
				active = append(active, r.Reason)
			}
		}
		return active
	}
	core := func(c fakesmi.MetaXCard) float64 {
		return c.Clocks[slices.IndexFunc(c.Clocks, func(k fakesmi.Clock) bool { return k.Name == "XCORE_CLK" })].MHz
	}
	for text, holds := range map[string]func(is, was fakesmi.MetaXCard) bool{
		"1 power_cap": func(is, was fakesmi.MetaXCard) bool {
			return core(is) < core(was) && cmp.Equal(reason(is), []string{"Over Power"}) && is.Total == is.Limit
		},
		"1 hot": func(is, was fakesmi.MetaXCard) bool {
			return core(is) < core(was) && cmp.Equal(reason(is), []string{"Chip Over Temperature", "Thermal Over Temperature"}) && is.Hotspot > 100
		},
		"1 idle_held": func(is, _ fakesmi.MetaXCard) bool {
			return cmp.Equal(reason(is), []string{"Idle"}) && is.GPU == 0 && is.HBM < 10
		},
		"1 ecc": func(is, was fakesmi.MetaXCard) bool {
			return was.ECC == fakesmi.MetaXECC{Enabled: true} && is.ECC.DRAMCorrectable > 1000 && is.ECC.DRAMUncorrectable > 0 && is.ECC.RetiredPages > 0
		},
		"1 link_lanes": func(is, was fakesmi.MetaXCard) bool {
			return was.PCIe == was.PCIeMax && is.PCIe.Width < is.PCIeMax.Width
		},
		"1 pcie_slow": func(is, was fakesmi.MetaXCard) bool {
			return was.PCIe == was.PCIeMax && is.PCIe.Speed < is.PCIeMax.Speed
		},
		"1 ras": func(is, was fakesmi.MetaXCard) bool {
			return len(was.CorrectErrors) == 0 && is.CorrectErrors[0].Value > is.UncorrectedErrors[0].Value && !cmp.Equal(is.Registers, was.Registers)
		},
	} {
		healthy, broken := metaXDetails(t, "", time.Hour), metaXDetails(t, text, time.Hour)
		if !holds(broken[1], healthy[1]) {
			t.Errorf("%s is not to be seen:\n%s", text, cmp.Diff(healthy[1], broken[1]))
		}
		if diff := cmp.Diff(healthy[2], broken[2]); diff != "" {
			t.Errorf("%s shows on card 2:\n%s", text, diff)
		}
	}
}

func TestFaultsShowInAscendDetails(t *testing.T) {
	for text, holds := range map[string]func(is, was fakesmi.AscendCard) bool{
		"1 power_cap": func(is, was fakesmi.AscendCard) bool { return is.MHz < was.MHz && was.MHz == was.RatedMHz },
		"1 hot": func(is, was fakesmi.AscendCard) bool {
			return is.MHz < was.MHz && is.Celsius > 100 && is.HBM.Celsius > 100
		},
		"1 ecc": func(is, was fakesmi.AscendCard) bool {
			return was.HBM.ECC == fakesmi.AscendECC{} && is.HBM.ECC.Single > 1000 && is.HBM.ECC.PagesDouble > 0 && is.HBM.ECC.NextDouble > 0
		},
		"1 link_lanes": func(is, was fakesmi.AscendCard) bool {
			return was.FirstErrorLane < 0 && is.FirstErrorLane >= 0 && is.Links[2].Lanes < was.Links[2].Lanes && is.Links[2].Retries > 0 && is.Links[1] == was.Links[1]
		},
		"1 pcie_slow": func(is, was fakesmi.AscendCard) bool {
			return was.PCIe == fakesmi.PCIeErrors{} && is.PCIe.Receive > 0 && is.PCIe.Retries > 0
		},
		"1 port_down": func(is, was fakesmi.AscendCard) bool {
			i, w := is.Ports[0], was.Ports[0]
			return w.Up && w.Downs == 0 && !i.Up && i.Downs == 1 && !i.Changes[0].Up && i.Changes[1].Up && i.Health != w.Health && math.IsNaN(i.Mbps) &&
				i.Stat["mac_tx_total_pkt_num"] == 0 && w.Stat["mac_tx_total_pkt_num"] > 0 && i.Optical.ReceiveLost != 0
		},
		"1 optics_fade": func(is, was fakesmi.AscendCard) bool {
			i, w := is.Ports[0], was.Ports[0]
			return i.Up && i.Optical.ReceivePower[1] < 0.1445 && w.Optical.ReceivePower[1] > 0.1445 && i.Stat["mac_rx_fcs_err_pkt_num"] > 0 && w.Stat["mac_rx_fcs_err_pkt_num"] == 0
		},
		"1 ras a4025021 8C03A000": func(is, was fakesmi.AscendCard) bool {
			return was.Health == "OK" && is.Health == "Warning" && cmp.Equal(is.ErrorCodes, []string{"A4025021", "8C03A000"})
		},
		"1 ras": func(is, _ fakesmi.AscendCard) bool { return len(is.ErrorCodes) == 1 },
		// With -c, the tool tells an alarm without a code as OK.
		"1 unhealthy": func(is, _ fakesmi.AscendCard) bool { return is.Health == "Alarm" && len(is.ErrorCodes) == 0 },
	} {
		_, healthy := ascendDetails(t, "910b-23.0", "", time.Hour)
		_, broken := ascendDetails(t, "910b-23.0", text, time.Hour)
		if !holds(broken[1], healthy[1]) {
			t.Errorf("%s is not to be seen:\n%s", text, cmp.Diff(healthy[1], broken[1], cmpopts.EquateNaNs()))
		}
		if diff := cmp.Diff(healthy[2], broken[2], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s shows on card 2:\n%s", text, diff)
		}
	}
}

// rate() of a counter that goes back is a burst that never was.
func TestCountersNeverGoBack(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 4))
	layout, err := fakesmi.AscendLayoutNamed("910b-23.0")
	if err != nil {
		t.Fatal(err)
	}
	var ascendLife, metaXLife fakesmi.Life
	now, before, grew := fakesmi.Moment{At: time.Unix(1e9, 0)}, map[string]uint64{}, 0
	for step := range 120 {
		var text strings.Builder
		for range random.IntN(4) {
			kinds := fakesmi.FaultKinds()
			fmt.Fprintf(&text, "%d %s\n", random.IntN(3), kinds[random.IntN(len(kinds))])
		}
		all, busy, past := faults(t, text.String()), random.Float64(), time.Duration(random.IntN(3e9))
		now = fakesmi.Moment{At: now.At.Add(past), Busy: now.Busy + busy*past.Seconds()}
		load := fakesmi.Load{Busy: busy, PID: 1}
		chips, gpus := layout.Machine(load, all...), fakesmi.MetaXMachine("2.2.9", load, all...)
		ascendLife.Live(now, all, chips.Devices)
		metaXLife.Live(now, all, gpus.Devices)
		counted := map[string]uint64{}
		addCounters(counted, "ascend", reflect.ValueOf(layout.AscendCards(chips, all, &ascendLife)))
		addCounters(counted, "metax", reflect.ValueOf(fakesmi.MetaXCards(gpus, all, &metaXLife)))
		for name, n := range counted {
			if was := before[name]; n < was && !strings.HasSuffix(name, ".NextDouble") {
				t.Fatalf("step %d, %q: %s went from %d to %d", step, text.String(), name, was, n)
			} else if n > was {
				grew++
			}
		}
		before = counted
	}
	if len(before) < 500 || grew < 3000 {
		t.Errorf("%d counters grew %d times", len(before), grew)
	}
}

// addCounters adds every uint64 below a value under its path.
func addCounters(to map[string]uint64, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint64:
		to[path] = v.Uint()
	case reflect.Slice:
		for i := range v.Len() {
			addCounters(to, fmt.Sprintf("%s.%d", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			addCounters(to, path+"."+key.String(), v.MapIndex(key))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				addCounters(to, path+"."+field.Name, v.Field(i))
			}
		}
	}
}

// A card that loses its link for the tenth time is told with its last ten changes.
func TestLifeIsBounded(t *testing.T) {
	machine := fakesmi.AscendMachine("23.0.7", 1, fakesmi.Load{})
	var l fakesmi.Life
	for i := range 100 {
		var all fakesmi.Faults
		if i%2 == 1 {
			all = faults(t, "port_down")
		}
		if !l.Live(fakesmi.Moment{At: time.Unix(int64(i), 0)}, all, machine.Devices) {
			t.Fatal("a change is not told")
		}
		if l.Live(fakesmi.Moment{At: time.Unix(int64(i), 1)}, all, machine.Devices) {
			t.Fatal("a change is told that was none")
		}
	}
	if got := l.Troubles[7]; len(l.Troubles) != 8 || got.Times != 50 || len(got.Changes) != 10 || got.Changes[0] != time.Unix(99, 0) {
		t.Errorf("kept: %+v", l.Troubles)
	}
}
