package ascend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// captures are outputs of real machines and vendors' samples, kept beside the
// checkout and not in it.
const captures = "../../../shared/captures/npu-smi"

func needCaptures(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(captures); err != nil {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", captures)
	}
}

// facts are what a person reads in a capture. A chip reads as
// "device (NPU.chip) name bus health watts degrees percent pages ddr hbm".
type facts struct {
	tool, driver               string
	chips, processes, warnings int
	first, last                string
	topProcess                 string // device pid name MiB of the first row
}

func tables() map[string]facts {
	return map[string]facts{
		"info-20.2.0-310x4.txt": {
			tool: "20.2.0", driver: "20.2.0", chips: 4,
			first: "0 (215.0) 310 0000:DA:00.0 OK 12.8W 56C 0% pages=- ddr=2703/8192 hbm=-",
			last:  "3 (215.3) 310 0000:DB:00.0 OK 12.8W 55C 0% pages=- ddr=2703/8192 hbm=-",
		},
		"info-21.0.3.1-310x16.txt": {
			tool: "21.0.3.1", driver: "21.0.3.1", chips: 16,
			first: "0 (1.0) 310 0000:01:00.0 OK 12.8W 42C 0% pages=- ddr=2621/8192 hbm=-",
			last:  "15 (6.3) 310 0000:8E:00.0 OK 12.8W 47C 0% pages=- ddr=2621/8192 hbm=-",
		},
		"info-21.0.3.2-910ax2.txt": {
			tool: "21.0.3.2", driver: "21.0.3.2", chips: 2,
			first: "1 (1.0) 910A 0000:3B:00.0 OK 65.3W 45C 0% pages=- ddr=1809/15082 hbm=0/32768",
			last:  "4 (4.0) 910A 0000:86:00.0 OK 63.6W 44C 0% pages=- ddr=1809/15082 hbm=0/32768",
		},
		"info-21.0.4-310x4-hugepages.txt": {
			tool: "21.0.4", driver: "21.0.4.B030", chips: 4,
			first: "3 (6.0) 310 0000:89:00.0 OK 12.8W 73C 0% pages=0/970 ddr=2703/8192 hbm=-",
			last:  "6 (6.3) 310 0000:8C:00.0 OK 12.8W 65C 0% pages=0/970 ddr=2867/8192 hbm=-",
		},
		"info-22.0.0-310p3-narrow.txt": {
			tool: "22.0.0", driver: "22.0.2", chips: 1,
			first: "0 (0.0) 310P3 0000:5E:00.0 OK 16.7W 57C 0% pages=- ddr=932/21534 hbm=-",
			last:  "0 (0.0) 310P3 0000:5E:00.0 OK 16.7W 57C 0% pages=- ddr=932/21534 hbm=-",
		},
		"info-22.0.3-310p-edited-name.txt": {
			tool: "22.0.3", driver: "22.0.3", chips: 1,
			first: "0 (4.0) 910A 0000:81:00.0 OK - 43C 0% pages=0/970 ddr=861/21534 hbm=-",
			last:  "0 (4.0) 910A 0000:81:00.0 OK - 43C 0% pages=0/970 ddr=861/21534 hbm=-",
		},
		"info-22.0.3.1-910ax8.txt": {
			tool: "22.0.3.1", driver: "22.0.3.1", chips: 8,
			first: "0 (0.0) 910A 0000:61:00.0 OK 67.2W 43C 0% pages=15/15 ddr=1867/15077 hbm=0/32768",
			last:  "7 (7.0) 910A 0000:3D:00.0 OK 191.4W 40C 0% pages=15/15 ddr=1866/15077 hbm=0/32768",
		},
		"info-23.0.0-310b4-alarm.txt": {
			tool: "23.0.0", driver: "23.0.0", chips: 1,
			first: "0 (0.0) 310B4 - Alarm 0W 65C 0% pages=15/15 ddr=3628/15609 hbm=-",
			last:  "0 (0.0) 310B4 - Alarm 0W 65C 0% pages=15/15 ddr=3628/15609 hbm=-",
		},
		"info-23.0.2.1-910b2cx2-proc-trailing-space.txt": {
			tool: "23.0.2.1", driver: "23.0.2.1", chips: 2, processes: 1, topProcess: "0 124528 python3.8 17400",
			first: "0 (0.0) 910B2C 0000:5A:00.0 OK 88.6W 51C 0% pages=- ddr=- hbm=20701/65536",
			last:  "1 (1.0) 910B2C 0000:19:00.0 OK 99.6W 50C 0% pages=- ddr=- hbm=20687/65536",
		},
		"info-23.0.5-910a-warning-misaligned.txt": {
			tool: "23.0.5", driver: "23.0.5", chips: 2,
			first: "0 (0.0) xxx 0000:61:00.0 Warning 73.1W 37C 0% pages=- ddr=920/13553 hbm=0/32768",
			last:  "7 (7.0) xxx 0000:3D:00.0 OK 67W 38C 0% pages=- ddr=2346/15567 hbm=0/32768",
		},
		"info-23.0.7-910b4x8-busy-procs.txt": {
			tool: "23.0.7", driver: "23.0.7", chips: 8, processes: 4, topProcess: "0 91666 python3.9 26795",
			first: "0 (0.0) 910B4 0000:C1:00.0 OK 106.9W 39C 8% pages=- ddr=- hbm=29589/32768",
			last:  "7 (7.0) 910B4 0000:42:00.0 OK 85.1W 41C 0% pages=- ddr=- hbm=2829/32768",
		},
		"info-23.0.rc2-910b1-elided.txt": {
			tool: "23.0.rc2", driver: "23.0.rc2", chips: 3,
			first: "0 (0.0) 910B1 0000:C1:00.0 OK 88.4W 46C 0% pages=- ddr=- hbm=4175/65536",
			last:  "7 (7.0) 910B1 0000:42:00.0 OK 92.7W 48C 0% pages=- ddr=- hbm=4174/65536",
		},
		"info-23.0.rc3-910ax8-busy-hugepages.txt": {
			tool: "23.0.rc3", driver: "23.0.rc2.3", chips: 8, processes: 8, topProcess: "0 139667 python 30780",
			first: "0 (0.0) xxx 0000:C1:00.0 OK 73.4W 44C 0% pages=1123/1123 ddr=4565/15137 hbm=30710/32768",
			last:  "7 (7.0) xxx 0000:02:00.0 OK 69.1W 42C 0% pages=1123/1123 ddr=4690/15039 hbm=30710/32768",
		},
		"info-24.1.0-910ax8-named-910b.txt": {
			tool: "24.1.0", driver: "24.1.0", chips: 8,
			first: "0 (0.0) 910B 0000:C1:00.0 OK 70W 34C 0% pages=- ddr=1197/13553 hbm=1365/32768",
			last:  "7 (7.0) 910B 0000:02:00.0 OK 65.6W 33C 0% pages=- ddr=1777/15567 hbm=4/32768",
		},
		"info-24.1.0.3-910b3x8.txt": {
			tool: "24.1.0.3", driver: "24.1.0.3", chips: 8,
			first: "0 (0.0) 910B3 0000:C1:00.0 OK 98.9W 38C 0% pages=- ddr=- hbm=3382/65536",
			last:  "7 (7.0) 910B3 0000:42:00.0 OK 92.5W 43C 0% pages=- ddr=- hbm=3594/65536",
		},
		"info-24.1.rc1-910a-elided.txt": {
			tool: "24.1.rc1", driver: "24.1.rc1", chips: 1,
			first: "7 (7.0) xxx 0000:3D:00.0 OK 67W 44C 0% pages=- ddr=2505/15567 hbm=0/32768",
			last:  "7 (7.0) xxx 0000:3D:00.0 OK 67W 44C 0% pages=- ddr=2505/15567 hbm=0/32768",
		},
		"info-24.1.rc1.b030-910b3x8.txt": {
			tool: "24.1.rc1.b030", driver: "24.1.rc1.b030", chips: 8,
			first: "0 (0.0) 910B3 0000:C1:00.0 OK 101.8W 43C 0% pages=- ddr=- hbm=3318/65536",
			last:  "7 (7.0) 910B3 0000:42:00.0 OK 98.2W 44C 0% pages=- ddr=- hbm=3315/65536",
		},
		"info-24.1.rc2-910ax8-warning-procs.txt": {
			tool: "24.1.RC2", driver: "24.1.RC2", chips: 8, processes: 32, topProcess: "0 37656 hlt_host_devmm_ 686",
			first: "0 (0.0) xxx 0000:C1:00.0 OK 70.5W 42C 0% pages=1232/1232 ddr=4252/15137 hbm=0/32768",
			last:  "7 (7.0) xxx 0000:02:00.0 Warning 203.2W 42C 0% pages=1232/1232 ddr=4521/15039 hbm=0/32768",
		},
		"info-24.1.rc3-910b4x8.txt": {
			tool: "24.1.rc3", driver: "24.1.rc3", chips: 8,
			first: "0 (0.0) 910B4 0000:C1:00.0 OK 88.2W 36C 0% pages=- ddr=- hbm=2825/32768",
			last:  "7 (7.0) 910B4 0000:42:00.0 OK 86.3W 36C 0% pages=- ddr=- hbm=2830/32768",
		},
		"info-24.1.rc3.7-a3x8.txt": {
			tool: "24.1.rc3.7", driver: "24.1.rc3.7", chips: 16,
			first: "0 (0.0) Ascend910 0000:9D:00.0 OK 178.5W 36C 0% pages=- ddr=- hbm=3416/65536",
			last:  "15 (7.1) Ascend910 0000:83:00.0 OK - 37C 0% pages=- ddr=- hbm=3188/65536",
		},
		"info-25.0.rc1.1-910b4-1x8-preamble-procs.txt": {
			tool: "25.0.rc1.1", driver: "25.0.rc1.1", chips: 8, processes: 3, topProcess: "6 3495003 /usr/local/pyth 43087",
			first: "0 (0.0) 910B4-1 0000:C1:00.0 OK 93.6W 32C 0% pages=- ddr=- hbm=3381/65536",
			last:  "7 (7.0) 910B4-1 0000:42:00.0 OK 88.4W 35C 0% pages=- ddr=- hbm=46428/65536",
		},
		"info-25.2.0-a3x2-proc.txt": {
			tool: "25.2.0", driver: "25.2.0", chips: 4, processes: 1, topProcess: "3 990711 python 7746",
			first: "0 (0.0) Ascend910 0000:9C:00.0 OK 162.8W 37C 0% pages=- ddr=- hbm=3133/65536",
			last:  "3 (1.1) Ascend910 0000:39:00.0 OK - 38C 0% pages=- ddr=- hbm=10568/65536",
		},
		// Its header is another family's: what cannot be placed is left out.
		"info-25.3.rc1-910b1x8-mangled-header.txt": {
			tool: "25.3.rc1", driver: "25.3.rc1", chips: 8, warnings: 8,
			first: "0 (0.0) 910B1 0000:C1:00.0 OK 99.3W 50C - pages=- ddr=- hbm=-",
			last:  "4 (4.0) 910B1 0000:02:00.0 OK 98.3W 49C - pages=- ddr=- hbm=-",
		},
		"info-25.5.1-310p3-vnpu-container-preamble.txt": {
			tool: "25.5.1", driver: "25.5.1", chips: 1,
			first: "0 (32768.0) 310P3 0000:81:00.0 OK - 38C 0% pages=- ddr=0/8192 hbm=-",
			last:  "0 (32768.0) 310P3 0000:81:00.0 OK - 38C 0% pages=- ddr=0/8192 hbm=-",
		},
		"info-25.5.1-310p3x2-odd-separator.txt": {
			tool: "25.5.1", driver: "25.5.1", chips: 2,
			first: "0 (4.0) 310P3 0000:81:00.0 OK - 37C 0% pages=- ddr=1848/21525 hbm=-",
			last:  "1 (5.0) 310P3 0000:85:00.0 OK - 40C 0% pages=- ddr=1849/21525 hbm=-",
		},
		// Rows of 98 columns below rules of 99.
		"info-25.7.rc1-950prx3-narrow-procs.txt": {
			tool: "25.7.rc1", driver: "25.7.rc1", chips: 3, processes: 2, topProcess: "0 1530715 python 4724",
			first: "0 (0.) Ascend950PR 0000:71:00.0 Alarm 205.7W 71C 100% pages=- ddr=- hbm=90633/114688",
			last:  "2 (2.) Ascend950PR 0000:81:00.0 OK 192.7W 57C 0% pages=- ddr=- hbm=5413/131072",
		},
		"info-950-doc.txt": {
			tool: "x.x.x", driver: "x.x.x", chips: 1,
			first: "0 (0.) xxx 0000:91:00.0 OK 204.4W 56C 0% pages=- ddr=- hbm=4439/86016",
			last:  "0 (0.) xxx 0000:91:00.0 OK 204.4W 56C 0% pages=- ddr=- hbm=4439/86016",
		},
		"info-a3-softslice-container-5col.txt": {
			tool: "xxx.xxx.xxx", driver: "xxx.xxx.xxx", chips: 2,
			first: "0.0 (0.0) xxx 0000:9D:00.0 OK 157.3W 32C 0% pages=- ddr=- hbm=3130/65536",
			last:  "0.1 (0.1) xxx 0000:9D:00.0 OK - 32C 0% pages=- ddr=- hbm=3130/65536",
		},
	}
}

