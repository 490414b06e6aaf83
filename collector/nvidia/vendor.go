package nvidia

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

const tool = "nvidia-smi"

// Vendor says how nvidia-smi is asked. Only reading commands are in it: the same program also resets cards and sets
// their clocks and limits.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "nvidia",
		Tools:    []string{tool},
		Table:    model.Command{Name: "table", Args: model.SameArgs(table.args()), Parse: model.IgnoreCards(table.parseTable)},
		Beside:   []model.Command{{Name: "processes", Processes: true, Args: model.SameArgs(processes.args()), Parse: processes.parseProcesses}},
		Commands: commands(),
		Resolve:  model.TrimName("GPU"),
		Classify: classify,
	}
}

// classify returns what an error text of nvidia-smi means. All of them are printed to stdout. Words that may also stand
// in the rows of a good answer, such as [Insufficient Permissions], are no error by themselves.
func classify(text []byte) (model.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "couldn't communicate with the NVIDIA driver", Reason: model.ReasonDriver},
		{Text: "couldn't find libnvidia-ml", Reason: model.ReasonDriver},
		{Text: "Failed to initialize NVML: Insufficient Permissions", Reason: model.ReasonPermission},
		{Text: "Failed to initialize NVML", Reason: model.ReasonDriver},
		{Text: "Unable to determine the device handle", Reason: model.ReasonDriver},
		{Text: "No devices were found", Reason: model.ReasonNoDevice},
		{Text: "is not a valid field to query", Reason: model.ReasonUnsupported},
		{Text: "Invalid combination of input arguments", Reason: model.ReasonUnsupported},
		{Text: "is not recognized. Please run 'nvidia-smi -h'", Reason: model.ReasonUnsupported},
	}...))
}
