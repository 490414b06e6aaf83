package metax

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Vendor says how mx-smi is asked. Only reading commands are in it: the same
// program also resets cards and flashes firmware.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "metax",
		Tools:    []string{"mx-smi", "ht-smi"},
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}), Parse: model.IgnoreCards(ParseTable)},
		Commands: commands(),
		Resolve:  model.TrimName("GPU"),
		Classify: Classify,
	}
}

// Classify returns what an error text of mx-smi or of its library means.
func Classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
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
