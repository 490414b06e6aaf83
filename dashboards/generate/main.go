// Command generate writes the dashboards' JSON: into dashboards/grafana, or into the folder it is given.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/accelerator-exporter/accelerator_exporter/dashboards"
)

func main() {
	folder := filepath.Join("dashboards", "grafana")
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := write(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	all, err := dashboards.All()
	if err != nil {
		return err
	}
	for _, d := range all {
		if err := os.WriteFile(filepath.Join(folder, d.File), d.JSON, 0o644); err != nil {
			return err
		}
	}
	return nil
}
