// Package deploy is the module of what tests the dashboards, the rules and the
// ways to deploy against the real programs' own libraries, and of fleet, which
// simulates many exporters. It is a module of its own so that the exporter's
// stays small; no Go code here is shipped.
package deploy
