package collector

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/nvidia"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// machine answers for one of the tools from its fixtures.
func machine(t testing.TB, tool string) func(context.Context, []string) (process.Output, error) {
	t.Helper()
	var files map[string]string
	switch tool {
	case "mx-smi":
		files = map[string]string{
			"": "metax/testdata/table-layout-2.2.9.txt", "-L": "metax/testdata/list-layout-2.2.9.txt", "topo -n": "metax/testdata/topo-layout-2.2.9.txt",
		}
	case "npu-smi":
		files = map[string]string{
			"info": "ascend/testdata/info-layout-a3-25.2.txt", "info -m": "ascend/testdata/map-layout-a3-25.2.txt",
			"info -l": "ascend/testdata/list-layout-a3-25.2.txt", "info -t topo": "ascend/testdata/topo-layout-a3-25.2.txt",
		}
	case "nvidia-smi":
		v := nvidia.Vendor()
		files = map[string]string{
			strings.Join(v.Table.Args(model.Device{})[0], " "): "nvidia/testdata/table-x2.txt", strings.Join(v.Commands[0].Args(model.Device{})[0], " "): "nvidia/testdata/processes-x2.txt",
			"-L": "nvidia/testdata/list-mig.txt", "topo -m": "nvidia/testdata/topo-nic.txt", "--version": "nvidia/testdata/version-610.txt",
			"--help-query-gpu": "nvidia/testdata/fields-new.txt",
		}
		for _, c := range v.Commands[1].More(modeltest.Read(t, files["--help-query-gpu"]), model.Device{}) {
			files[strings.Join(c.Args(model.Device{})[0], " ")] = "nvidia/testdata/" + c.Name + "-x2.txt"
		}
	case "hy-smi":
		files = map[string]string{"": "hygon/testdata/table-6.3.txt"}
		for _, flag := range []string{
			"healthcheck", "showproductname", "showbus", "showuniqueid", "showdriverversion", "showtopo", "showpids", "showtemp", "showclocks",
		} {
			files["--"+flag] = "hygon/testdata/" + flag + ".txt"
		}
		files["--showmeminfo vram"], files["--showrasinfo all"] = "hygon/testdata/showmeminfo.txt", "hygon/testdata/showrasinfo.txt"
	case "ixsmi":
		files = map[string]string{
			"": "iluvatar/testdata/table-lost.txt", "-q -x": "iluvatar/testdata/xml-lost.txt", "topo -m": "iluvatar/testdata/topo-x4.txt",
			"--query-gpu=index,pci.bus_id,temperature.memory --format=csv": "iluvatar/testdata/temp-x4.txt",
		}
	case "xpu_smi":
		files = map[string]string{
			"": "kunlunxin/testdata/table-p800.txt", "-m": "kunlunxin/testdata/machine-p800.txt", "-L": "kunlunxin/testdata/list.txt",
			"topo -m": "kunlunxin/testdata/topo.txt", "-q": "testdata/details/kunlunxin-query.txt",
		}
	case "mthreads-gmi":
		files = map[string]string{"": "moorethreads/testdata/table-b.txt", "--query --json": "moorethreads/testdata/query.txt"}
	case "efsmi":
		files = map[string]string{
			"-q": "enflame/testdata/query-1.5.txt", "": "enflame/testdata/table-1.2.txt", "-L": "enflame/testdata/list-1.5.txt", "topo -m": "enflame/testdata/topo-esl.txt",
		}
	}
	return func(_ context.Context, args []string) (process.Output, error) {
		file, ok := files[strings.Join(args, " ")]
		if !ok {
			return process.Output{Stdout: []byte("PARSE ERROR"), ExitCode: 1}, nil
		}
		return process.Output{Stdout: modeltest.Read(t, file)}, nil
	}
}

// simulated is a collector of MetaX's and Ascend's cards and of the nodes, after it has asked for everything.
func simulated(t *testing.T, check func(c *Collector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.NUMA, o.Sysfs, o.Procfs, o.Detail = true, processtest.Nodes(t), string(processtest.Host(t, nil)), DetailOff
		o.Vendors = []VendorOptions{{Vendor: vendorNamed("metax"), Command: "mx-smi"}, {Vendor: vendorNamed("ascend"), Command: "npu-smi"}}
		o.NewRunner = func(p process.Options) Runner { return &scripted{answer: machine(t, p.Path)} }
		c := New(o)
		start(t, c)
		time.Sleep(15 * time.Second)
		check(c)
	})
}

