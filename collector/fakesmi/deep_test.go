package fakesmi_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// samples are what is told, by device, metric and labels.
type samples map[string]float64

func (s samples) add(device, metric string, v float64, labels ...string) {
	if !math.IsNaN(v) {
		s[fmt.Sprintf("%s %s{%s}", device, metric, strings.Join(labels, ","))] = v
	}
}

// readBack parses a text as the collector does; what is refused tells nothing.
func readBack(t *testing.T, d smi.Detail, text string, cards []model.Device) samples {
	t.Helper()
	all, err := d.Parse([]byte(text), cards)
	got := samples{}
	for _, x := range all {
		for _, r := range x.Readings {
			got.add(x.Device, string(r.Metric), r.Value, r.Labels...)
		}
		if len(x.Warnings) > 0 {
			t.Errorf("%s: warnings %q", d.Name, x.Warnings)
		}
	}
	if err != nil && len(all) > 0 {
		t.Errorf("%s: told something, and %v", d.Name, err)
	}
	return got
}

func (s samples) compare(t *testing.T, what, text string, got samples) {
	t.Helper()
	if diff := cmp.Diff(s, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Fatalf("%s: printed (-) and read (+) differ:\n%s\n%s", what, diff, text)
	}
}

// shake puts other numbers for all counters and flags below a value.
func shake(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint64:
		v.SetUint(r.Uint64N(1 << (1 + r.UintN(31))))
	case reflect.Uint8:
		v.SetUint(r.Uint64N(16))
	case reflect.Bool:
		v.SetBool(r.IntN(4) > 0)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			shake(r, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.ValueOf(r.Uint64N(1<<(1+r.UintN(52)))))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			shake(r, v.Field(i))
		}
	}
}

// randomFaults are some cards' troubles, now and then none.
func randomFaults(t *testing.T, r *rand.Rand) fakesmi.Faults {
	t.Helper()
	var text strings.Builder
	for range r.IntN(6) {
		kinds := fakesmi.FaultKinds()
		fmt.Fprintf(&text, "%d %s\n", r.IntN(8), kinds[r.IntN(len(kinds))])
	}
	return faults(t, text.String())
}

func randomLoad(r *rand.Rand) fakesmi.Load {
	return fakesmi.Load{Busy: r.Float64(), Cache: r.Float64(), PID: 42, Process: "python3"}
}

// rounded is a value as it is printed with so many decimals.
func rounded(v float64, n int) float64 {
	s, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', n, 64), 64)
	return s
}

// A user would notice a number of one rail under another's name, a unit that is off by a
// thousand, or a counter of another card: what each of mx-smi's deeper commands prints of
// any machine is read back, and nothing else is told.
func TestMetaXDetailsParseBack(t *testing.T) {
	want := map[string]func(samples, fakesmi.MetaXCard){"summary": wantSummary, "counters": wantCounters, "json": wantJSON}
	for _, layout := range fakesmi.MetaXLayouts() {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 11))
			all := randomFaults(t, r)
			machine := fakesmi.MetaXMachine(layout.Version, randomLoad(r), all...)
			cards := fakesmi.MetaXCards(machine, all, lived(machine.Devices, all, time.Duration(r.Uint64N(1e14))))
			shake(r, reflect.ValueOf(cards))
			for _, d := range metax.Vendor().Details {
				var b bytes.Buffer
				var err error
				switch at := time.Unix(0, 0); d.Name {
				case "summary":
					err = layout.PrintSummary(&b, cards, at)
				case "counters":
					err = layout.PrintFlags(&b, d.Flags, cards, at)
				case "json":
					err = layout.PrintJSON(&b, machine.Tool, cards, at)
				}
				if err != nil {
					t.Fatal(err)
				}
				expected := samples{}
				for _, c := range cards {
					want[d.Name](expected, c)
				}
				expected.compare(t, fmt.Sprintf("%s %s seed %d", layout.Name(), d.Name, seed), b.String(), readBack(t, d, b.String(), machine.Devices))
			}
		}
	}
}

