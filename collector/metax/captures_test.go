package metax_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// captures are outputs of real machines, kept beside the checkout and not in it.
const captures = "../../../shared/captures/mx-smi"

func needCaptures(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(captures); err != nil {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", captures)
	}
}

// reading is one card as a person reads it off a capture.
type reading struct {
	id, name, bus      string
	util, watts, limit int // %, W; -1 where not printed
	celsius, perf      int
	usedMiB, totalMiB  int
	state              string
}

type facts struct {
	tool                       model.Tool
	cards, processes, warnings int
	slices                     int
	first, last                reading
	topProcess                 string // device pid name MiB of the first row
}

func tool(name, version, driver, runtime, firmware string) model.Tool {
	return model.Tool{Name: name, Version: version, DriverVersion: driver, RuntimeVersion: runtime, FirmwareVersion: firmware}
}

// What a person reads in each default table.
func tables() map[string]facts {
	c500 := tool("mx-smi", "2.2.12", "3.8.30", "3.5.3.20", "1.33.5.0")
	old := tool("mx-smi", "2.1.6", "2.5.014", "2.23.0.1018", "1.13.5.0")
	image := tool("mx-smi", "2.2.6", "3.8.30", "3.0.0.8", "1.33.5.0")
	one := func(r reading, f facts) facts {
		f.cards, f.first, f.last = 1, r, r
		return f
	}
	return map[string]facts{
		"default-2.1.6-mxc500x4-idle.txt": {
			tool: old, cards: 4, processes: 4, topProcess: "0 15652 python 60032",
			first: reading{"0", "MXC500", "0000:05:00.0", 0, 71, -1, 51, -1, 60982, 65536, ""},
			last:  reading{"3", "MXC500", "0000:0f:00.0", 0, 71, -1, 50, -1, 60534, 65536, ""},
		},
		"default-2.1.6-mxc500x4-deepseek-load.txt": {
			tool: old, cards: 4, processes: 4, topProcess: "0 279777 python 60352",
			first: reading{"0", "MXC500", "0000:05:00.0", 34, 112, -1, 54, -1, 61292, 65536, ""},
			last:  reading{"3", "MXC500", "0000:0f:00.0", 33, 111, -1, 53, -1, 60716, 65536, ""},
		},
		"default-2.1.6-mxc500x4-qwen-load.txt": {
			tool: old, cards: 4, processes: 4, topProcess: "0 343683 python 59328",
			first: reading{"0", "MXC500", "0000:05:00.0", 36, 122, -1, 54, -1, 60278, 65536, ""},
			last:  reading{"3", "MXC500", "0000:0f:00.0", 35, 122, -1, 54, -1, 59830, 65536, ""},
		},
		"default-2.1.6-mxc550x8-idle.txt": {
			tool: tool("mx-smi", "2.1.6", "2.5.014", "2.23.0.1018", "1.13.4.0"), cards: 8,
			first: reading{"0", "MXC550", "0000:2a:00.0", 0, 44, -1, 31, -1, 810, 65536, ""},
			last:  reading{"7", "MXC550", "0000:da:00.0", 0, 47, -1, 30, -1, 810, 65536, ""},
		},
		"default-2.1.12-mxc500x8-training.txt": {
			tool: tool("mx-smi", "2.1.12", "2.12.13", "2.29.0.19", "1.22.3.0"), cards: 8, processes: 15, topProcess: "0 3496691 python3.10 4066",
			first: reading{"0", "MetaX C500", "0000:0e:00.0", 0, 69, 350, 36, -1, 5680, 65536, ""},
			last:  reading{"7", "MetaX C500", "0000:38:00.0", 0, 71, 350, 38, -1, 4986, 65536, ""},
		},
		"default-2.2.4-mxc500x1-idle.txt": one(
			reading{"0", "MetaX C500", "0000:01:00.0", 0, 48, 350, 45, -1, 858, 65536, "Available"},
			facts{tool: tool("mx-smi", "2.2.4", "2.14.8", "2.33.0.5", "1.24.4.0")}),
		"default-2.2.4-mxc550x8-idle.txt": {
			tool: tool("mx-smi", "2.2.4", "2.15.9", "2.32.0.6", "1.25.1.0"), cards: 8,
			first: reading{"0", "MetaX C550", "0000:0f:00.0", 0, 53, 450, 29, -1, 858, 65536, "Available"},
			last:  reading{"7", "MetaX C550", "0000:d7:00.0", 0, 56, 450, 31, -1, 858, 65536, "Available"},
		},
		"default-2.2.6-mxc500-sgpu25-idle.txt": one(
			reading{"0", "MetaX C500", "0000:37:00.0", 0, 57, 350, 36, 0, 826, 65536, "Available"}, facts{tool: image, slices: 1}),
		"default-2.2.6-mxc500-sgpu25-loaded.txt": one(
			reading{"0", "MetaX C500", "0000:37:00.0", 21, 100, 350, 37, 9, 1385, 65536, "Available"},
			facts{tool: image, slices: 1, processes: 1, topProcess: "0 2735 python3 558"}),
		"default-2.2.6-mxc500x1-native-process.txt": one(
			reading{"0", "MetaX C500", "0000:38:00.0", 0, 71, 350, 44, 9, 986, 65536, "Available"},
			facts{tool: tool("mx-smi", "2.2.6", "2.16.0", "3.0.0.8", "1.26.1.0"), processes: 1, topProcess: "0 2477 python 128"}),
		"default-2.2.8-n260x2-idle.txt": {
			tool: tool("mx-smi", "2.2.8", "3.0.11", "3.1.0.14", "1.26.1.0"), cards: 2,
			first: reading{"0", "MetaX N260", "0000:01:00.0", 0, 29, 225, 37, 0, 666, 65536, "Available"},
			last:  reading{"1", "MetaX N260", "0000:21:00.0", 0, 33, 225, 37, 0, 666, 65536, "Available"},
		},
		"default-2.2.9-mxc500x8-idle.txt": {
			tool: tool("mx-smi", "2.2.9", "3.4.4", "3.3.0.15", "1.30.0.0"), cards: 8,
			first: reading{"0", "MetaX C500", "0000:0e:00.0", 0, 57, 350, 35, 0, 826, 65536, "Available"},
			last:  reading{"7", "MetaX C500", "0000:38:00.0", 0, 56, 350, 36, 0, 826, 65536, "Available"},
		},
		"default-ht-smi-2.2.9-x201x8-idle.txt": {
			tool: tool("ht-smi", "2.2.9", "3.4.4", "3.3.0.15", "1.30.0.0"), cards: 8,
			first: reading{"0", "Mars X201", "0000:4b:00.0", 0, 38, 350, 34, 0, 858, 65536, "Available"},
			last:  reading{"7", "Mars X201", "0000:cf:00.0", 0, 44, 350, 34, 0, 858, 65536, "Available"},
		},
		"default-2.2.12-mxc500-sgpu25-idle.txt": one(
			reading{"0", "MetaX C500", "0000:37:00.0", 0, 61, 350, 38, 9, 15155, 65536, "Available"}, facts{tool: c500, slices: 1}),
		"default-2.2.12-mxc500-sgpu25-vllm-loaded.txt": one(
			reading{"0", "MetaX C500", "0000:37:00.0", 3, 67, 350, 38, 9, 26153, 65536, "Available"},
			facts{tool: c500, slices: 1, processes: 1, topProcess: "0 3986 VLLM::EngineCor 10998"}),
		"default-2.2.12-mxc500-sgpu25-vllm-loaded-2.txt": one(
			reading{"0", "MetaX C500", "0000:37:00.0", 5, 72, 350, 38, 9, 26241, 65536, "Available"},
			facts{tool: c500, slices: 1, processes: 1, topProcess: "0 15377 VLLM::EngineCor 11084"}),
	}
}

