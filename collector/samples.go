package collector

import (
	"slices"
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

// samples returns those of all readings, card by card, and has the cache forget others.
func (e emitter) samples(c *sampleCache, all []*cardReadings) [][]sample {
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
				labels := slices.Concat([]string{e.vendor, card.device}, r.Labels)
				made[i] = sample{sampleID(card.device, r), e.metric(string(r.Metric), r.Value, labels)}
			}
		}
		c.samples[card], samples[at] = made, made
	}
	return samples
}

func sampleID(device string, r model.Reading) string {
	return string(r.Metric) + "\xff" + device + "\xff" + strings.Join(r.Labels, "\xff")
}
