package metax

import (
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// Vendor says how mx-smi is asked. Only reading commands are in it: the same
// program also resets cards and flashes firmware.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "metax",
		Tools:    []string{"mx-smi", "ht-smi"},
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}), Parse: model.IgnoreCards(ParseTable)},
		Commands: commands(),
		Resolve:  resolve,
		Classify: Classify,
	}
}

var matrixNames = smitext.MatrixNames{Cards: regexp.MustCompile(`^GPU\d+$`), Peers: regexp.MustCompile(`^NIC\d+$`)}

// ParseTopology reads the output of mx-smi topo -m, or of topo -n, which has the
// NICs too.
func ParseTopology(out []byte) (model.Report, error) {
	return smitext.ParseTopology(out, matrixNames)
}

// resolve takes the number off "GPU3": it is the GPU number of the table.
func resolve(name string, _ []model.Device) string { return strings.TrimPrefix(name, "GPU") }

// Classify returns what an error text of mx-smi or of its library means.
func Classify(text []byte) (model.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "No available devices were discovered", Reason: model.ReasonNoDevice},
		{Text: "Target device is not available", Reason: model.ReasonNoDevice},
		{Text: "Driver is not loaded", Reason: model.ReasonDriver},
		{Text: "Kernel Driver Not Found", Reason: model.ReasonDriver},
		{Text: "Driver And Vbios Compatibility Check Failed", Reason: model.ReasonDriver},
		{Text: "Device is busy", Reason: model.ReasonBusy},
		{Text: "Permission denied", Reason: model.ReasonPermission},
		{Text: "PARSE ERROR", Reason: model.ReasonUnsupported},
		{Text: "Operation not support", Reason: model.ReasonUnsupported},
	}...))
}