func scrape(t testing.TB, c prometheus.Gatherer) string {
	t.Helper()
	families, err := c.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The golden file is what a user scrapes from a host with both vendors' cards,
// except for the instants and durations.
func TestScrape(t *testing.T) {
	var kept []string
	simulated(t, func(c *Collector) {
		for line := range strings.Lines(scrape(t, c)) {
			if !strings.Contains(line, "_timestamp_seconds{") && !strings.Contains(line, "_duration_seconds{") {
				kept = append(kept, line)
			}
		}
	})
	compare(t, filepath.Join("testdata", "scrape.golden.txt"), strings.Join(kept, ""))
}

// What is asked beside a table, and what a tool's own help leads to, is in the same scrape.
func TestScrapeOfOtherVendors(t *testing.T) {
	for _, v := range Vendors()[2:] { // TestScrape has the others
		var b bytes.Buffer
		for _, f := range gathered(t, v.Name, v.Tools[0], func(_ string, out []byte) []byte { return out }) {
			if strings.HasSuffix(f.GetName(), "_seconds") { // instants and durations
				continue
			}
			if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, filepath.Join("testdata", "scrape-"+v.Name+".golden.txt"), b.String())
	}
}

// A build that does not know a field or an option, or prints a table that nobody has met, shows its cards by what it prints
// otherwise: they would be gone for the name of one field.
func TestTableIsAskedInOtherWays(t *testing.T) {
	const usage = "tool: unrecognized option\nUsage: tool [options]\n"
	lists := vendorNamed("iluvatar").Table.Args(model.Device{})
	otherTable := string(modeltest.Read(t, "kunlunxin/testdata/not-layout.txt"))
	for name, c := range map[string]struct {
		vendor     string
		answers    map[string]string
		has, lacks string
	}{
		"a field is refused": {"iluvatar", map[string]string{
			"":                          "Invalid combination of input arguments. Please run 'ixsmi -h' for help.\n",
			strings.Join(lists[1], " "): "Field \"gpu.power.draw\" is not a valid field to query.\n\n",
			strings.Join(lists[2], " "): string(modeltest.Read(t, "iluvatar/testdata/query-power.txt")),
		}, `accelerator_power_watts{device="1",vendor="iluvatar"} 287.41`, "accelerator_tool_info{"},
		"the table is refused":  {"kunlunxin", map[string]string{"": usage}, `accelerator_power_watts{device="7",vendor="kunlunxin"} 266`, "accelerator_tool_info{"},
		"the table is unknown":  {"kunlunxin", map[string]string{"": otherTable}, `accelerator_clock_hertz{clock="core",device="7",vendor="kunlunxin"} 1.45e+09`, "accelerator_tool_info{"},
		"the lines are refused": {"kunlunxin", map[string]string{"-m": usage}, `accelerator_power_watts{device="0",vendor="kunlunxin"} 266`, `sensor="hbm"`},
		"the query is refused":  {"enflame", map[string]string{"-q": "efsmi: unrecognized option '-q'\n"}, `accelerator_power_watts{device="1",vendor="enflame"} `, "accelerator_healthy{"},
	} {
		var b strings.Builder
		for _, f := range gathered(t, c.vendor, vendorNamed(c.vendor).Tools[0], func(args string, out []byte) []byte {
			if answer, ok := c.answers[args]; ok {
				return []byte(answer)
			}
			return out
		}) {
			if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
				t.Fatal(err)
			}
		}
		if text := b.String(); !strings.Contains(text, c.has) || strings.Contains(text, c.lacks) {
			t.Errorf("%s: no %s, or there is %s:\n%s", name, c.has, c.lacks, text)
		}
	}
}

