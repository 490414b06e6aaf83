package fakesmi_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

const rounds = 80

// A user would notice: a value of one card under another's name, a swapped
// column, a lost card, in any layout of any version.
func TestMetaXPrintsParseBack(t *testing.T) {
	for _, layout := range fakesmi.MetaXLayouts() {
		t.Run(layout.Name(), func(t *testing.T) {
			for seed := range uint64(rounds) {
				g := generator{rand.New(rand.NewPCG(seed, 1))}
				want := layout.Reduce(g.metax(layout.Name()))
				var b bytes.Buffer
				if err := layout.Print(&b, want, time.Unix(int64(seed), 0)); err != nil {
					t.Fatal(err)
				}
				got, err := metax.ParseTable(b.Bytes())
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, b.String())
				}
				if diff := cmp.Diff(want, got, modeltest.InAnyOrder()); diff != "" {
					t.Fatalf("seed %d: printed (-) and parsed (+) differ:\n%s\n%s", seed, diff, b.String())
				}
			}
		})
	}
}

func TestAscendPrintsParseBack(t *testing.T) {
	for _, layout := range fakesmi.AscendLayouts() {
		t.Run(layout.Name, func(t *testing.T) {
			for seed := range uint64(rounds) {
				g := generator{rand.New(rand.NewPCG(seed, 2))}
				want := layout.Reduce(g.ascend(layout.Version))
				var b bytes.Buffer
				if err := layout.Print(&b, want); err != nil {
					t.Fatal(err)
				}
				got, err := ascend.ParseInfo(b.Bytes())
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, b.String())
				}
				if diff := cmp.Diff(want, got, modeltest.InAnyOrder()); diff != "" {
					t.Fatalf("seed %d: printed (-) and parsed (+) differ:\n%s\n%s", seed, diff, b.String())
				}
			}
		})
	}
}

// A cut anywhere may lose cards and processes, never invent or change one.
func TestCutOutputInventsNothing(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(7, 3))}
	for _, layout := range fakesmi.MetaXLayouts() {
		var b bytes.Buffer
		if err := layout.Print(&b, layout.Reduce(g.metax(layout.Name())), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		cutEverywhere(t, layout.Name(), b.Bytes(), metax.ParseTable)
	}
	for _, layout := range fakesmi.AscendLayouts() {
		var b bytes.Buffer
		if err := layout.Print(&b, layout.Reduce(g.ascend(layout.Version))); err != nil {
			t.Fatal(err)
		}
		cutEverywhere(t, layout.Name, b.Bytes(), ascend.ParseInfo)
	}
}

func cutEverywhere(t *testing.T, name string, out []byte, parse modeltest.Parse) {
	t.Helper()
	whole, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]model.Device{}
	for _, d := range whole.Devices {
		devices[d.ID] = d
	}
	const stride = 11 // meets every column of every row, as lines have other lengths
	for n := 0; n < len(out); n += stride {
		got, err := parse(out[:n])
		if err != nil {
			continue
		}
		for _, d := range got.Devices {
			if !reflect.DeepEqual(devices[d.ID], d) {
				t.Fatalf("%s cut after %d bytes changes card %s:\n%s\n%s", name, n, d.ID, cmp.Diff(devices[d.ID], d), out[:n])
			}
		}
		for _, p := range got.Processes {
			if !slices.Contains(whole.Processes, p) {
				t.Fatalf("%s cut after %d bytes invents process %+v", name, n, p)
			}
		}
	}
}

func TestTopologyParsesBack(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 4))}
	r := g.metax("2.2.9")
	nics := []string{"mlx5_0", "eth-gpu1"}
	for i := range r.Devices {
		for j := range r.Devices {
			if i != j {
				r.Links = append(r.Links, model.Link{Device: r.Devices[i].ID, Peer: r.Devices[j].ID, Type: g.pick("MX", "NODE", "SYS", "NA")})
			}
		}
		for _, nic := range nics {
			r.Links = append(r.Links, model.Link{Device: r.Devices[i].ID, Peer: nic, Type: g.pick("PIX", "SYS")})
		}
		r.Devices[i].NUMANode = ptr(i % 4)
		r.Devices[i].CPUAffinity = fmt.Sprintf("%d-%d,%d-%d", i*8, i*8+7, 100+i*8, 107+i*8)
	}
	layout := fakesmi.MetaXLayouts()[4]
	var b bytes.Buffer
	if err := layout.PrintTopology(&b, r, nics, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	topology, err := metax.ParseTopology(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	bare := append([]model.Device(nil), r.Devices...)
	for i := range bare {
		bare[i].NUMANode, bare[i].CPUAffinity = nil, ""
	}
	got := model.Merge(model.Report{Devices: bare}, []model.Report{topology}, metax.Vendor().Resolve)
	if diff := cmp.Diff(r.Links, got.Links); diff != "" {
		t.Errorf("links printed (-) and parsed (+) differ:\n%s\n%s", diff, b.String())
	}
	if diff := cmp.Diff(r.Devices, got.Devices); diff != "" {
		t.Errorf("affinities printed (-) and parsed (+) differ:\n%s", diff)
	}
	if got.Warnings.Count > 0 {
		t.Errorf("warnings: %q", got.Warnings.Texts)
	}
}

func TestAscendInventoryParsesBack(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(5, 5))}
	layout := fakesmi.AscendLayouts()[4]
	r := g.ascend(layout.Version)
	for _, c := range []struct {
		name  string
		print func(*bytes.Buffer) error
		parse func([]byte) (model.Report, error)
	}{
		{"info -m", func(b *bytes.Buffer) error { return layout.PrintMapping(b, r) }, ascend.ParseMapping},
		{"info -l", func(b *bytes.Buffer) error { return layout.PrintList(b, r) }, ascend.ParseList},
	} {
		var b bytes.Buffer
		if err := c.print(&b); err != nil {
			t.Fatal(err)
		}
		got, err := c.parse(b.Bytes())
		if err != nil || got.Announced != len(r.Devices) {
			t.Errorf("%s announces %d chips (%v), want %d:\n%s", c.name, got.Announced, err, len(r.Devices), b.String())
		}
	}
}

