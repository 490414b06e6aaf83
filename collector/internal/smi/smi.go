// Package smi says what a vendor package offers: which commands to run, how
// to read what they print, and what the vendor's error texts mean.
package smi

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Vendor is one vendor's command line tool. All of it is pure: no field runs,
// reads or waits for anything.
type Vendor struct {
	Name  string   // value of the label "vendor", and the collector's name
	Tools []string // program names, the usual one first
	// Words are the header words of the main table: which metric is read under which.
	Words boxtable.Vocabulary
	// Table is the command whose success is the collector's success.
	Table Query
	// Sides cost only their own series when they fail.
	Sides []Query
	// Details are the deeper commands, in the order of their precedence.
	Details []Detail
	// NetworkTools are names and usual paths of the program that knows the cards' network ports, none where there is no
	// such program.
	NetworkTools []string
	// Resolve finds the device a topology's row or column name means.
	Resolve model.Resolver
	// Classify tells what an error text means; line is the one that says so.
	Classify func(text []byte) (reason failure.Reason, line string, ok bool)
	// ClassifyNetwork tells the same of the network tool's texts.
	ClassifyNetwork func(text []byte) (reason failure.Reason, line string, ok bool)
}

// Query is one question to the tool.
type Query struct {
	Name string
	// Args are the argument lists to try, in order, until one gives an answer
	// that parses: older tools know fewer of them.
	Args [][]string
	// Inventory marks slow-changing data, which is asked for at the inventory interval.
	Inventory bool
	// Parse reads standard output. It must not keep out.
	Parse func(out []byte) (model.Report, error)
}

// InTable reports whether the main table tells a metric.
func (v *Vendor) InTable(m model.Metric) bool {
	return slices.ContainsFunc(v.Words, func(w boxtable.Word) bool {
		return m != "" && (w.Field.Metric == m || w.Field.Total == m || w.Field.Limit == m)
	})
}
