package collector

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Cards are one vendor's cards as they are now.
type Cards struct {
	Vendor string
	// Known is false while nothing fresh is known: then the snapshot is empty.
	Known bool
	// Snapshot is not to be changed.
	model.Snapshot
	// Taken is when the main table was last read, zero for never.
	Taken time.Time
	// Expected is how many cards there ought to be, 0 while nothing says so.
	Expected int
}

// Cards returns the cards of every enabled vendor.
func (c *Collector) Cards() []Cards {
	var all []Cards
	for _, v := range c.vendors {
		now := Cards{Vendor: v.Name, Taken: v.poller.lastTaken(), Expected: v.expected()}
		if s := v.poller.fresh(); s != nil {
			now.Known, now.Snapshot = true, *s
		}
		all = append(all, now)
	}
	return all
}
