package collector

import (
	"sync"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// containersName is the collector of the containers that processes run in.
const containersName = "containers"

// containers is the health of the collector of that name: of the last look at the processes of any vendor.
type containers struct {
	mu sync.Mutex // two vendors may look at a time
	*health
	warnings map[*processLooker]model.Warnings // of each vendor's last look
}

func newContainers(logger log.Logger) *containers {
	return &containers{health: newHealth(containersName, logger), warnings: map[*processLooker]model.Warnings{}}
}

// report keeps how a look went. Known warnings are counted once, not at every look.
func (c *containers) report(l *processLooker, start time.Time, found host.Look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found.Err != nil {
		c.failed(time.Since(start), found.Err)
		return
	}
	added := max(0, found.Warnings.Count-c.warnings[l].Count)
	c.warnings[l] = found.Warnings
	var all model.Warnings
	for _, w := range c.warnings {
		all.Join(w)
	}
	c.succeeded(time.Since(start), start, added, all)
}

// processLooker looks at the processes that one vendor's tool lists.
type processLooker struct {
	host       host.Looker
	containers *containers // nil where it is off
	timeout    time.Duration
	unfinished chan host.Look // of a look that has not ended, nil for none
}

func newProcessLooker(c *containers, o Options) *processLooker {
	l := host.Looker{Sysfs: o.Sysfs, Procfs: process.FS(o.Procfs), PodLogs: o.PodLogs, Containers: c != nil, Placement: o.NUMA && o.Processes}
	if o.NUMAMaps {
		l.MapsTimeout = min(o.Interval/2, o.Timeout)
	}
	return &processLooker{host: l, containers: c, timeout: o.Timeout}
}

func (l *processLooker) look(listed []model.Process, asked time.Time) host.Look {
	start := time.Now()
	found := l.lookInTime(listed, asked)
	if l.containers != nil {
		l.containers.report(l, start, found)
	}
	return found
}

// lookInTime gives a look up that does not end, as on a dead mount, so that the table does not wait for it. No other is
// begun before that one has ended.
func (l *processLooker) lookInTime(listed []model.Process, asked time.Time) host.Look {
	if l.unfinished != nil {
		select {
		case <-l.unfinished: // about processes that were listed long ago
			l.unfinished = nil
		default:
			return host.Look{Err: failure.Errorf(failure.Timeout, "reading the files of processes: the last reading has not ended")}
		}
	}
	done := make(chan host.Look, 1)
	go func() { done <- l.host.Look(listed, asked) }()
	select {
	case found := <-done:
		return found
	case <-time.After(l.timeout):
		l.unfinished = done
		return host.Look{Err: failure.Errorf(failure.Timeout, "reading the files of processes: no end within %s", l.timeout)}
	}
}

// Places returns which containers the processes of the tools' fresh lists run in, by PID; without those on the host. It
// is empty where the collector of containers is off.
func (c *Collector) Places() map[string]model.Container {
	places := map[string]model.Container{}
	for _, v := range c.cards {
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
