package result

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	pollsForMean    = 2
	pollsForEnergy  = 3
	samplesForWatts = 2 // where the exporter does not say when it polled
)

// cardID is what the exporter tells cards apart by.
type cardID struct{ vendor, device string }

// card are the readings of one card.
type card struct {
	name                                      string
	node                                      *int
	utilization, watts, celsius, used, memory series
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

func (c *cards) card(id cardID) *card {
	if c.byID[id] == nil {
		c.byID[id] = new(card)
	}
	return c.byID[id]
}

// add takes one scrape. Memory comes in one series for each of its types.
func (c *cards) add(scraped int64, all []runlog.Series) {
	for _, s := range all {
		if s.Name == "accelerator_collector_last_success_timestamp_seconds" {
			vendor := s.Labels["collector"]
			c.polled[vendor] = max(c.polled[vendor], int64(min(float64(scraped), s.Value*1e9)))
		}
	}
	used, memory := map[cardID]float64{}, map[cardID]float64{}
	for _, s := range all {
		id := cardID{s.Labels["vendor"], s.Labels["device"]}
		if id.device == "" {
			continue
		}
		at := c.instant(id, scraped)
		switch s.Name {
		case "accelerator_info":
			c.card(id).name = s.Labels["name"]
		case "accelerator_numa_node":
			c.card(id).node = new(int(s.Value))
		case "accelerator_utilization_ratio":
			c.card(id).utilization.add(at, s.Value)
		case "accelerator_power_watts":
			c.card(id).watts.add(at, s.Value)
		case "accelerator_temperature_celsius":
			if s.Labels["sensor"] == "chip" {
				c.card(id).celsius.add(at, s.Value)
			}
		case "accelerator_memory_used_bytes":
			used[id] += s.Value
		case "accelerator_memory_total_bytes":
			memory[id] += s.Value
		case "accelerator_probe_target_device_info":
			c.serves(s.Labels["target"], id)
		}
	}
	for id, bytes := range used {
		c.card(id).used.add(c.instant(id, scraped), bytes)
	}
	for id, bytes := range memory {
		c.card(id).memory.add(c.instant(id, scraped), bytes)
	}
}

// instant is when a card was polled where that is known, else when it was scraped.
func (c *cards) instant(id cardID, scraped int64) int64 {
	if polled, known := c.polled[id.vendor]; known {
		return polled
	}
	return scraped
}

func (c *cards) serves(target string, id cardID) {
	if c.targets[target] == nil {
		c.targets[target] = map[cardID]bool{}
	}
	c.targets[target][id] = true
}

// report fills in the cards in the order of their devices, and the energy over the
// window: of those that serve the endpoint, else of all.
func (c *cards) report(w span, endpoint string, s *Step) {
	serving, known := c.serving(endpoint, s)
	for _, id := range slices.SortedFunc(maps.Keys(c.byID), compareCards) {
		r := c.byID[id]
		gauge := func(all series) Gauge { return c.inWindow(id, all, w).gauge(w, pollsForMean) }
		s.Cards = append(s.Cards, Card{
			Vendor: id.vendor, Device: id.device, Name: r.name, Serves: serving[id], NUMANode: r.node,
			Utilization: gauge(r.utilization), Watts: gauge(r.watts), Celsius: gauge(r.celsius),
			MemoryUsed: gauge(r.used), MemoryTotal: gauge(r.memory),
		})
	}
	ids := slices.SortedFunc(maps.Keys(serving), compareCards)
	if len(ids) == 0 {
		ids = slices.SortedFunc(maps.Keys(c.byID), compareCards)
	}
	energy := 0.0
	for _, id := range ids {
		taken, ok := c.energy(id, w)
		energy += taken
		known = known && ok
	}
	if known && len(ids) > 0 {
		s.Joules = &energy
	}
}

// inWindow leaves out the polls outside of the window: they say nothing about it.
func (c *cards) inWindow(id cardID, all series, w span) series {
	if _, polled := c.polled[id.vendor]; polled {
		return all.within(w)
	}
	return all
}

// energy is what a card took, in joules, and whether that is known.
func (c *cards) energy(id cardID, w span) (joules float64, known bool) {
	r := c.byID[id]
	if r == nil {
		return 0, false
	}
	least := samplesForWatts
	if _, polled := c.polled[id.vendor]; polled {
		least = pollsForEnergy
	}
	return c.inWindow(id, r.watts, w).total(w, least)
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
