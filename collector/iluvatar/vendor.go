package iluvatar

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const tool = "ixsmi"

// Vendor says how ixsmi is asked. Only reading commands are in it: the same program also resets cards.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:  "iluvatar",
		Tools: []string{tool, "/usr/local/corex/bin/ixsmi"}, // the second is where CoreX puts it
		Table: model.Command{Name: "table", Parse: model.IgnoreCards(ParseTable), Args: model.SameArgs(
			[]string{}, tableQuery(fieldPower, fieldLimit).Args(), tableQuery("power.draw", "power.limit").Args())},
		Commands: commands(),
		Resolve:  model.TrimName("GPU"),
		Classify: Classify,
	}
}

// Classify returns what an error text means. Of ixsmi the loader's was seen; the others are the words of nvidia-smi, of
// which it is a near copy, with any name in them.
func Classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "insufficient permissions", Reason: failure.Permission},
		{Text: "permission denied", Reason: failure.Permission},
		{Text: "couldn't communicate with the", Reason: failure.Driver},
		{Text: "failed to initialize", Reason: failure.Driver},
		{Text: "no devices were found", Reason: failure.NoDevice},
		{Text: "is not a valid field to query", Reason: failure.Unsupported},
		{Text: "invalid combination of input arguments", Reason: failure.Unsupported},
		{Text: "is not recognized", Reason: failure.Unsupported},
	}...))
}
