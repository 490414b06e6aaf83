// Package e2e runs the programs with a real Prometheus and a real Alertmanager,
// as they are shipped but for one thing: time passes faster. The tests have the
// build tag e2e; make e2e runs them.
package e2e
