package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// captures are outputs of real machines and vendors' samples, kept beside the checkout and
// not in it.
const captures = "../../shared/captures"

// captured are the captures of what is asked: detail, file, and the cards that it is about.
func captured() [][3]string {
	const (
		c500, two   = "0 0000:37:00.0", "0 0000:37:00.0,1 0000:38:00.0"
		b0, b1, b3  = "0 0.0 hbm", "1 1.0 hbm", "3 3.0 hbm"
		a950, duo   = "0 0 hbm", "1 1.0 ddr,2 1.1 ddr"
		a3npu0      = "0 0.0 hbm,1 0.1 hbm"
		a3npu4      = "8 4.0 hbm,9 4.1 hbm"
		eight950    = "0 0 hbm,1 1 hbm,2 2 hbm,3 3 hbm,4 4 hbm,5 5 hbm,6 6 hbm,7 7 hbm"
		b2, b5, pro = "2 2.0 hbm", "5 5.0 hbm", "2 2.0 ddr"
	)
	return [][3]string{
		{"counters", "mx-smi/count-ecc-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/count-ecc-2.2.9-mxc500x8-abridged.txt", "0 0000:08:00.0"},
		{"counters", "mx-smi/count-ecc-derived-errors-x2.txt", two},
		{"json", "mx-smi/json-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-clk-tr-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-clk-tr-derived-active.txt", c500},
		{"counters", "mx-smi/show-ecc-state-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-hbm-bandwidth-2.2.12-mxc500-loaded.txt", c500},
		{"counters", "mx-smi/show-hbm-bandwidth-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-hbm-bandwidth-2.2.6-mxc500.txt", c500},
		{"counters", "mx-smi/show-pcie-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-pcie-bandwidth-2.2.12-mxc500-sgpu25.txt", c500},
		{"counters", "mx-smi/show-pcie-slot-2.2.12-mxc500-sgpu25.txt", c500}, // refused in a container
		// The parts of -s, one at a time.
		{"summary", "mx-smi/show-board-power-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/show-clocks-all-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/show-dpm-cur-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/show-memory-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/show-temperature-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/show-usage-2.2.12-mxc500-loaded.txt", c500},
		{"summary", "mx-smi/show-usage-2.2.6-mxc500.txt", c500},
		{"summary", "mx-smi/summary-2.2.12-mxc500-sgpu25.txt", c500},
		{"summary", "mx-smi/summary-derived-x8.txt", "0 0000:08:00.0,7 0000:3c:00.0"},

		{"board", "npu-smi/board-950.txt", a950},
		{"board", "npu-smi/board-card-23.0.5-910a.txt", b0},
		{"board", "npu-smi/board-card-25.5.1-910b.txt", b0},
		{"common", "npu-smi/common-23.0.rc2-910b1-mcu.txt", b1},
		{"common", "npu-smi/common-310p-duo-mcu.txt", duo},
		{"common", "npu-smi/common-910-mcu.txt", b0},
		{"common", "npu-smi/common-910a.txt", b0},
		{"common", "npu-smi/common-950.txt", a950},
		{"ecc", "npu-smi/ecc-310-src.txt", duo},
		{"ecc", "npu-smi/ecc-310p-src-errors.txt", pro},
		{"ecc", "npu-smi/ecc-910a.txt", b1},
		{"ecc", "npu-smi/ecc-910b-src-errors.txt", b3},
		{"ecc", "npu-smi/ecc-950.txt", a950},
		{"ecc", "npu-smi/ecc-a3-src-2dies-underflow.txt", a3npu0},
		{"ecc_enable", "npu-smi/ecc-enable-950.txt", a950},
		{"hccs", "npu-smi/hccs-910b-src-7links.txt", b0},
		{"hccs", "npu-smi/hccs-910b-src-degraded.txt", b0},
		{"health", "npu-smi/health-950.txt", a950},
		{"health", "npu-smi/health-chip-23.0.5-910a-ok.txt", b0},
		{"health", "npu-smi/health-chip-23.0.7-910a-alarm.txt", b0},
		{"memory", "npu-smi/memory-950.txt", a950},
		{"memory", "npu-smi/memory-chip-25.5.1-910b3.txt", b0},
		{"pcie_err", "npu-smi/pcie-err-910b-src.txt", b0},
		{"pcie_err", "npu-smi/pcie-err-950-errors.txt", a950},
		{"sensors", "npu-smi/sensors-310p-src.txt", pro},
		{"sensors", "npu-smi/sensors-910b-src.txt", b0},
		{"sensors", "npu-smi/sensors-950.txt", a950},
		{"sio_info", "npu-smi/sio-info-950.txt", a950},
		{"temp", "npu-smi/temp-25.5.1-910b-mcu.txt", b0},
		{"usages", "npu-smi/usages-23.0.5-910a.txt", "0 0.0 ddr hbm"},
		{"usages", "npu-smi/usages-23.0.rc2-910b1.txt", b0},
		{"usages", "npu-smi/usages-25.5.1-910b.txt", b0},
		{"usages", "npu-smi/usages-310p-duo.txt", duo},
		{"usages", "npu-smi/usages-910.txt", "0 0.0 ddr hbm"},
		{"usages", "npu-smi/usages-950.txt", a950},
		{"volt", "npu-smi/volt-950.txt", a950},
		{"volt", "npu-smi/volt-a3-src-2dies-na.txt", a3npu4},
		{"watch", "npu-smi/watch-23.x-910b-npu2.txt", b2},
		{"watch", "npu-smi/watch-950-s-pt.txt", a950}, // has nothing that the table lacks
		{"watch", "npu-smi/watch-950x8.txt", eight950},

		{"hccn_dev_info", "hccn_tool/dev_info-950-doc.txt", a950},
		{"hccn_dev_info", "hccn_tool/dev_info-950-mixed-fixture.txt", a950},
		{"hccn_link", "hccn_tool/link-950-down-doc.txt", b0},
		{"hccn_link", "hccn_tool/link-up-doc.txt", b0},
		{"hccn_link_stat", "hccn_tool/link_stat-910a-down-fixture.txt", b0},
		{"hccn_link_stat", "hccn_tool/link_stat-910a-up-fixture.txt", b0},
		{"hccn_link_stat", "hccn_tool/link_stat-910b-src-down-count.txt", b5},
		{"hccn_link_stat", "hccn_tool/link_stat-950-doc.txt", a950},
		{"hccn_link_stat", "hccn_tool/link_stat-old-device-prefix-doc.txt", b0},
		{"hccn_net_health", "hccn_tool/net_health-910a-socket-failed-fixture.txt", b0},
		{"hccn_net_health", "hccn_tool/net_health-init-doc.txt", b0},
		{"hccn_net_health", "hccn_tool/net_health-success-doc.txt", b0},
		{"hccn_optical", "hccn_tool/optical-910a-not-present-with-values-fixture.txt", b0},
		{"hccn_optical", "hccn_tool/optical-910b-src-dr4-lanes-na.txt", b0},
		{"hccn_optical", "hccn_tool/optical-910b-src-not-present.txt", b0},
		{"hccn_optical", "hccn_tool/optical-910b-src-present.txt", b0},
		{"hccn_optical", "hccn_tool/optical-doc-one-lane-elided.txt", b0},
		{"hccn_optical", "hccn_tool/error-src-optical-not-present.txt", b0}, // on standard error
		{"hccn_speed", "hccn_tool/speed-910b-src-unknown.txt", b0},
		{"hccn_speed", "hccn_tool/speed-910b-src.txt", b0},
		{"hccn_speed", "hccn_tool/speed-950-doc.txt", a950},
		{"hccn_stat", "hccn_tool/stat-910a-2keys-fixture.txt", b0},
		{"hccn_stat", "hccn_tool/stat-910a-errors-npu5-fixture.txt", b5},
		{"hccn_stat", "hccn_tool/stat-910a-errors-npu6-fixture.txt", b5},
		{"hccn_stat", "hccn_tool/stat-910b-src-48keys.txt", b0},
		{"hccn_stat", "hccn_tool/stat-950-ub-doc.txt", a950},
		{"hccn_stat", "hccn_tool/stat-doc-elided.txt", b0},
	}
}

