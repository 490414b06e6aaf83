// Command generate writes the dashboards' JSON into dashboards/grafana.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/accelerator-exporter/accelerator_exporter/dashboards"
)

func main() {
	all, err := dashboards.All()
	for i := 0; err == nil && i < len(all); i++ {
		err = os.WriteFile(filepath.Join("dashboards", "grafana", all[i].File), all[i].JSON, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
