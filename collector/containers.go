package collector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// containersName is the collector of the containers that processes run in.
const containersName = "containers"

// containers is the health of the collector of that name: of the last readings of the processes of all vendors. It fails
// while one of them does.
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
	defer c.mu.Unlock()
	c.failing[vendor] = found.Err != nil
	if found.Err != nil {
		c.failed(time.Since(start), found.Err)
		return
	}
	if isListed {
		c.setWarnings(vendor, found.Warnings)
	}
	if !slices.Contains(slices.Collect(maps.Values(c.failing)), true) {
		c.succeeded(time.Since(start), start)
	}
}

// newProcessReader reads where the processes that a vendor's tool lists run, as far as that is wanted.
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

// Places returns which containers the processes of the tools' fresh lists run in, by PID; without those on the host. It
// is empty where the collector of containers is off.
func (c *Collector) Places() map[string]model.Container {
	places := map[string]model.Container{}
	for _, v := range c.vendors {
		s, ok := v.poller.fresh()
		if !ok {
			continue
		}
		for _, p := range s.Placements {
			if p.Container != (model.Container{}) {
				places[p.PID] = p.Container
			}
		}
	}
	return places
}

// ContainerOf reads which container a process of the procfs is in, without names; zero where it is in none, and where
// the collector of containers is off.
func (c *Collector) ContainerOf(pid int) model.Container {
	if c.containers == nil {
		return model.Container{}
	}
	return host.ContainerOf(c.procfs, pid)
}
