package collector

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Cards are one vendor's cards as they are now.
type Cards struct {
	Vendor string
	// Known is false while nothing fresh is known: then only Expected holds.
	Known bool
	// Taken is when the main table was last read, zero for never.
	Taken time.Time
	// Devices are the cards of the main table, and then those that only an
	// inventory lists. They are not to be changed.
	Devices []model.Device
	// Seen is how many of Devices are in the main table.
	Seen int
	// Expected is how many cards there ought to be, 0 while nothing says so.
	Expected int
	// Missing are cards that the main table lacks, as far as they are known: what was
	// known of each, with the number it had.
	Missing []model.Device
}

// Cards returns the cards of every enabled vendor.
func (c *Collector) Cards() []Cards {
	var all []Cards
	for _, v := range c.vendors {
		now := Cards{Vendor: v.Name, Taken: v.poller.lastTaken(), Expected: v.expected()}
		if s, ok := v.poller.fresh(); ok {
			now.Known, now.Devices, now.Seen, now.Missing = true, s.Devices, s.Seen, s.Missing
		}
		all = append(all, now)
	}
	return all
}