func readingOf(d model.Device) reading {
	whole := func(scale float64, m model.Metric, labels ...string) int {
		v, ok := d.Readings.Get(m, labels...)
		if !ok {
			return -1
		}
		return int(v*scale + 0.5)
	}
	r := reading{
		id: d.ID, name: d.Name, bus: d.BusID,
		util: whole(100, "utilization_ratio"), watts: whole(1, "power_watts"), limit: whole(1, "power_limit_watts"),
		celsius: whole(1, "temperature_celsius", "chip"), perf: whole(1, "performance_level"),
		usedMiB: whole(1.0/(1<<20), "memory_used_bytes", "vram"), totalMiB: whole(1.0/(1<<20), "memory_total_bytes", "vram"),
	}
	if d.Health != nil {
		r.state = d.Health.State
	}
	return r
}

func TestCapturedTables(t *testing.T) {
	needCaptures(t)
	for name, want := range tables() {
		t.Run(name, func(t *testing.T) {
			r, err := metax.ParseTable(modeltest.Read(t, filepath.Join(captures, name)))
			if err != nil {
				t.Fatal(err)
			}
			modeltest.CheckReport(t, r)
			got := facts{
				cards: len(r.Devices), processes: len(r.Processes), warnings: r.Warnings.Count, slices: len(r.Slices),
				first: readingOf(r.Devices[0]), last: readingOf(r.Devices[len(r.Devices)-1]),
			}
			if r.Tool != nil {
				got.tool = *r.Tool
			}
			if len(r.Processes) > 0 {
				p := r.Processes[0]
				got.topProcess = strings.Join([]string{p.Device, p.PID, p.Name, strconv.Itoa(int(p.UsedBytes) >> 20)}, " ")
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(facts{}, reading{})); diff != "" {
				t.Errorf("what a person reads (-) and what is read (+) differ:\n%s\nwarnings: %q", diff, r.Warnings.Texts)
			}
			if r.Announced != want.cards {
				t.Errorf("announces %d cards, want %d", r.Announced, want.cards)
			}
		})
	}
}

