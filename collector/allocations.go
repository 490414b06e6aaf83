package collector

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/allocation"
	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// allocationsName is the collector of what the kubelet allocated.
const allocationsName = "allocations"

// TrustedIDs are the vendors for which Options.TrustDeviceIDs means something.
func TrustedIDs() []string { return []string{allocation.Ascend} }

// allocations is the kubelet as a source: what it allocated, joined with the cards as
// they are when it answers.
type allocations struct {
	client *kubelet.Client
	ids    *allocation.IDs
	now    func() (vendors []allocation.Vendor, places []container.Process)

	// Of the goroutine that polls: what was told already, and is not counted again.
	unmatched map[kubelet.Claim]bool
	conflicts []allocation.Conflict

	mu    sync.Mutex
	total map[string]int // conflicts so far, by vendor
}

func newAllocations(c *Collector, o Options) *allocations {
	a := &allocations{
		client: kubelet.New(o.PodResources, o.Timeout), ids: allocation.NewIDs(o.TrustDeviceIDs), now: c.evidence, total: map[string]int{},
	}
	for i := range c.cards {
		a.total[c.cards[i].poller.name] = 0
	}
	return a
}

func (a *allocations) stuck() int { return 0 }

func (a *allocations) beside() (now model.Warnings, leftOut uint64) { return model.Warnings{}, 0 }

func (a *allocations) read(ctx context.Context, publish func(result[[]allocation.Allocation])) error {
	taken := time.Now()
	claims, err := a.client.List(ctx, allocation.Wanted)
	if err != nil {
		return err
	}
	vendors, places := a.now()
	r := a.ids.Evaluate(claims, vendors, places, a.conflicts)
	a.count(r.Conflicts)
	now := map[kubelet.Claim]bool{}
	added := 0
	var left model.Warnings
	texts := map[string]bool{}
	for _, u := range r.Unmatched {
		now[u.Claim] = true
		if !a.unmatched[u.Claim] {
			added++
		}
		if !texts[u.Text] {
			texts[u.Text] = true
			left.Add("%s", u.Text)
		}
	}
	for _, c := range r.Conflicts {
		left.Add("%s", c.Text)
	}
	a.unmatched = now
	publish(result[[]allocation.Allocation]{value: r.Allocations, taken: taken, newWarnings: added, warnings: left})
	return nil
}

// count adds the conflicts that were not there at the last answer.
func (a *allocations) count(now []allocation.Conflict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range now {
		if !slices.ContainsFunc(a.conflicts, func(b allocation.Conflict) bool { return b.Key == c.Key }) {
			a.total[c.Vendor]++
		}
	}
	a.conflicts = now
}

// counted returns the conflicts so far, by vendor.
func (a *allocations) counted() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.total)
}

// evidence is what the tools and the containers' collector tell now.
func (c *Collector) evidence() (vendors []allocation.Vendor, places []container.Process) {
	for i := range c.cards {
		v := allocation.Vendor{Name: c.cards[i].poller.name}
		if s, ok := c.cards[i].poller.fresh(); ok {
			v.Fresh, v.Devices, v.Processes = true, s.Devices, s.Processes
		}
		vendors = append(vendors, v)
	}
	return vendors, c.placed()
}

// awaitTables waits until every vendor was polled once, or for a timeout: an answer of the kubelet before that has no
// cards to be joined with.
func (c *Collector) awaitTables(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for i := range c.cards {
		select {
		case <-c.cards[i].poller.first:
		case <-ctx.Done():
		}
	}
}

// allocated writes what the kubelet allocated, of cards that are still those of its answer: the numbers of MetaX's cards
// move when one falls off the bus.
func (c *Collector) allocated(e emitter) {
	e.status(c.allocations.Status())
	for vendor, n := range c.conflicts.counted() {
		e.put("allocation_conflicts_total", float64(n), vendor)
	}
	all, ok := c.allocations.fresh()
	if !ok {
		return
	}
	type card struct{ vendor, device, uuid string }
	there := map[card]bool{}
	for i := range c.cards {
		p := c.cards[i].poller
		if s, ok := p.fresh(); ok {
			for j := range s.Devices {
				there[card{p.name, s.Devices[j].ID, s.Devices[j].UUID}] = true
			}
		}
	}
	for _, a := range *all {
		if there[card{a.Vendor, a.Device, a.UUID}] {
			e.put("device_allocation_info", 1, a.Vendor, a.Device, a.Resource, a.Namespace, a.Pod, a.Container)
		}
	}
}