func wantSummary(s samples, c fakesmi.MetaXCard) {
	add := func(metric string, v float64, labels ...string) { s.add(c.Device, metric, v, labels...) }
	add("engine_utilization_ratio", c.Encoder/100, "vpu_encode")
	add("engine_utilization_ratio", c.Decoder/100, "vpu_decode")
	add("temperature_celsius", rounded(c.Hotspot, 2), "hotspot")
	sensors := map[string]string{"DrMOS_soc": "board_soc", "DrMOS_core": "board_core", "tdiode": "tdiode", "air-inlet": "air_inlet", "air-outlet": "air_outlet"}
	for _, f := range c.Board {
		add("temperature_celsius", rounded(f.Value, 2), sensors[f.Name])
	}
	for _, w := range slices.Concat(c.Rails, c.Ways) {
		rail := strings.ReplaceAll(strings.ToLower(w.Name), " ", "")
		add("rail_volts", rounded(w.Volts, 3), rail)
		add("rail_amperes", rounded(w.Amperes, 3), rail)
		add("rail_power_watts", rounded(w.Watt, 3), rail)
	}
	add("power_watts", rounded(c.Total, 3))
	add("power_limit_watts", rounded(c.Limit, 3))
	add("performance_level", c.Levels[0].Value)
	clocks := map[string]string{"XCORE_CLK": "core", "MC0_DFICLK": "memory", "VPU_ENCCLK": "vpu_encode", "VPU_DECCLK0": "vpu_decode"}
	for _, k := range c.Clocks {
		if name := clocks[k.Name]; name != "" {
			add("clock_hertz", 1e6*k.MHz, name)
		}
	}
	for _, m := range c.Memories {
		if name := map[string]string{"vram": "vram", "xtt": "host_mapped"}[m.Name]; name != "" {
			add("memory_used_bytes", 1024*rounded(m.Used, 0), name)
			add("memory_total_bytes", 1024*rounded(m.Total, 0), name)
		}
	}
}

func wantCounters(s samples, c fakesmi.MetaXCard) {
	add := func(metric string, v float64, labels ...string) { s.add(c.Device, metric, v, labels...) }
	add("ecc_errors_total", float64(c.ECC.SRAMCorrectable), "sram", "correctable")
	add("ecc_errors_total", float64(c.ECC.SRAMUncorrectable), "sram", "uncorrectable")
	add("ecc_errors_total", float64(c.ECC.DRAMCorrectable), "dram", "correctable")
	add("ecc_errors_total", float64(c.ECC.DRAMUncorrectable), "dram", "uncorrectable")
	add("ecc_retired_pages", float64(c.ECC.RetiredPages), "dram", "uncorrectable")
	add("ecc_enabled", oneIf(c.ECC.Enabled), "")
	for _, p := range []struct {
		fakesmi.PCIeLink
		end string
	}{{c.PCIe, ""}, {c.PCIeMax, "_max"}} {
		add("pcie_link_transfers_per_second"+p.end, 1e9*p.Speed)
		add("pcie_link_width"+p.end, float64(p.Width))
	}
	add("pcie_bytes_per_second", c.PCIeReceive*(1<<20), "receive")
	add("pcie_bytes_per_second", c.PCIeSend*(1<<20), "transmit")
	add("memory_bandwidth_bytes_per_second", c.HBM*(1<<20), "vram")
	for _, r := range c.Throttles {
		add("throttled", oneIf(r.Active), strings.ReplaceAll(strings.ToLower(r.Reason), " ", "_"))
	}
}

