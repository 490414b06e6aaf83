package collector

import (
	"context"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
)

// allocationsName is the collector of what the kubelet allocated.
const allocationsName = "allocations"

// TrustedIDs are the vendors for which Options.TrustDeviceIDs means something.
func TrustedIDs() []string { return []string{kube.Ascend} }

// allocations is the kubelet as a source.
type allocations struct {
	kubelet kube.Kubelet
	vendors func() []kube.Vendor
}

func newAllocations(c *Collector, o Options) *allocations {
	return &allocations{
		kubelet: kube.Kubelet{Socket: o.PodResources, Timeout: o.Timeout, TrustAscend: slices.Contains(o.TrustDeviceIDs, kube.Ascend)},
		vendors: c.kubeVendors,
	}
}

// read asks the kubelet, and says which of its claims fit no card.
func (a *allocations) read(ctx context.Context) (result[[]kube.Claim], error) {
	taken := time.Now()
	claims, err := a.kubelet.Claims(ctx)
	if err != nil {
		return result[[]kube.Claim]{}, err
	}
	r := kube.Allocate(claims, a.vendors())
	left := r.Warnings
	for _, conflicts := range r.Conflicts {
		for _, text := range conflicts {
			left.Add("%s", text)
		}
	}
	return result[[]kube.Claim]{value: claims, taken: taken, warnings: left}, nil
}

// kubeVendors are the vendors whose tables are fresh, and whose inventory was asked for: it has the UUIDs.
func (c *Collector) kubeVendors() []kube.Vendor {
	var vendors []kube.Vendor
	for _, v := range c.vendors {
		if s, ok := v.poller.fresh(); ok && v.table.hasInventory() {
			vendors = append(vendors, kube.Vendor{Name: v.Name, Snapshot: s})
		}
	}
	return vendors
}

// allocated writes what the kubelet allocated. Its claims are joined with the cards at each scrape, since the numbers of
// MetaX's cards move when one falls off the bus.
func (c *Collector) allocated(e emitter) {
	e.status(c.allocations.health.Status())
	claims, ok := c.allocations.fresh()
	if !ok {
		return
	}
	r := kube.Allocate(*claims, c.kubeVendors())
	for vendor, conflicts := range r.Conflicts {
		e.put("allocation_conflicts", float64(len(conflicts)), vendor)
	}
	for _, a := range r.Allocations {
		e.put("device_allocation_info", 1, a.Vendor, a.Device, a.Resource, a.Pod.Namespace, a.Pod.Name, a.Container)
	}
}
