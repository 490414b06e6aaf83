package collector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// containers is the health of the collector containers, which all vendors share. It fails while the last reading of any
// vendor's processes failed.
type containers struct {
	*health
	mu      sync.Mutex // two vendors may report at a time
	failing map[string]bool
}

func newContainers(logger log.Logger) *containers {
	return &containers{health: newHealth(containersName, logger), failing: map[string]bool{}}
}

// report keeps how the reading of a vendor's processes went. While they are not listed the known warnings hold. Nil, where
// it is off, keeps nothing.
func (c *containers) report(vendor string, start time.Time, found host.Placements, isListed bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.failing[vendor] = found.Err != nil
	works := !slices.Contains(slices.Collect(maps.Values(c.failing)), true)
	c.mu.Unlock() // a line of the log may wait for its reader
	if found.Err == nil && isListed {
		c.setWarnings(vendor, found.Warnings)
	}
	if found.Err != nil || works {
		c.polled(start, found.Err)
	}
}

// newProcessReader returns the reader that finds where a vendor's processes run, as far as the options enable it.
func newProcessReader(o Options) host.ProcessReader {
	r := host.ProcessReader{
		Sysfs: o.Sysfs, Procfs: process.FS(o.Procfs), PodLogs: o.PodLogs,
		Containers: o.Containers && o.Processes, Placement: o.NUMA && o.Processes, Timeout: o.Timeout,
	}
	if o.NUMAMaps {
		r.MapsTimeout = min(o.Interval/2, o.Timeout)
	}
	return r
}
