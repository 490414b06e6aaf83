// Package queries ties every PromQL expression of the project to metrics that exist: those of the dashboards, the rules,
// their tests and the documents are evaluated, by Prometheus' own engine, over the golden expositions of the programs.
//
//	all, err := queries.Dashboards("../../dashboards/grafana")
//	expr, err := all[0].Substitute(map[string]string{"instance": "host:10068"})
//
// [Golden] is a fleet with these series. [Golden.Problems] tells what is wrong with an expression: selectors that find
// nothing, parts that never return anything, labels that are not there, and what the engine refuses or warns of. What
// is evaluated over a fleet also tells cards of several hosts that are taken for one. docs/design.md says what is not
// found.
package queries
