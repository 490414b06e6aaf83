// Package e2e runs the programs with a real Prometheus and a real Alertmanager, on the files that are shipped; only
// intervals and the waits of rules are shorter. The tests have the build tag e2e; make e2e runs them.
package e2e
