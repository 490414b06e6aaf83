// Package queries ties every PromQL expression of the project to metrics that
// exist: those of the dashboards, the rules and their tests are read, parsed, and
// held against the golden expositions of the programs.
//
//	all, err := queries.Dashboards("../../dashboards/grafana")
//	expr, err := all[0].Substitute(map[string]string{"instance": "host:10068"})
//
// A [Catalogue] knows the metrics, their types, labels and closed sets of values.
// [Catalogue.Problems] tells what is wrong with an expression. It is strict where the
// answer is certain and silent where it is not; check.go says which is which.
package queries