// What a vendor's table reads must be a metric of this package with as many labels,
// or a scrape would fail as soon as a tool prints it.
func TestEveryReadingIsAMetric(t *testing.T) {
	type known struct{ section, labels int }
	metrics := map[model.Metric]known{}
	for _, section := range Metrics() {
		for _, m := range section.Metrics {
			if _, twice := metrics[model.Metric(m.Name)]; twice || m.Name == "" || m.Help == "" {
				t.Errorf("%q is there twice, or has no name or help", m.Name)
			}
			metrics[model.Metric(m.Name)] = known{len(section.Labels), len(m.Labels)}
		}
	}
	for _, v := range Vendors() {
		read := map[model.Metric]bool{}
		for _, file := range modeltest.Glob(t, filepath.Join(v.Name, "testdata", "*.txt")) {
			for _, c := range slices.Concat([]model.Command{v.Table}, v.Commands) {
				report, _ := c.Parse(modeltest.Read(t, file), []model.Device{{ID: "0", BusID: "0000:08:00.0"}})
				for _, d := range report.Devices {
					for _, r := range d.Readings {
						read[r.Metric] = true
						if k, ok := metrics[r.Metric]; !ok || k.section < 2 || k.labels != len(r.Labels) {
							t.Errorf("%s gives %s with the labels %q, metrics.go has %+v", file, r.Metric, r.Labels, k)
						}
					}
				}
			}
		}
		if len(read) < 6 {
			t.Errorf("%s reads %d metrics", v.Name, len(read))
		}
	}
}

// A name with terminal escapes or bytes that are no text must neither fail the whole
// scrape nor reach a terminal that shows it.
func TestNamesThatAreNoText(t *testing.T) {
	var b bytes.Buffer
	for _, f := range gathered(t, "metax", "mx-smi", func(_ string, out []byte) []byte {
		out = bytes.ReplaceAll(out, []byte("VLLM::EngineCor"), []byte("\x1b[31m\xff\u202e\u009bx"))
		return bytes.ReplaceAll(out, []byte("C500"), []byte("C5\a\r0"))
	}) {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	text := b.String()
	for _, want := range []string{"process=\"\ufffd[31m\ufffd\ufffd\ufffdx\"", "5\ufffd 0\""} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the scrape:\n%s", want, text)
		}
	}
}

// Whoever wants no processes sees none, and which cards a target is on is known all the same.
func TestProcessesCanBeTurnedOff(t *testing.T) {
	simulated(t, func(c *Collector) {
		if !strings.Contains(scrape(t, c), "accelerator_process_memory_used_bytes{") {
			t.Error("no process series")
		}
		c.processes, c.parts = false, nil
		if strings.Contains(scrape(t, c), "accelerator_process_memory_used_bytes{") {
			t.Error("process series although they are turned off")
		}
		if len(c.Cards()[0].Processes) == 0 {
			t.Error("turning the series off also hid which cards a process uses")
		}
	})
}

// Every series of a collector's health is there before Run was ever called.
func TestFirstScrapeHasHealth(t *testing.T) {
	o := options()
	o.Vendors, o.NUMA, o.Sysfs = []VendorOptions{{Vendor: vendorNamed("metax"), Command: "mx-smi"}, {Vendor: vendorNamed("ascend"), Command: "npu-smi"}}, true, t.TempDir()
	text := scrape(t, New(o))
	for _, name := range []string{"metax", "ascend", "numa"} {
		for _, metric := range []string{"success", "duration_seconds", "last_success_timestamp_seconds", "stuck_processes"} {
			if want := fmt.Sprintf("accelerator_collector_%s{collector=%q} 0\n", metric, name); !strings.Contains(text, want) {
				t.Errorf("no %s", want)
			}
		}
		for _, r := range failure.Reasons() {
			if want := fmt.Sprintf("accelerator_collector_failures_total{collector=%q,reason=%q} 0\n", name, r); !strings.Contains(text, want) {
				t.Errorf("no %s", want)
			}
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const limit = 30 * time.Second
	deadline, tick := time.After(limit), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

// BenchmarkParseTable reads a main table of each vendor.
func BenchmarkParseTable(b *testing.B) {
	for i, file := range []string{
		"metax/testdata/table-2.2.9.txt", "ascend/testdata/info-910b-23.0.txt", "nvidia/testdata/table-x2.txt", "hygon/testdata/table-6.3.txt",
		"iluvatar/testdata/table-lost.txt", "kunlunxin/testdata/table-p800.txt", "moorethreads/testdata/table-b.txt", "enflame/testdata/query-1.5.txt",
	} {
		v, out := Vendors()[i], modeltest.Read(b, file)
		b.Run(v.Name, func(b *testing.B) {
			b.SetBytes(int64(len(out)))
			for b.Loop() {
				if _, err := v.Table.Parse(out, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
