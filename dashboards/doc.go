// Package dashboards holds the Grafana dashboards: each is written in Go, and generated into the JSON under grafana/ that users import.
package dashboards