func reading(d model.Device) string {
	const none = "-"
	number := func(scale float64, unit string, m model.Metric, labels ...string) string {
		v, ok := d.Readings.Get(m, labels...)
		if !ok {
			return none
		}
		n, err := strconv.ParseFloat(strconv.FormatFloat(v*scale, 'f', 6, 64), 64)
		if err != nil {
			return err.Error()
		}
		return strconv.FormatFloat(n, 'f', -1, 64) + unit
	}
	pair := func(scale float64, used, total model.Metric, labels ...string) string {
		pair := number(scale, "", used, labels...) + "/" + number(scale, "", total, labels...)
		return strings.Replace(pair, "-/-", none, 1)
	}
	const mib = 1.0 / (1 << 20)
	bus, health := d.BusID, none
	if bus == "" {
		bus = none
	}
	if d.Health != nil {
		health = d.Health.State
	}
	return fmt.Sprintf("%s (%s.%s) %s %s %s %s %s %s pages=%s ddr=%s hbm=%s", d.ID, d.NPU, d.Chip, d.Name, bus, health,
		number(1, "W", "power_watts"), number(1, "C", "temperature_celsius", "chip"), number(100, "%", "utilization_ratio"),
		pair(1, "hugepages_used", "hugepages_total"),
		pair(mib, "memory_used_bytes", "memory_total_bytes", "ddr"), pair(mib, "memory_used_bytes", "memory_total_bytes", "hbm"))
}

