// Package hygon reads what Hygon's hy-smi prints: drivers 5.x to 6.3 have been met. A card is called DCU, HCU from driver
// 6.3 on, and GPU by some builds; each of the three words is taken everywhere.
package hygon

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Vendor says how hy-smi is asked. Only reading commands are in it: the same program also sets clocks and resets cards.
// Left out is what measures for a second: --showbw, --showhcuutil, --showcuutil.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "hygon",
		Tools:    []string{"hy-smi", "/opt/hyhal/bin/hy-smi"}, // the second is where the driver puts it
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}), Parse: model.IgnoreCards(ParseTable)},
		Commands: commands(),
		Resolve:  model.TrimName(""), // the topology is read with the table's numbers
		Classify: Classify,
	}
}

// Classify returns what an error text means. Nobody has published one of hy-smi: these are the words of its ancestor
// rocm-smi, of the system, and of programs that do not know an option.
func Classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "permission denied", Reason: failure.Permission},
		{Text: "not permitted", Reason: failure.Permission},
		{Text: "could not open process directory", Reason: failure.Unsupported}, // a container without /sys/kernel/debug
		{Text: "unrecognized argument", Reason: failure.Unsupported},
		{Text: "unrecognized option", Reason: failure.Unsupported},
		{Text: "invalid option", Reason: failure.Unsupported},
		{Text: "not supported", Reason: failure.Unsupported},
		{Text: "no such device", Reason: failure.NoDevice},
		{Text: "is busy", Reason: failure.Busy},
		{Text: "driver", Reason: failure.Driver},
		{Text: "unable to", Reason: failure.Driver},
	}...))
}