// notAsked begin the names of captures of what is asked elsewhere, or of nothing that is
// asked: what measures by waiting, inventory, and what no metric stands for.
func notAsked() []string {
	return strings.Fields(`
		mx-smi/default mx-smi/list mx-smi/topo mx-smi/help mx-smi/dmon mx-smi/show-all-process mx-smi/show-process
		mx-smi/show-ap-usage mx-smi/show-clock- mx-smi/show-dpm-all mx-smi/show-core-usage mx-smi/show-power-state mx-smi/show-pptable mx-smi/show-sn
		mx-smi/show-sysinfo mx-smi/show-vbios mx-smi/show-version mx-smi/show-hwinfo
		npu-smi/info npu-smi/list npu-smi/map npu-smi/topo npu-smi/help npu-smi/board-chip npu-smi/current-fault-event npu-smi/flash
		npu-smi/hccs-bw npu-smi/phyid-remap npu-smi/power npu-smi/procmem npu-smi/sys-time npu-smi/temp-950
		hccn_tool/adapt hccn_tool/bandwidth hccn_tool/bit_err hccn_tool/cfg hccn_tool/credit hccn_tool/down_data hccn_tool/fec
		hccn_tool/gateway hccn_tool/help hccn_tool/hw_stats hccn_tool/ip hccn_tool/lldp hccn_tool/peak hccn_tool/pfc_stat
		hccn_tool/port_info hccn_tool/process hccn_tool/serdes hccn_tool/stat_extra hccn_tool/status hccn_tool/su_ber
		hccn_tool/tls hccn_tool/ub_connect hccn_tool/version hccn_tool/vnic`)
}