func TestCapturedTables(t *testing.T) {
	needCaptures(t)
	for name, want := range tables() {
		t.Run(name, func(t *testing.T) {
			r, err := ascend.ParseInfo(modeltest.Read(t, filepath.Join(captures, name)))
			if err != nil {
				t.Fatal(err)
			}
			modeltest.CheckReport(t, r)
			got := facts{
				chips: len(r.Devices), processes: len(r.Processes), warnings: r.Warnings.Count,
				first: reading(r.Devices[0]), last: reading(r.Devices[len(r.Devices)-1]),
			}
			if r.Tool != nil {
				got.tool, got.driver = r.Tool.Version, r.Tool.DriverVersion
			}
			if len(r.Processes) > 0 {
				p := r.Processes[0]
				got.topProcess = strings.Join([]string{p.Device, p.PID, p.Name, strconv.Itoa(int(p.UsedBytes) >> 20)}, " ")
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(facts{})); diff != "" {
				t.Errorf("what a person reads (-) and what is read (+) differ:\n%s\nwarnings: %q", diff, r.Warnings.Texts)
			}
		})
	}
	mustBeAll(t, "info-", tables())
}

func TestCapturedInventories(t *testing.T) {
	needCaptures(t)
	for _, c := range []struct {
		prefix string
		parse  modeltest.Parse
		chips  map[string]int
	}{
		{"map-", ascend.ParseMapping, map[string]int{
			"map-20.2.0-310x4.txt": 4, "map-21.0.4-310x4-mcu.txt": 4, "map-22.0.3.1-910ax8.txt": 8, "map-23.0.5-910ax8-tabs.txt": 8,
			"map-25.5.1-910b3-mcu.txt": 1, "map-310p-duo-mcu.txt": 8, "map-910b-mcu.txt": 8, "map-950.txt": 1,
		}},
		{"list-", ascend.ParseList, map[string]int{"list-25.5.1-910b3.txt": 8, "list-25.5.1-910bx8.txt": 8, "list-950.txt": 1}},
	} {
		for name, want := range c.chips {
			r, err := c.parse(modeltest.Read(t, filepath.Join(captures, name)))
			if diff := cmp.Diff(model.Report{Announced: want}, r); err != nil || diff != "" {
				t.Errorf("%s: %v, want (-) and got (+) differ:\n%s", name, err, diff)
			}
		}
		mustBeAll(t, c.prefix, c.chips)
	}
}

