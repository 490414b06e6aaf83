package result

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	pollsForMean   = 2
	pollsForEnergy = 3
	watts          = "accelerator_power_watts"
)

// cardID is what the exporter tells cards apart by.
type cardID struct{ vendor, device string }

// card are the readings of one card.
type card struct {
	name     string
	node     *int
	readings readings
}

// cards are what accelerator_exporter showed during a step.
type cards struct {
	byID    map[cardID]*card
	polled  map[string]int64           // when a vendor's cards were polled last
	targets map[string]map[cardID]bool // the cards that serve what the exporter probes, by its name
}

func newCards() *cards {
	return &cards{byID: map[cardID]*card{}, polled: map[string]int64{}, targets: map[string]map[cardID]bool{}}
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
			c.serves(s.Labels["target"], id)
		default:
			if sums[id] == nil {
				sums[id] = map[string]float64{}
			}
			sums[id][s.Name] += s.Value
			c.describe(id, s)
		}
	}
	for id, values := range sums {
		at := scraped
		if polled, known := c.polled[id.vendor]; known {
			at = polled
		}
		c.byID[id].readings.add(at, values)
	}
}

// describe keeps what a series says of the card itself.
func (c *cards) describe(id cardID, s runlog.Series) {
	if c.byID[id] == nil {
		c.byID[id] = &card{readings: readings{}}
	}
	switch s.Name {
	case "accelerator_info":
		c.byID[id].name = s.Labels["name"]
	case "accelerator_numa_node":
		c.byID[id].node = new(int(s.Value))
	}
}

func (c *cards) serves(target string, id cardID) {
	if c.targets[target] == nil {
		c.targets[target] = map[cardID]bool{}
	}
	c.targets[target][id] = true
}

// report fills in the cards in the order of their devices, and the energy over the
// window: of those that serve the endpoint, else of all. A poll outside of the window says
// nothing about it.
func (c *cards) report(w span, endpoint string, s *Step) {
	serving, known := c.serving(endpoint, s)
	for _, id := range slices.SortedFunc(maps.Keys(c.byID), compareCards) {
		r := c.byID[id]
		gauge := func(name string) Gauge { return r.readings.first(name).within(w).gauge(w, pollsForMean) }
		s.Cards = append(s.Cards, Card{
			Vendor: id.vendor, Device: id.device, Name: r.name, Serves: serving[id], NUMANode: r.node,
			Utilization: gauge("accelerator_utilization_ratio"), Watts: gauge(watts),
			Celsius:    gauge("accelerator_temperature_celsius"),
			MemoryUsed: gauge("accelerator_memory_used_bytes"), MemoryTotal: gauge("accelerator_memory_total_bytes"),
		})
	}
	ids := slices.SortedFunc(maps.Keys(serving), compareCards)
	if len(ids) == 0 {
		ids = slices.SortedFunc(maps.Keys(c.byID), compareCards)
	}
	energy := 0.0
	for _, id := range ids {
		taken, ok := 0.0, false
		if r := c.byID[id]; r != nil {
			taken, ok = r.readings.first(watts).within(w).total(w, pollsForEnergy)
		}
		energy += taken
		known = known && ok
	}
	if known && len(ids) > 0 {
		s.Joules = &energy
	}
}

// serving are the cards of the endpoint, a host and port: those of the target of that
// name, or of the only target there is. With several targets by other names it is not
// known whose energy counts.
func (c *cards) serving(endpoint string, s *Step) (serving map[cardID]bool, known bool) {
	if serving, known = c.targets[endpoint]; known || len(c.targets) != 1 {
		return serving, known || len(c.targets) == 0
	}
	for target, only := range c.targets {
		s.AssumedTarget, serving = target, only
	}
	return serving, true
}

// compareCards puts 2 before 10.
func compareCards(a, b cardID) int {
	x, _ := strconv.ParseFloat(a.device, 64)
	y, _ := strconv.ParseFloat(b.device, 64)
	return cmp.Or(cmp.Compare(a.vendor, b.vendor), cmp.Compare(x, y), cmp.Compare(a.device, b.device))
}
