package collector

import (
	"context"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// readClaims returns the function that asks the kubelet. Its warnings are about claims that fit no card.
func (c *Collector) readClaims(o Options) func(context.Context) (result[[]kube.Claim], error) {
	kubelet := kube.Kubelet{Socket: o.PodResources, Timeout: o.Timeout, TrustAscend: slices.Contains(o.TrustDeviceIDs, kube.Ascend)}
	return func(ctx context.Context) (result[[]kube.Claim], error) {
		claims, err := kubelet.Claims(ctx)
		r := kube.Allocate(claims, c.kubeVendors())
		var conflicts model.Warnings
		for _, ofVendor := range r.Conflicts {
			for _, text := range ofVendor {
				conflicts.Add("%s", text)
			}
		}
		return result[[]kube.Claim]{value: claims, taken: time.Now(), warnings: r.Warnings, conflicts: conflicts}, err
	}
}

// kubeVendors are the vendors whose tables are fresh, and whose inventory was asked for: it has the UUIDs.
func (c *Collector) kubeVendors() []kube.Vendor {
	var vendors []kube.Vendor
	for _, v := range c.vendors {
		if s := v.poller.fresh(); s != nil && v.table.hasInventory() {
			vendors = append(vendors, kube.Vendor{Name: v.Name, Snapshot: s})
		}
	}
	return vendors
}

// allocated writes what the kubelet allocated. Its claims are joined with the cards at each scrape, since the numbers of
// MetaX's cards move when one falls off the bus.
func (c *Collector) allocated(e emitter) {
	claims := c.allocations.fresh()
	if claims == nil {
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
