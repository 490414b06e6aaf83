// Package enflame reads what Enflame's efsmi prints. Outputs of tool 1.20.0 with driver 2.4 (T20) and of 1.2 to 1.7 (S60,
// S60G, L300), which came later, have been met: versions are no order, and each layout is known by its words.
package enflame

import (
	"regexp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const tool = "efsmi"

// Vendor says how efsmi is asked. Only reading commands are in it: the same program also sets modes of the cards.
// The query leads, since the drawn table has neither health nor used memory, and it alone has the tool's version.
func Vendor() model.Vendor {
	query, table := []string{"-q"}, []string{}
	return model.Vendor{
		Name:  "enflame",
		Tools: []string{tool, "/usr/sbin/efsmi", "/usr/bin/efsmi"},
		Table: model.Command{Name: "table", Args: model.SameArgs(query, table), Parse: model.IgnoreCards(parseTable)},
		Commands: []model.Command{
			{Name: "list", Inventory: true, Args: model.SameArgs([]string{"-L"}), Parse: model.IgnoreCards(parseList)},
			{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"topo", "-m"}), Parse: model.IgnoreCards(parseTopology)},
			{Name: "version", Inventory: true, Args: model.SameArgs(table, query), Parse: model.IgnoreCards(parseVersion)},
		},
		Resolve:  model.TrimName("GCU"),
		Classify: classify,
	}
}

// driverKeys stand in good answers.
var driverKeys = regexp.MustCompile(`(?i)driver (?:ver\s*:|info)`)

// classify returns what an error text means. Nobody has published one of efsmi: these are the words of the system, of its
// library's error codes, and of programs that do not know an option.
func classify(text []byte) (failure.Reason, string, bool) {
	return smitext.Match(driverKeys.ReplaceAll(text, nil), append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "permission", Reason: failure.Permission},
		{Text: "not permitted", Reason: failure.Permission},
		{Text: "driver", Reason: failure.Driver},
		{Text: "unrecognized", Reason: failure.Unsupported},
		{Text: "invalid option", Reason: failure.Unsupported},
		{Text: "invalid argument", Reason: failure.Unsupported},
		{Text: "not support", Reason: failure.Unsupported},
		{Text: "usage:", Reason: failure.Unsupported},
		{Text: "no device", Reason: failure.NoDevice},
		{Text: "no such device", Reason: failure.NoDevice},
		{Text: "busy", Reason: failure.Busy},
	}...))
}