func vendorOf(file string) string {
	if strings.HasPrefix(file, "mx-smi/") {
		return "metax"
	}
	return "ascend"
}

// What a person reads in each capture: the golden file was checked line by line against
// them. accelerator_collector_parse_warnings_total that grows on a host that is well is an alert about nothing: each
// exception is of a file and says why.
func TestDetailsOfCaptures(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", captures)
	}
	exceptions := map[string]string{
		"mx-smi/show-pcie-slot-2.2.12-mxc500-sgpu25.txt": "a flag that is not asked, and its refusal in a container",
		"npu-smi/watch-950-s-pt.txt":                     "watch -s pt, which is not asked: power and temperature alone, which the table has",
	}
	var b strings.Builder
	known := map[string]bool{}
	for _, c := range captured() {
		cards := devs(t, c[2])
		known[c[1]] = true
		report, err := detailOf(t, vendorOf(c[1]), c[0], cards).Parse(modeltest.Read(t, filepath.Join(captures, c[1])), cards)
		fmt.Fprintf(&b, "== %s\n%s", c[1], modeltest.Text(report, err))
		if _, excepted := exceptions[c[1]]; excepted != (err != nil || report.Warnings.Count > 0) {
			t.Errorf("%s read as %s: %v, warnings %q, an exception: %t", c[1], c[0], err, report.Warnings.Texts, excepted)
		}
	}
	compare(t, filepath.Join(fixtures, "captures.txt"), b.String())
	var files []string
	for _, tool := range []string{"mx-smi", "npu-smi", "hccn_tool"} { // golden files of other tools lie with their vendor
		files = append(files, modeltest.Glob(t, filepath.Join(captures, tool, "*.txt"))...)
	}
	for _, file := range files {
		name, _ := filepath.Rel(captures, file)
		isOther := slices.ContainsFunc(notAsked(), func(begin string) bool { return strings.HasPrefix(name, begin) })
		if !known[name] && !isOther && !strings.Contains(name, "/error-") {
			t.Errorf("%s is read by no test", name)
		}
	}
}

// isAnswer reports whether a text that is an error of the tool is an answer to this detail.
func isAnswer(d model.Command, file string) bool {
	return d.Name == "hccn_optical" && file == "error-src-optical-not-present.txt" || d.Name == "fields" && strings.HasPrefix(file, "help-query-gpu-")
}