func TestCapturedTopologies(t *testing.T) {
	needCaptures(t)
	type matrix struct{ first, last, firstCPUs, lastCPUs string }
	matrices := map[string]matrix{
		"topo-23.0.rc2-910b1x8.txt":      {"NPU0 HCCS NPU1", "NPU7 HCCS NPU6", "144-167", "48-71"},
		"topo-24.1.rc1.b030-910b3x8.txt": {"NPU0 HCCS NPU1", "NPU7 HCCS NPU6", "144-167", "48-71"},
		"topo-950-sys.txt":               {"NPU0 SYS NPU1", "NPU7 SYS NPU6", "0-63,128-191", "64-127,192-255"},
		"topo-950-ub.txt":                {"NPU0 UB NPU1", "NPU7 UB NPU6", "0-63,128-191", "64-127,192-255"},
	}
	for name, want := range matrices {
		r, err := ascend.ParseTopology(modeltest.Read(t, filepath.Join(captures, name)))
		if err != nil || r.Warnings.Count > 0 || len(r.Affinities) != 8 || len(r.Links) != 56 {
			t.Errorf("%s: %v, %d chips, %d links, warnings %q", name, err, len(r.Affinities), len(r.Links), r.Warnings.Texts)
			continue
		}
		link := func(l model.Link) string { return l.Device + " " + l.Type + " " + l.Peer }
		got := matrix{link(r.Links[0]), link(r.Links[55]), r.Affinities[0].CPUs, r.Affinities[7].CPUs}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	mustBeAll(t, "topo-", matrices)
}

func mustBeAll[T any](t *testing.T, prefix string, known map[string]T) {
	t.Helper()
	for _, file := range modeltest.Glob(t, filepath.Join(captures, prefix+"*")) {
		if _, ok := known[filepath.Base(file)]; !ok {
			t.Errorf("nobody has read %s: add what a person reads in it", filepath.Base(file))
		}
	}
}

// What answers another question must never become chips.
func TestOtherCapturesAreRefused(t *testing.T) {
	needCaptures(t)
	parsers := map[string]modeltest.Parse{
		"info-": ascend.ParseInfo, "map-": ascend.ParseMapping, "topo-": ascend.ParseTopology,
	}
	others := 0
	for _, file := range append(modeltest.Glob(t, filepath.Join(captures, "*.txt")), modeltest.Glob(t, filepath.Join(captures, "../mx-smi/*.txt"))...) {
		name, text := filepath.Base(file), modeltest.Read(t, file)
		for prefix, parse := range parsers {
			if strings.HasPrefix(name, prefix) && (prefix == "topo-" || strings.Contains(file, "npu-smi/")) {
				continue
			}
			others++
			if r, err := parse(text); err == nil {
				t.Errorf("%s read as %s* gives %+v", name, prefix, r)
			}
		}
	}
	if others < 300 {
		t.Errorf("only %d readings were tried", others)
	}
}

// A tool's errors are told apart by what it prints.
func TestCapturedErrorsHaveAReason(t *testing.T) {
	needCaptures(t)
	reasons := map[string]string{
		"error-dcmi-8005.txt": "driver", "error-missing-lib-libc_sec.txt": "driver",
		"error-not-supported-spod-950.txt": "unsupported", "error-board-invalid-card-23.0.7-910a.txt": "no_device",
		"error-src-must-input-chip.txt": "unsupported", "error-src-hccs-bw-no-time.txt": "unsupported",
	}
	for name, want := range reasons {
		reason, line, ok := ascend.Classify(modeltest.Read(t, filepath.Join(captures, name)))
		if !ok || string(reason) != want || line == "" {
			t.Errorf("%s is %q (%q), want %q", name, reason, line, want)
		}
	}
	mustBeAll(t, "error-", reasons)
}
