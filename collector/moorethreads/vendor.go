// Package moorethreads reads what Moore Threads' mthreads-gmi prints: versions 1.14.0 to 2.4.1 with drivers 2.7.0 to 5.1.0
// have been met.
//
// The table leads: every version prints it, and it alone has the processes. The object of --query --json adds what the
// table lacks, such as power; where a version does not print it, the table stands alone.
package moorethreads

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const tool = "mthreads-gmi"

// Vendor says how mthreads-gmi is asked. Only reading commands are in it, and only long options: -r resets a card or
// reads, and -e sets or counts, by where they stand.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:     "moorethreads",
		Tools:    []string{tool, "/usr/bin/" + tool}, // the second is where the driver puts it
		Table:    model.Command{Name: "table", Args: model.SameArgs([]string{}), Parse: model.IgnoreCards(parseTable)},
		Commands: commands(),
		Classify: classify,
	}
}

// classify returns what an error text means. The tool prints its own to stdout, and may exit 0 after them. Nobody has
// published what it says of an option that it does not know: the last four are the words of other programs.
func classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "failed to initialize mtml", Reason: failure.Driver}, // also of a user outside the groups render and video
		{Text: "No MT GPU device found", Reason: failure.NoDevice},
		{Text: "not available on target device", Reason: failure.Unsupported},
		{Text: "unrecognized", Reason: failure.Unsupported},
		{Text: "unknown option", Reason: failure.Unsupported},
		{Text: "invalid option", Reason: failure.Unsupported},
		{Text: "usage:", Reason: failure.Unsupported},
	}...))
}