// An error text, or another program's output, is never a sample.
func TestDetailsRefuseErrors(t *testing.T) {
	texts := map[string][]byte{
		"": nil, "newline": []byte("\n"), "unsupported": []byte("This device does not support querying ecc.\n"),
		"usage": []byte("Error parameter of -i\nUsage: npu-smi info <watch|proc> [Options...]\n"), "noise": []byte("a: b\nc : d\n[e f]g\n"),
	}
	for _, file := range modeltest.Glob(t, filepath.Join(captures, "*", "*.txt")) {
		if base := filepath.Base(file); strings.HasPrefix(base, "error-") || strings.HasPrefix(base, "help-") || strings.HasPrefix(base, "tls-") {
			texts[base] = modeltest.Read(t, file)
		}
	}
	for _, v := range Vendors() {
		cards := []model.Device{dev(t, "0 0.0 hbm")}
		for _, d := range v.Commands {
			for name, text := range texts {
				if isAnswer(d, name) {
					continue
				}
				if got, err := d.Parse(text, cards); failure.ReasonOf(err) != failure.Parse || got.Devices != nil {
					t.Errorf("%s %s takes %s: %v, %v", v.Name, d.Name, name, got, err)
				}
			}
		}
	}
}

// An operator would look for a broken card where the tool was only busy, and a tool that
// is asked again at once while it is held never gets free.
func TestNetworkErrorsHaveAClass(t *testing.T) {
	for text, want := range map[string]failure.Reason{
		"hccn_tool is busy, please try again.\n":                  failure.Busy,
		"I2c is busy.\n":                                          failure.Busy,
		"Control link unreachable.\n":                             failure.Busy,
		"The command is not supported on this product.\n":         failure.Unsupported,
		"Optical module is not present.\n":                        failure.Unsupported,
		"permission denied: pls check this cmd run permission.\n": failure.Permission,
		"The device is not exist!\n":                              failure.NoDevice,
		"Get device health status failed!\n":                      failure.Driver,
		"hccn_tool: error while loading shared libraries: x.so\n": failure.Driver,
		"Execute failed: Link status is down.\n":                  "",
		"":                                                        "",
	} {
		for _, v := range Vendors() {
			if v.ClassifyNetwork == nil {
				continue
			}
			if got, _, _ := v.ClassifyNetwork([]byte(text)); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
}

// FuzzDetails holds that no bytes make a reader panic or tell of a card that was not asked
// about, a series that a scrape refuses, or a value that no card has.
func FuzzDetails(f *testing.F) {
	sets := [][]model.Device{
		devs(f, "0 0.0 hbm,1 0.1 hbm,5 5.0 hbm,8 8.0 ddr"), devs(f, "0 0.0 hbm,1 0.1 hbm"), devs(f, "5 5.0 hbm"), devs(f, "5 5.0 ddr"), devs(f, "9 9 hbm"),
		devs(f, "0 0000:08:00.0,1 0000:09:00.0"), devs(f, "5 5.0 ddr hbm"),
	}
	all := portDetails(f, sets[4][0])
	for _, v := range Vendors() {
		all = append(all, v.Commands...)
	}
	for _, x := range allFixtures(f) {
		i := slices.IndexFunc(all, func(d model.Command) bool {
			return d.Name == x.detail.Name && (d.When == nil) == (x.detail.When == nil)
		})
		set := slices.IndexFunc(sets, func(cards []model.Device) bool { return cmp.Equal(cards, x.cards) })
		f.Add(x.text, uint8(i), uint8(set))
	}
	labels := map[model.Metric]int{}
	for _, s := range Metrics() {
		for _, m := range s.Metrics {
			labels[model.Metric(m.Name)] = len(m.Labels)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, which, set uint8) {
		d, asked := all[int(which)%len(all)], sets[int(set)%len(sets)]
		if d.Enough != nil {
			d.Enough(text, asked)
		}
		if d.More != nil {
			for _, more := range d.More(text, asked[0]) {
				more.Args(asked[0])
			}
		}
		report, err := d.Parse(text, asked)
		if givesCards := !d.Inventory && !d.Processes; givesCards && (err == nil) != (len(report.Devices) > 0) {
			t.Fatalf("%d cards and the error %v", len(report.Devices), err)
		}
		for _, x := range report.Devices {
			if !slices.ContainsFunc(asked, func(d model.Device) bool { return d.ID == x.ID }) {
				t.Fatalf("tells of card %q", x.ID)
			}
			for _, r := range x.Readings {
				if n, ok := labels[r.Metric]; !ok || n != len(r.Labels) {
					t.Fatalf("%s has the labels %q", r.Metric, r.Labels)
				}
			}
			if len(x.Readings) > 512 {
				t.Fatalf("%d readings", len(x.Readings))
			}
		}
		modeltest.CheckReport(t, report, nil)
	})
}
