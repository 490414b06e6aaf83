package kunlunxin

import (
	"regexp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Vendor says how xpu_smi is asked. Only reading commands are in it: the same program also resets cards and divides them.
func Vendor() model.Vendor {
	return model.Vendor{
		Name: "kunlunxin",
		// The second is where the driver puts it. The third is Intel's too, so it comes last.
		Tools:    []string{"xpu_smi", "/usr/local/xpu/bin/xpu_smi", "xpu-smi"},
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}, []string{"-m"}), Parse: parseTable},
		Commands: commands(),
		Resolve:  model.TrimName("XPU"),
		Classify: classify,
	}
}

// driverTitle stands in good tables too.
var driverTitle = regexp.MustCompile(`Driver Version:[^\n]*`)

// classify returns what an error text means. Nobody has published one of xpu_smi: these are the errors of its driver, and
// the words of the system and of programs that do not know an option.
func classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(driverTitle.ReplaceAll(text, nil), append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "Intel XPU", Reason: failure.Parse}, // its tool has the same name
		{Text: "permission", Reason: failure.Permission},
		{Text: "no device", Reason: failure.NoDevice},
		{Text: "not found any device", Reason: failure.NoDevice},
		{Text: "resource busy", Reason: failure.Busy},
		{Text: "not supported", Reason: failure.Unsupported},
		{Text: "usage:", Reason: failure.Unsupported},
		{Text: " option", Reason: failure.Unsupported}, // invalid, unrecognized, unknown
		{Text: "not properly inited", Reason: failure.Driver},
		{Text: "driver", Reason: failure.Driver},
	}...))
}
