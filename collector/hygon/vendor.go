// Package hygon reads what Hygon's hy-smi prints: drivers 5.x to 6.3 have been met. A card is called DCU, HCU from driver
// 6.3 on, and GPU by some builds; each of the three words is taken everywhere.
package hygon

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// Vendor says how hy-smi is asked. Only reading commands are in it: the same program also sets clocks and resets cards.
// Left out is what measures for a second: --showbw, --showhcuutil, --showcuutil.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "hygon",
		Tools:    []string{"hy-smi", "/opt/hyhal/bin/hy-smi"}, // the second is where the driver puts it
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}), Parse: model.IgnoreCards(ParseTable)},
		Beside:   beside(),
		Commands: commands(),
		Resolve:  resolve,
		Classify: Classify,
	}
}

// resolve takes the number out of "HCU[3]": it is the table's.
func resolve(name string, _ []model.Device) string {
	_, number, _ := strings.Cut(name, "[")
	return strings.TrimSuffix(number, "]")
}

// Classify returns what an error text means. Nobody has published one of hy-smi: these are the words of its ancestor
// rocm-smi, of the system, and of programs that do not know an option.
func Classify(text []byte) (model.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "permission denied", Reason: model.ReasonPermission},
		{Text: "not permitted", Reason: model.ReasonPermission},
		{Text: "could not open process directory", Reason: model.ReasonUnsupported}, // a container without /sys/kernel/debug
		{Text: "unrecognized argument", Reason: model.ReasonUnsupported},
		{Text: "unrecognized option", Reason: model.ReasonUnsupported},
		{Text: "invalid option", Reason: model.ReasonUnsupported},
		{Text: "not supported", Reason: model.ReasonUnsupported},
		{Text: "no such device", Reason: model.ReasonNoDevice},
		{Text: "is busy", Reason: model.ReasonBusy},
		{Text: "driver", Reason: model.ReasonDriver},
		{Text: "unable to", Reason: model.ReasonDriver},
	}...))
}