// A slice's figures are not its card's.
func TestCapturedSlices(t *testing.T) {
	needCaptures(t)
	const mib = 1 << 20
	for name, told := range map[string]struct{ usedMiB, util float64 }{
		"default-2.2.6-mxc500-sgpu25-idle.txt":           {0, 0},
		"default-2.2.6-mxc500-sgpu25-loaded.txt":         {558, 0.21},
		"default-2.2.12-mxc500-sgpu25-idle.txt":          {0, 0},
		"default-2.2.12-mxc500-sgpu25-vllm-loaded.txt":   {10998, 0.03},
		"default-2.2.12-mxc500-sgpu25-vllm-loaded-2.txt": {11084, 0.02},
	} {
		want := model.Slice{Device: "0", ID: "3", Readings: slices.Concat(
			modeltest.Reading("slice_compute_quota_ratio", 0.25), modeltest.Reading("slice_memory_used_bytes", told.usedMiB*mib),
			modeltest.Reading("slice_memory_quota_bytes", 16000*mib), modeltest.Reading("slice_utilization_ratio", told.util),
		)}
		r, err := metax.ParseTable(modeltest.Read(t, filepath.Join(captures, name)))
		if diff := cmp.Diff([]model.Slice{want}, r.Slices); err != nil || diff != "" {
			t.Errorf("%s: %v, want (-) and got (+) differ:\n%s", name, err, diff)
		}
	}
}

func TestCapturedLists(t *testing.T) {
	needCaptures(t)
	lists := map[string][]model.Device{
		"list-2.2.12-mxc500-sgpu25.txt": {{
			ID: "0", Name: "MXC500", BusID: "0000:37:00.0", UUID: "GPU-df110ed1-56d2-e35b-d97b-e23bca667d75",
			Health: &model.Health{OK: true, State: "Available"},
		}},
	}
	for name, want := range lists {
		r, err := metax.ParseList(modeltest.Read(t, filepath.Join(captures, name)))
		if diff := cmp.Diff(model.Report{Listed: want, Announced: len(want)}, r); err != nil || diff != "" {
			t.Errorf("%s: %v, want (-) and got (+) differ:\n%s", name, err, diff)
		}
	}
	mustBeAll(t, "list-", lists)
}