// generator makes models that every layout's printer can be reduced to.
type generator struct{ *rand.Rand }

func ptr[T any](v T) *T { return &v }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

// reading is a whole number up to most, times scale, or nothing.
func (g generator) reading(to *model.Readings, most int, scale float64, m model.Metric, labels ...string) {
	if g.IntN(5) > 0 {
		*to = append(*to, modeltest.Reading(m, float64(g.IntN(most+1))*scale, labels...)...)
	}
}

// percent is a whole percentage, made the way a parser makes it.
func (g generator) percent(to *model.Readings, m model.Metric) {
	if g.IntN(5) > 0 {
		*to = append(*to, modeltest.Reading(m, float64(g.IntN(101))/100)...)
	}
}

// usage is a total up to most, with its used part or without, or nothing.
func (g generator) usage(to *model.Readings, most int, scale float64, prefix, unit string, labels ...string) {
	total := 1 + g.IntN(most)
	all, used := float64(total), float64(g.IntN(total+1))
	switch g.IntN(6) {
	case 0:
		*to = append(*to, modeltest.Usage(prefix, unit, scale, nil, &all, labels...)...)
	case 1:
	default:
		*to = append(*to, modeltest.Usage(prefix, unit, scale, &used, &all, labels...)...)
	}
}

func (g generator) metax(version string) model.Report {
	r := model.Report{Tool: &model.Tool{Name: "mx-smi", Version: version, DriverVersion: "3.1.4", RuntimeVersion: g.pick("", "3.3.0.1"), FirmwareVersion: "1.30.2.0"}}
	if version[0] == 'h' {
		r.Tool.Name = "ht-smi"
	}
	for i := range 1 + g.IntN(16) {
		d := model.Device{
			ID: strconv.Itoa(i), Name: g.pick("MXC500", "MetaX C550", "MetaX N260 VF"), Board: strconv.Itoa(i / 2),
			BusID:    g.pick("", fmt.Sprintf("%04x:%02x:00.0", g.IntN(2), i+3)),
			Health:   &model.Health{OK: true, State: "Available"},
			Readings: modeltest.Reading("power_limit_watts", float64(100+g.IntN(400))),
		}
		g.percent(&d.Readings, "utilization_ratio")
		g.reading(&d.Readings, 450, 1, "power_watts")
		g.reading(&d.Readings, 110, 1, "temperature_celsius", "chip")
		g.reading(&d.Readings, 9, 1, "performance_level")
		g.usage(&d.Readings, 90000, 1<<20, "memory_", "_bytes", "vram")
		if g.IntN(6) == 0 {
			d.Health = &model.Health{State: "Not Available", Reason: "Layout Node Not Found"}
		}
		r.Devices = append(r.Devices, d)
		for p := range g.IntN(4) {
			r.Processes = append(r.Processes, model.Process{Device: d.ID, PID: strconv.Itoa(1000*i + p + 1), Name: g.pick("python3.11", "ray::RayWorkerW", "a b", "VLLM::EngineCor"), UsedBytes: float64(g.IntN(60000)) * (1 << 20)})
		}
	}
	if g.IntN(2) == 0 {
		r.Slices = []model.Slice{{Device: "0", ID: "3", Readings: slices.Concat(
			modeltest.Reading("slice_memory_used_bytes", 7<<20), modeltest.Reading("slice_memory_quota_bytes", 900<<20),
			modeltest.Reading("slice_compute_quota_ratio", 0.25), modeltest.Reading("slice_utilization_ratio", 0.5),
		)}}
	}
	r.Announced = len(r.Devices)
	return r
}

func (g generator) ascend(version string) model.Report {
	r := model.Report{Tool: &model.Tool{Name: "npu-smi", Version: version, DriverVersion: version + ".b1"}}
	for i := range 1 + g.IntN(16) {
		d := model.Device{
			ID: strconv.Itoa(i + 4), NPU: strconv.Itoa(i*32 + 1), Chip: strconv.Itoa(i % 2),
			Name: g.pick("910B4", "Ascend910", "310P3"), BusID: g.pick("", fmt.Sprintf("0000:%02X:00.0", i+1)),
			Health:   g.state(),
			Readings: modeltest.Reading("temperature_celsius", float64(1+g.IntN(100)), "chip"),
		}
		g.percent(&d.Readings, "utilization_ratio")
		g.reading(&d.Readings, 4000, 0.5, "power_watts")
		g.usage(&d.Readings, 2000, 1, "hugepages_", "")
		g.usage(&d.Readings, 90000, 1<<20, "memory_", "_bytes", "ddr")
		g.usage(&d.Readings, 90000, 1<<20, "memory_", "_bytes", "hbm")
		r.Devices = append(r.Devices, d)
		for p := range g.IntN(4) {
			r.Processes = append(r.Processes, model.Process{Device: d.ID, PID: strconv.Itoa(1000*i + p + 1), Name: g.pick("", "python3.10", "/opt/venv/bin/py", "a b"), UsedBytes: float64(g.IntN(30000)) * (1 << 20)})
		}
	}
	return r
}

func (g generator) state() *model.Health {
	s := g.pick("OK", "OK", "OK", "Warning", "Alarm", "Critical", "UNKNOWN", "")
	if s == "" {
		return nil
	}
	return &model.Health{OK: s == "OK", State: s}
}
