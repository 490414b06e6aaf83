package collector

import (
	"context"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// containersName is the collector of the containers that processes run in.
const containersName = "containers"

// containers is where the listed processes run as a source. It is of one goroutine, but for
// changed.
type containers struct {
	look    func([]container.Listed) (container.Snapshot, error)
	list    func() []container.Listed // the processes of the fresh lists
	timeout time.Duration
	changed chan struct{}             // gets a token when a list was read
	looked  map[container.Listed]bool // the processes of the last poll
	reading chan reading              // of a look that has not ended, nil for none
	unread  lasting
}

// reading is what one look at the processes brought.
type reading struct {
	value container.Snapshot
	taken time.Time
	err   error
}

// addContainers has where the processes of the vendors run looked at, at every interval and
// when a list has new ones.
func (c *Collector) addContainers(o Options) {
	c.reader = container.Reader{Procfs: process.FS(o.Procfs), PodLogs: o.PodLogs}
	source := &containers{look: c.reader.Read, list: c.listed, timeout: o.Timeout, changed: make(chan struct{}, 1)}
	c.containers = newPoller(containersName, source, o)
	c.containers.spare = func(ctx context.Context, until time.Time) { source.spend(ctx, until, c.containers.poll) }
	for _, v := range c.cards {
		v.poller.told = source.listRead
		v.hardware.procfs = process.FS(o.Procfs)
	}
}

func (*containers) stuck() int { return 0 }

func (*containers) beside() (now model.Warnings, leftOut uint64) { return model.Warnings{}, 0 }

// read waits for a timeout at most, since the pods' logs may lie on a mount that hangs. A
// look that takes longer is not begun again, but waited for by the next poll.
func (c *containers) read(ctx context.Context, publish func(result[container.Snapshot])) error {
	if c.reading == nil {
		c.begin()
	}
	late := time.NewTimer(c.timeout)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return failure.New(failure.Timeout, "reading where processes run takes longer than %s", c.timeout)
	case r := <-c.reading:
		c.reading = nil
		if r.err != nil {
			return r.err
		}
		known := r.value.Warnings
		publish(result[container.Snapshot]{value: r.value, taken: r.taken, newWarnings: c.unread.added(known), warnings: known})
		return nil
	}
}

// begin starts a look at the processes that are listed now.
func (c *containers) begin() {
	listed, done := c.list(), make(chan reading, 1)
	c.looked, c.reading = make(map[container.Listed]bool, len(listed)), done
	for _, l := range listed {
		c.looked[l] = true
	}
	go func() {
		taken := time.Now()
		value, err := c.look(listed)
		done <- reading{value, taken, err}
	}()
}

// listRead says that a tool's list was read. It waits for nobody.
func (c *containers) listRead() {
	select {
	case c.changed <- struct{}{}:
	default: // it looks anyway
	}
}

// spend polls anew when a list has a process that was not looked at, until the time has come.
func (c *containers) spend(ctx context.Context, until time.Time, poll func(context.Context)) {
	next := time.NewTimer(time.Until(until))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			return
		case <-c.changed:
			if c.hasNew() {
				poll(ctx)
			}
		}
	}
}

func (c *containers) hasNew() bool {
	for _, l := range c.list() {
		if !c.looked[l] {
			return true
		}
	}
	return false
}

// listed are the processes of the fresh lists, each once for a vendor.
func (c *Collector) listed() []container.Listed {
	var all []container.Listed
	for _, v := range c.cards {
		s, ok := v.poller.fresh()
		if !ok {
			continue
		}
		seen := make(map[string]bool, len(s.Processes))
		for _, p := range s.Processes {
			if !seen[p.PID] {
				seen[p.PID] = true
				all = append(all, container.Listed{Vendor: v.poller.name, PID: p.PID, Start: s.Starts[p.PID]})
			}
		}
	}
	return all
}

// placed are the processes of the fresh lists that run in a container or pod, as far as the
// last look tells. One of another start has the number of one that is gone.
func (c *Collector) placed() []container.Process {
	if c.containers == nil {
		return nil
	}
	s, ok := c.containers.fresh()
	if !ok || len(s.Processes) == 0 {
		return nil
	}
	current := map[container.Listed]bool{}
	for _, l := range c.listed() {
		current[l] = true
	}
	var all []container.Process
	for _, p := range s.Processes {
		if current[container.Listed{Vendor: p.Vendor, PID: p.PID, Start: p.Start}] {
			all = append(all, p)
		}
	}
	return all
}

// Places returns where the processes of the tools' fresh lists run, by PID; without those
// that are in no container or pod. It is empty where the collector of containers is off.
func (c *Collector) Places() map[string]container.Place {
	places := map[string]container.Place{}
	for _, p := range c.placed() {
		places[p.PID] = p.Place
	}
	return places
}

// ContainerOf reads which container a process of the procfs is in, without names; zero
// where it is in none, and where the collector of containers is off.
func (c *Collector) ContainerOf(pid int) container.Place {
	if c.containers == nil {
		return container.Place{}
	}
	return c.reader.ID(pid)
}