func TestCapturedTopologies(t *testing.T) {
	needCaptures(t)
	node := func(name, cpus string) model.Affinity {
		return model.Affinity{Name: name, NUMANode: ptr(0), CPUs: cpus}
	}
	type matrix struct {
		cards, links int
		some         []model.Link
		last         model.Affinity
	}
	matrices := map[string]matrix{
		"topo-m-2.1.6-mxc500x4.txt":  {4, 12, []model.Link{{Device: "GPU0", Peer: "GPU1", Type: "MX"}, {Device: "GPU3", Peer: "GPU2", Type: "MX"}}, node("GPU3", "0-15")},
		"topo-m-2.2.12-mxc500x1.txt": {1, 0, nil, node("GPU0", "0-31,64-95")},
		"topo-m-2.2.9-mxc500x8.txt": {8, 56, []model.Link{
			{Device: "GPU0", Peer: "GPU3", Type: "MX"},
			{Device: "GPU0", Peer: "GPU4", Type: "NODE"},
			{Device: "GPU7", Peer: "GPU6", Type: "MX"},
		}, node("GPU7", "0-31,64-95")},
		"topo-n-2.2.9-mxc500x8-6nic.txt": {8, 104, []model.Link{
			{Device: "GPU0", Peer: "mlx5_0", Type: "PIX"},
			{Device: "GPU4", Peer: "mlx5_1", Type: "NODE"},
			{Device: "GPU7", Peer: "mlx5_5", Type: "SYS"},
		}, node("GPU7", "0-31,64-95")},
	}
	for name, want := range matrices {
		r, err := metax.ParseTopology(modeltest.Read(t, filepath.Join(captures, name)))
		if err != nil || r.Warnings.Count > 0 || len(r.Affinities) != want.cards || len(r.Links) != want.links {
			t.Errorf("%s: %v, %d cards, %d links, warnings %q", name, err, len(r.Affinities), len(r.Links), r.Warnings.Texts)
			continue
		}
		has := map[model.Link]bool{}
		for _, l := range r.Links {
			has[l] = true
		}
		for _, l := range want.some {
			if !has[l] {
				t.Errorf("%s: no link %+v", name, l)
			}
		}
		if diff := cmp.Diff(want.last, r.Affinities[want.cards-1]); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
	mustBeAll(t, "topo-", matrices)
}

func TestEveryCapturedTableHasItsFacts(t *testing.T) {
	needCaptures(t)
	mustBeAll(t, "default-", tables())
}

func mustBeAll[T any](t *testing.T, prefix string, known map[string]T) {
	t.Helper()
	for _, file := range modeltest.Glob(t, filepath.Join(captures, prefix+"*")) {
		if _, ok := known[filepath.Base(file)]; !ok {
			t.Errorf("nobody has read %s: add what a person reads in it", filepath.Base(file))
		}
	}
}

// What answers another question must never become cards.
func TestOtherCapturesAreRefused(t *testing.T) {
	needCaptures(t)
	others := 0
	for _, file := range append(modeltest.Glob(t, filepath.Join(captures, "*.txt")), modeltest.Glob(t, filepath.Join(captures, "../npu-smi/*.txt"))...) {
		name, text := filepath.Base(file), modeltest.Read(t, file)
		mx := strings.Contains(file, "mx-smi/")
		for prefix, p := range map[string]modeltest.Parse{"default-": metax.ParseTable, "list-": metax.ParseList, "topo-": metax.ParseTopology} {
			if mx && strings.HasPrefix(name, prefix) || prefix == "topo-" && strings.HasPrefix(name, "topo-") {
				continue
			}
			others++
			if r, err := p(text); err == nil {
				t.Errorf("%s read as %s* gives %+v", name, prefix, r)
			}
		}
	}
	if others < 200 {
		t.Errorf("only %d readings were tried", others)
	}
}
