package collector

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// sample is a metric that is ready for a scrape.
type sample struct {
	id     string // of its metric, card and labels
	metric prometheus.Metric
}

// sampleCache keeps the samples of readings from one scrape to the next: there are thousands, and they outlive many
// scrapes.
type sampleCache struct {
	mu      sync.Mutex
	samples map[*cardReadings][]sample
}

// get returns the samples of all readings, in their order, and forgets those of others.
func (c *sampleCache) get(all []*cardReadings, newSample func(device string, r model.Reading) sample) [][]sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.samples
	c.samples = make(map[*cardReadings][]sample, len(all))
	samples := make([][]sample, len(all))
	for at, card := range all {
		made, isKnown := known[card]
		if !isKnown {
			made = make([]sample, len(card.readings))
			for i, r := range card.readings {
				made[i] = newSample(card.device, r)
			}
		}
		c.samples[card], samples[at] = made, made
	}
	return samples
}

func sampleID(device string, r model.Reading) string {
	return string(r.Metric) + "\xff" + device + "\xff" + strings.Join(r.Labels, "\xff")
}
