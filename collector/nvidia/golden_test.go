package nvidia

import (
	"flag"
	"fmt"
	"maps"
	"os"
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
const captures = "../../../shared/captures/nvidia-smi"

// cards are those of the fixtures.
func cards() []model.Device {
	return []model.Device{{ID: "0", UUID: "GPU-4f0c0000-11aa-4c3e-8f21-0d3c5b7a9e00"}, {ID: "1", UUID: "GPU-4f0c0001-11aa-4c3e-8f21-0d3c5b7a9e01"}}
}

// captured are the cards of the captures, most of which have masked UUIDs.
func captured() []model.Device {
	return []model.Device{{ID: "0", UUID: "GPU-00000000-0000-0000-0000-000000000000"}, {ID: "3", UUID: "GPU-0f55d4e3-..."}, {ID: "4", UUID: "GPU-fe1fcfe7-..."}}
}

func about(cards []model.Device, p func([]byte, []model.Device) (model.Report, error)) modeltest.Parse {
	return func(out []byte) (model.Report, error) { return p(out, cards) }
}

// parseHelp shows what would be asked of a driver with these fields.
func parseHelp(out []byte) (model.Report, error) {
	r, err := parseFields(out)
	for _, c := range queries(out, model.Device{}) {
		r.Warn("asks for %s: %q", c.Name, c.Args(model.Device{}))
	}
	if err != nil {
		return model.Report{}, err
	}
	return r, nil
}

// parserOf tells by the name of a text what has printed it. The fields of a query are those of its header.
func parserOf(name string, header []string) modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "list":
		return parseList
	case "topo":
		return parseTopology
	case "version", "default":
		return parseVersion
	case "help", "fields":
		return parseHelp
	case "health":
		return health.parseHealth
	case "details":
		return about(cards(), query{smitext.Query{Fields: header}}.parseDetails)
	case "processes":
		return about(cards(), processes.parseProcesses)
	}
	return table.parseTable
}

func headerOf(text []byte) []string {
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Split(line, ", ")
	for i, f := range fields {
		fields[i], _, _ = strings.Cut(f, " [")
	}
	return fields
}

// Each fixture is own text in a layout that has been met, or a way in which output goes wrong. The golden file beside
// it is what a user gets: look at its diff before keeping it.
func TestGolden(t *testing.T) {
	details := headerOf(modeltest.Read(t, "testdata/details-x2.txt"))
	modeltest.Golden(t, *update, func(name string) modeltest.Parse { return parserOf(name, details) })
}

// told writes what a parser gave of a capture, a line a fact.
func told(parse modeltest.Parse, text []byte) string {
	r, err := parse(text)
	if err != nil {
		reason, line, _ := classify(text)
		return fmt.Sprintf("refused: %v; %s: %s\n", err, reason, line)
	}
	var b strings.Builder
	if r.Tool != nil {
		fmt.Fprintf(&b, "tool %+v\n", *r.Tool)
	}
	for _, d := range slices.Concat(r.Devices, r.Listed) {
		fmt.Fprintf(&b, "card %s %q %q %s %+v\n", d.ID, d.Name, d.BusID, d.UUID, d.Health)
		values := modeltest.ByName(d.Readings)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "  %s %v\n", name, values[name])
		}
	}
	for _, p := range r.Processes {
		fmt.Fprintf(&b, "process %s of card %s %q %.0f\n", p.PID, p.Device, p.Name, p.UsedBytes)
	}
	for _, s := range r.Slices {
		fmt.Fprintf(&b, "slice %s of card %s\n", s.ID, s.Device)
	}
	for _, a := range r.Affinities {
		fmt.Fprintf(&b, "%s: CPUs %s", a.Name, a.CPUs)
		if a.NUMANode != nil {
			fmt.Fprintf(&b, ", node %d", *a.NUMANode)
		}
		for _, l := range r.Links {
			if l.Device == a.Name {
				fmt.Fprintf(&b, ", %s %s", l.Peer, l.Type)
			}
		}
		b.WriteByte('\n')
	}
	for _, w := range r.Warnings.Texts {
		fmt.Fprintf(&b, "! %s\n", w)
	}
	return b.String()
}

