package result

import (
	"cmp"
	"maps"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// pollsForMean is how many polls inside of a window it takes for a mean.
const pollsForMean = 2

// Card is what was seen of one card during a step, by the first machine that looked.
type Card struct {
	Vendor string `json:"vendor"`
	Device string `json:"device"`
	Name   string `json:"name,omitempty"`
	// Serves reports whether the card serves the endpoint. It is true for all where the
	// exporter knows the cards of no target.
	Serves      bool  `json:"serves"`
	Utilization Gauge `json:"utilization"` // 0 to 1
	Watts       Gauge `json:"watts"`
	Celsius     Gauge `json:"celsius"`
	MemoryUsed  Gauge `json:"memory_used"` // bytes
}

// cardID is what the exporter tells cards apart by.
type cardID struct{ vendor, device string }

type card struct {
	name     string
	targets  map[string]bool // of the exporter's probes, which it serves
	readings readings
}

// cards are what accelerator_exporter showed during a step.
type cards struct {
	endpoint string // a host and port: the exporter's name for it among its targets
	byID     map[cardID]*card
	targets  map[string]bool  // of the exporter's probes, of which it knows the cards
	polled   map[string]int64 // when a vendor's cards were polled last
}

func newCards(endpoint string) *cards {
	return &cards{endpoint: endpoint, byID: map[cardID]*card{}, targets: map[string]bool{}, polled: map[string]int64{}}
}

// add takes one scrape. Readings are of when the card was polled where that is known, else
// of the scrape. Memory comes in one series for each of its types.
func (c *cards) add(scraped int64, all []runlog.Series) {
	sums := map[cardID]map[string]float64{}
	for _, s := range all {
		id := cardID{s.Labels["vendor"], s.Labels["device"]}
		switch {
		case s.Name == "accelerator_collector_last_success_timestamp_seconds":
			vendor := s.Labels["collector"]
			c.polled[vendor] = max(c.polled[vendor], int64(min(float64(scraped), s.Value*1e9)))
		case id.device == "" || s.Name == "accelerator_temperature_celsius" && s.Labels["sensor"] != "chip":
		case s.Name == "accelerator_probe_target_device_info":
			c.targets[s.Labels["target"]] = true
			c.card(id).targets[s.Labels["target"]] = true
		case s.Name == "accelerator_info":
			c.card(id).name = s.Labels["name"]
		default:
			if sums[id] == nil {
				sums[id] = map[string]float64{}
			}
			sums[id][s.Name] += s.Value
		}
	}
	for id, values := range sums {
		c.card(id).readings.add(cmp.Or(c.polled[id.vendor], scraped), values)
	}
}

func (c *cards) card(id cardID) *card {
	if c.byID[id] == nil {
		c.byID[id] = &card{targets: map[string]bool{}, readings: readings{}}
	}
	return c.byID[id]
}

// report are the cards in the order of their devices, 2 before 10. A poll outside of the window says
// nothing about it. The endpoint is the target of its host and port, else the only one.
func (c *cards) report(w span) []Card {
	target := c.endpoint
	if !c.targets[target] && len(c.targets) == 1 {
		target = slices.Collect(maps.Keys(c.targets))[0]
	}
	ids := slices.SortedFunc(maps.Keys(c.byID), func(a, b cardID) int {
		return cmp.Or(cmp.Compare(a.vendor, b.vendor),
			cmp.Compare(len(a.device), len(b.device)), cmp.Compare(a.device, b.device))
	})
	var all []Card
	for _, id := range ids {
		r := c.byID[id]
		gauge := func(name string) Gauge { return r.readings[name].gauge(w, pollsForMean) }
		all = append(all, Card{
			Vendor: id.vendor, Device: id.device, Name: r.name, Serves: r.targets[target] || len(c.targets) == 0,
			Utilization: gauge("accelerator_utilization_ratio"), Watts: gauge("accelerator_power_watts"),
			Celsius: gauge("accelerator_temperature_celsius"), MemoryUsed: gauge("accelerator_memory_used_bytes"),
		})
	}
	return all
}

// Serving are the Cards that serve the endpoint.
func (s *Step) Serving() []Card {
	return slices.DeleteFunc(slices.Clone(s.Cards), func(c Card) bool { return !c.Serves })
}

// joules are not known where no card serves, nor where the power of one that does is not.
func (s *Step) joules() Value {
	serving, watts := s.Serving(), 0.0
	if len(serving) == 0 || slices.ContainsFunc(serving, func(c Card) bool { return c.Watts.Samples == 0 }) {
		return unknown()
	}
	for _, c := range serving {
		watts += c.Watts.Mean
	}
	return Value(watts * s.Whole.Window.Duration().Seconds())
}
