package nvidia

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const tool = "nvidia-smi"

// Vendor says how nvidia-smi is asked. Only reading commands are in it: the same program also resets cards and sets
// their clocks and limits.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "nvidia",
		Tools:    []string{tool},
		Table:    model.Command{Name: "table", Args: model.SameArgs(table.Args()), Parse: model.IgnoreCards(table.parseTable)},
		Commands: commands(),
		Resolve:  model.TrimName("GPU"),
		Classify: classify,
	}
}

// classify returns what an error text of nvidia-smi means. All of them are printed to stdout. Words that may also stand
// in the rows of a good answer, such as [Insufficient Permissions], are no error by themselves.
func classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "couldn't communicate with the NVIDIA driver", Reason: failure.Driver},
		{Text: "couldn't find libnvidia-ml", Reason: failure.Driver},
		{Text: "Failed to initialize NVML: Insufficient Permissions", Reason: failure.Permission},
		{Text: "Failed to initialize NVML", Reason: failure.Driver},
		{Text: "Unable to determine the device handle", Reason: failure.Driver},
		{Text: "No devices were found", Reason: failure.NoDevice},
		{Text: "is not a valid field to query", Reason: failure.Unsupported},
		{Text: "Invalid combination of input arguments", Reason: failure.Unsupported},
		{Text: "is not recognized. Please run 'nvidia-smi -h'", Reason: failure.Unsupported},
	}...))
}