// notAsked begin the names of captures of what is not run: dmon and pmon measure by waiting, nvlink and the addresses of
// retired pages have no metric, and the fields of the query for processes are the oldest ones.
var notAsked = []string{"dmon-", "pmon-", "nvlink-", "query-retired-pages-", "help-query-compute-apps-"}

// What a person reads in each capture: the golden file was checked line by line against them.
func TestCaptures(t *testing.T) {
	files := modeltest.Glob(t, filepath.Join(captures, "*.txt"))
	if len(files) == 0 {
		t.Skipf("captures not found beside the checkout (%s): this test needs them and is left out", captures)
	}
	var b strings.Builder
	for _, file := range files {
		name, text := filepath.Base(file), modeltest.Read(t, file)
		if slices.ContainsFunc(notAsked, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}
		fields := headerOf(text)
		fmt.Fprintf(&b, "== %s\n", name)
		switch {
		case strings.HasPrefix(name, "query-compute-apps-"):
			b.WriteString(told(about(captured(), query{smitext.Query{Fields: fields, CommaField: "process_name"}}.parseProcesses), text))
		case strings.HasPrefix(name, "query-gpu-") && slices.Contains(fields, "index"):
			q := query{smitext.Query{Fields: fields}}
			b.WriteString(told(q.parseTable, text))
			b.WriteString(told(about(captured(), q.parseDetails), text))
			b.WriteString(told(q.parseHealth, text))
		default:
			b.WriteString(told(parserOf(name, nil), text))
		}
	}
	const golden = "testdata/captures.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Split(string(modeltest.Read(t, golden)), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("%s (-) and what is read (+) differ:\n%s", golden, diff)
	}
}

// A process that the tool may not name stands in a good row and is no failure of the tool.
func TestClassify(t *testing.T) {
	for text, want := range map[string]failure.Reason{
		"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n":                      failure.Driver,
		"Failed to initialize NVML: Unknown Error\n":                                                                       failure.Driver,
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n":                                  failure.Driver,
		"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n":                                               failure.Driver,
		"Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error\nNo devices were found\n":             failure.Driver,
		"Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost. Reboot the system to recover this GPU\n": failure.Driver,
		"nvidia-smi: error while loading shared libraries: libc.so.6: cannot open shared object file\n":                    failure.Driver,
		"Failed to initialize NVML: Insufficient Permissions\n":                                                            failure.Permission,
		"No devices were found\n":                                                                                 failure.NoDevice,
		"Field \"cuda_version\" is not a valid field to query.\n\n":                                               failure.Unsupported,
		"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n":                          failure.Unsupported,
		"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-4f0c, 4711, [Insufficient Permissions], 8 MiB\n": "",
		"": "",
	} {
		if reason, line, ok := classify([]byte(text)); reason != want || ok != (want != "") || strings.Contains(line, "\n") {
			t.Errorf("%q is %q, %q, want %q", text, reason, line, want)
		}
	}
}

// FuzzParse holds that no bytes make a parser panic, tell something twice, or a value that no card has.
func FuzzParse(f *testing.F) {
	header := headerOf(modeltest.Read(f, "testdata/details-x2.txt"))
	kinds := []string{"table", "processes", "list", "topo", "version", "help", "health", "details"}
	for _, file := range modeltest.Glob(f, "testdata/*.txt") {
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		f.Add(modeltest.Read(f, file), uint8(max(0, slices.Index(kinds, kind))))
	}
	f.Fuzz(func(t *testing.T, out []byte, kind uint8) {
		r, err := parserOf(kinds[int(kind)%len(kinds)], header)(out)
		if err != nil {
			if diff := cmp.Diff(model.Report{}, r); diff != "" {
				t.Fatalf("an error comes with a report: %s", diff)
			}
			return
		}
		modeltest.CheckReport(t, r)
		s := model.Merge(model.Report{Devices: cards()}, []model.Report{r}, Vendor().Resolve)
		modeltest.CheckSnapshot(t, s)
	})
}
