package metax

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/topology"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Vendor says how mx-smi is asked. Only reading commands are in it: the same
// program also resets cards and flashes firmware.
func Vendor() smi.Vendor {
	return smi.Vendor{
		Name:  "metax",
		Tools: []string{"mx-smi", "ht-smi"},
		Words: vocabulary(),
		Table: smi.Query{Name: "table", Args: [][]string{{}}, Parse: ParseTable},
		Sides: []smi.Query{
			{Name: "list", Args: [][]string{{"-L"}}, Parse: ParseList},
			{Name: "topology", Args: [][]string{{"topo", "-n"}, {"topo", "-m"}}, Inventory: true, Parse: ParseTopology},
		},
		Details:  details(),
		Resolve:  resolve,
		Classify: Classify,
	}
}

// ParseTopology reads the output of mx-smi topo -m, or of topo -n, which has the
// NICs too.
func ParseTopology(out []byte) (model.Report, error) {
	return topology.Parse(out, topology.Names{Cards: []string{"GPU"}, Others: []string{"NIC"}})
}

// resolve takes the number off "GPU3": it is the GPU number of the table.
func resolve(name string, _ []model.Device) string { return strings.TrimPrefix(name, "GPU") }

// Classify returns what an error text of mx-smi or of its library means.
func Classify(text []byte) (failure.Reason, string, bool) {
	return failure.Match(text, append(failure.LoaderPatterns(), []failure.Pattern{
		{Text: "No available devices were discovered", Reason: failure.NoDevice},
		{Text: "Target device is not available", Reason: failure.NoDevice},
		{Text: "Driver is not loaded", Reason: failure.Driver},
		{Text: "Kernel Driver Not Found", Reason: failure.Driver},
		{Text: "Driver And Vbios Compatibility Check Failed", Reason: failure.Driver},
		{Text: "Device is busy", Reason: failure.Busy},
		{Text: "Permission denied", Reason: failure.Permission},
		{Text: "PARSE ERROR", Reason: failure.Unsupported},
		{Text: "Operation not support", Reason: failure.Unsupported},
	}...))
}