func wantJSON(s samples, c fakesmi.MetaXCard) {
	for _, r := range c.Registers {
		n, _ := strconv.ParseUint(strings.TrimPrefix(r.Text, "0x"), 16, 64)
		s.add(c.Device, "ras_status", float64(n), strings.ReplaceAll(strings.ToLower(r.Name), " ", "_"))
	}
	sum := func(all []fakesmi.Figure) (n float64) {
		for _, f := range all {
			n += math.Round(f.Value)
		}
		return n
	}
	s.add(c.Device, "ras_errors_total", sum(c.CorrectErrors), "correctable")
	s.add(c.Device, "ras_errors_total", sum(c.UncorrectedErrors), "uncorrectable")
	for _, event := range []string{"aer_ue", "aer_ce", "synfld", "dbe", "mmio"} {
		s.add(c.Device, "pci_events_total", 0, event)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The same of npu-smi and hccn_tool, on every family, with the arguments that the
// collector gives.
func TestAscendDetailsParseBack(t *testing.T) {
	for _, layout := range fakesmi.AscendLayouts() {
		t.Run(layout.Name, func(t *testing.T) {
			told := map[string]int{}
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 12))
				all := randomFaults(t, r)
				machine := layout.Machine(randomLoad(r), all...)
				chips := layout.AscendCards(machine, all, lived(machine.Devices, all, time.Duration(r.Uint64N(1e14))))
				shake(r, reflect.ValueOf(chips))
				var table bytes.Buffer
				if err := layout.Print(&table, layout.Reduce(machine)); err != nil {
					t.Fatal(err)
				}
				report, err := ascend.ParseInfo(table.Bytes())
				if err != nil || len(report.Devices) != len(chips) {
					t.Fatalf("%d devices, %v", len(report.Devices), err)
				}
				host := asking{t, layout, chips, report.Devices, told}
				for _, d := range ascend.Vendor().Details {
					host.ask(d)
				}
			}
			for _, d := range ascend.Vendor().Details {
				if _, known := told[d.Name]; !known {
					t.Errorf("%s was not asked", d.Name)
				}
			}
			if told["watch"] == 0 || told["usages"] == 0 || told["ecc"] == 0 || told["common"] == 0 {
				t.Errorf("told: %v", told)
			}
		})
	}
}

// asking asks a simulated host as the collector does.
type asking struct {
	t       *testing.T
	layout  fakesmi.AscendLayout
	chips   []fakesmi.AscendCard
	devices []model.Device
	told    map[string]int // samples of each command
}

func (a asking) ask(d smi.Detail) {
	a.t.Helper()
	a.told[d.Name] += 0
	if d.Scope == smi.Host {
		a.compare(d, a.devices, d.Args(model.Device{})[0])
		return
	}
	for i, device := range a.devices {
		cards := a.devices[i : i+1]
		if d.Scope == smi.Card {
			cards = slices.DeleteFunc(slices.Clone(a.devices), func(o model.Device) bool { return o.NPU != device.NPU })
		}
		if cards[0].ID != device.ID || d.When != nil && d.Name != "health" && !d.When(&device) {
			continue
		}
		text := a.compare(d, cards, d.Args(device)[0])
		if d.More != nil {
			for _, more := range d.More([]byte(text), device) {
				a.compare(more, cards, more.Args(device)[0])
			}
		}
	}
}

func (a asking) compare(d smi.Detail, cards []model.Device, args []string) (text string) {
	a.t.Helper()
	text = a.answer(args)
	expected := samples{}
	for i := range cards {
		c := &a.chips[slices.IndexFunc(a.chips, func(c fakesmi.AscendCard) bool { return c.Device == cards[i].ID })]
		wantAscend(expected, strings.SplitN(a.layout.Name, "-", 2)[0], d.Name, c, option(args, "-p"), len(cards) == 1)
	}
	a.told[d.Name] += len(expected)
	expected.compare(a.t, fmt.Sprintf("%q of %s", args, d.Name), text, readBack(a.t, d, text, cards))
	return text
}

// answer is what the tool says on standard output.
func (a asking) answer(args []string) string {
	said := fakesmi.Answer{}
	switch {
	case args[0] == "info" && args[1] == "watch":
		said.Text = a.layout.WatchHeader("")
		for i := range a.chips {
			said.Text += a.layout.WatchLine("", &a.chips[i])
		}
	case args[0] == "info":
		said = a.layout.Query(fakesmi.AscendQuery{Type: option(args, "-t"), NPU: option(args, "-i"), Chip: option(args, "-c")}, a.chips)
	default:
		q := fakesmi.NetworkQuery{Device: option(args, "-i"), UDie: option(args, "-u"), Port: option(args, "-p")}
		for _, arg := range args {
			if len(arg) > len("-i") {
				q.Command = strings.TrimPrefix(arg, "-")
			}
		}
		said = a.layout.Network(q, a.chips, time.Unix(1e9, 0))
	}
	if said.Errs {
		return ""
	}
	return said.Text
}

func option(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 {
		return args[i+1]
	}
	return ""
}
