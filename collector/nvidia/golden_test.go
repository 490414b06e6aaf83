package nvidia

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// parsers tells by the name of a text what has printed it: nil for what is not run, since dmon and pmon measure by waiting,
// nvlink and the addresses of retired pages have no metric, and the fields of the query for processes are the oldest ones.
// The fields of a query are those of its header.
func parsers(name string, text []byte) []modeltest.Parse {
	fields := headerOf(text)
	q := query{smitext.Query{Fields: fields}}
	switch kind, _, _ := strings.Cut(name, "-"); {
	case kind == "list":
		return []modeltest.Parse{parseList}
	case kind == "topo":
		return []modeltest.Parse{parseTopology}
	case kind == "version", kind == "default":
		return []modeltest.Parse{parseVersion}
	case kind == "fields", strings.HasPrefix(name, "help-query-gpu"):
		return []modeltest.Parse{parseHelp}
	case kind == "health":
		return []modeltest.Parse{health.parseHealth}
	case kind == "details":
		return []modeltest.Parse{about(cards(), q.parseDetails)}
	case kind == "processes":
		return []modeltest.Parse{about(cards(), processes.parseProcesses)}
	case strings.HasPrefix(name, "query-compute-apps-"):
		q.CommaField = "process_name"
		return []modeltest.Parse{about(captured(), q.parseProcesses)}
	case strings.HasPrefix(name, "query-gpu-") && slices.Contains(fields, "index"):
		return []modeltest.Parse{q.parseTable, about(captured(), q.parseDetails), q.parseHealth}
	case slices.Contains([]string{"dmon", "pmon", "nvlink", "help"}, kind), strings.HasPrefix(name, "query-retired-pages-"):
		return nil
	}
	return []modeltest.Parse{table.parseTable}
}

func headerOf(text []byte) []string {
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Split(line, ", ")
	for i, f := range fields {
		fields[i], _, _ = strings.Cut(f, " [")
	}
	return fields
}

func TestGolden(t *testing.T)   { modeltest.Golden(t, *update, parsers) }
func TestCaptures(t *testing.T) { modeltest.Captures(t, *update, captures, parsers) }

// An operator acts on the class of a failure.
func TestCapturedErrorsHaveAReason(t *testing.T) {
	reasons := map[string]failure.Reason{"error-insufficient-permissions": failure.Permission, "error-invalid-field": failure.Unsupported, "error-no-devices": failure.NoDevice}
	for _, file := range modeltest.Glob(t, filepath.Join(captures, "error-*.txt")) {
		want, ok := reasons[strings.TrimSuffix(filepath.Base(file), ".txt")]
		if !ok {
			want = failure.Driver
		}
		if reason, _, _ := classify(modeltest.Read(t, file)); reason != want {
			t.Errorf("%s is %q, want %q", file, reason, want)
		}
	}
}

// A process that the tool may not name stands in a good row and is no failure of the tool.
func TestClassify(t *testing.T) {
	modeltest.CheckClasses(t, classify, map[string]failure.Reason{
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
	})
}

// FuzzParse holds that no bytes make a parser panic, tell something twice, or a value that no card has.
func FuzzParse(f *testing.F) {
	header := modeltest.Read(f, "testdata/details-x2.txt")
	kinds := []string{"table", "processes", "list", "topo", "version", "fields", "health", "details"}
	for _, file := range modeltest.Glob(f, "testdata/*.txt") {
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		f.Add(modeltest.Read(f, file), uint8(max(0, slices.Index(kinds, kind))))
	}
	f.Fuzz(func(t *testing.T, out []byte, kind uint8) {
		r, err := parsers(kinds[int(kind)%len(kinds)], header)[0](out)
		modeltest.CheckReport(t, r, err)
		if err != nil {
			return
		}
		s := model.Merge(model.Report{Devices: cards()}, []model.Report{r}, Vendor().Resolve)
		modeltest.CheckSnapshot(t, s)
	})
}
