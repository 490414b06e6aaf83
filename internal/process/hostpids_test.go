package process

import (
	"os"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

func TestCheckHostPIDs(t *testing.T) {
	fromContainer := func(p processtest.Procfs) { p.FromContainer(t) }
	for name, c := range map[string]struct {
		change func(p processtest.Procfs)
		want   string
	}{
		"the host":                              {func(processtest.Procfs) {}, ""},
		"a kernel without namespaces":           {func(p processtest.Procfs) { _ = os.RemoveAll(p.Path("self/ns")) }, ""},
		"the host's, mounted in a container":    {fromContainer, ""},
		"a container":                           {func(p processtest.Procfs) { fromContainer(p); p.End(t, 2) }, " has the PIDs of a container, not the host's"},
		"a container with a process 2":          {func(p processtest.Procfs) { fromContainer(p); p.Add(t, 2, processtest.Process{Parent: 1}) }, " has the PIDs of a container, not the host's"},
		"a container's, which does not show us": {func(p processtest.Procfs) { _ = os.RemoveAll(p.Path("self")) }, "no such file"},
	} {
		procfs := processtest.Host(t, nil)
		c.change(procfs)
		err := FS(procfs).CheckHostPIDs()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
