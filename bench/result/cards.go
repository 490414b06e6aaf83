package result

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// cardID is what the exporter tells cards apart by.
type cardID struct{ vendor, device string }

// cardWatch follows the cards that accelerator_exporter showed.
type cardWatch struct {
	window  span
	cards   map[cardID]*cardState
	polls   map[string]*polls          // by vendor
	targets map[string]map[cardID]bool // the cards that serve what the exporter probes, by its name
}

type cardState struct {
	name                                      string
	node                                      *int
	utilization, watts, celsius, used, memory gaugeWatch
}

func newCardWatch(window span) *cardWatch {
	return &cardWatch{
		window: window, cards: map[cardID]*cardState{},
		polls: map[string]*polls{}, targets: map[string]map[cardID]bool{},
	}
}

func (w *cardWatch) card(id cardID) *cardState {
	c := w.cards[id]
	if c == nil {
		g := gaugeWatch{window: w.window}
		c = &cardState{utilization: g, watts: g, celsius: g, used: g, memory: g}
		w.cards[id] = c
	}
	return c
}

// take reads one scrape. Memory comes in one series for each of its types.
func (w *cardWatch) take(at int64, series []runlog.Series) {
	for _, s := range series {
		if s.Name == "accelerator_collector_last_success_timestamp_seconds" {
			w.poll(s.Labels["collector"], int64(min(float64(at), s.Value*1e9)))
		}
	}
	used, memory := map[cardID]float64{}, map[cardID]float64{}
	for _, s := range series {
		id := cardID{s.Labels["vendor"], s.Labels["device"]}
		if id.device == "" {
			continue
		}
		switch s.Name {
		case "accelerator_info":
			w.card(id).name = s.Labels["name"]
		case "accelerator_numa_node":
			w.card(id).node = new(int(s.Value))
		case "accelerator_utilization_ratio":
			w.reading(id, at, &w.card(id).utilization, s.Value)
		case "accelerator_power_watts":
			w.reading(id, at, &w.card(id).watts, s.Value)
		case "accelerator_temperature_celsius":
			if s.Labels["sensor"] == "chip" {
				w.reading(id, at, &w.card(id).celsius, s.Value)
			}
		case "accelerator_memory_used_bytes":
			used[id] += s.Value
		case "accelerator_memory_total_bytes":
			memory[id] += s.Value
		case "accelerator_probe_target_device_info":
			w.serves(s.Labels["target"], id)
		}
	}
	for id, bytes := range used {
		w.reading(id, at, &w.card(id).used, bytes)
	}
	for id, bytes := range memory {
		w.reading(id, at, &w.card(id).memory, bytes)
	}
}

// reading adds what a scrape showed of a card, as of when the card was polled where
// that is known. What was polled outside of the window says nothing about it.
func (w *cardWatch) reading(id cardID, scraped int64, g *gaugeWatch, v float64) {
	p := w.polls[id.vendor]
	switch {
	case p == nil:
		g.add(scraped, v)
	case w.window.holds(p.last):
		g.add(p.last, v)
	}
}

// report fills in the cards in the order of their devices, and the energy that
// those took which serve the endpoint, nil unless it is known of each of them.
func (w *cardWatch) report(endpoint string, s *Step) {
	of := w.serving(endpoint)
	s.AssumedTarget = of.assumed
	ids := slices.SortedFunc(maps.Keys(w.cards), compareCards)
	for _, id := range ids {
		c := w.cards[id]
		gauge := func(g *gaugeWatch) Gauge { return g.gauge(pollsForMean) } // one poll is no mean of a step
		s.Cards = append(s.Cards, Card{
			Vendor: id.vendor, Device: id.device, Name: c.name, Serves: of.cards[id], NUMANode: c.node,
			Utilization: gauge(&c.utilization), Watts: gauge(&c.watts), Celsius: gauge(&c.celsius),
			MemoryUsed: gauge(&c.used), MemoryTotal: gauge(&c.memory),
		})
	}
	if len(of.cards) > 0 {
		ids = slices.SortedFunc(maps.Keys(of.cards), compareCards)
	}
	energy, known := 0.0, of.known && len(w.cards) > 0
	for _, id := range ids {
		taken, ok := w.energy(id)
		energy += taken
		known = known && ok
	}
	if known {
		s.Joules = &energy
	}
}

// energy is what a card took, in joules, and whether that is known.
func (w *cardWatch) energy(id cardID) (float64, bool) {
	c := w.cards[id]
	if c == nil || w.polls[id.vendor] != nil && c.watts.n < pollsForEnergy {
		return 0, false
	}
	return c.watts.total()
}

// compareCards puts 2 before 10.
func compareCards(a, b cardID) int {
	number := func(device string) float64 {
		n, _ := strconv.ParseFloat(device, 64)
		return n
	}
	return cmp.Or(
		cmp.Compare(a.vendor, b.vendor),
		cmp.Compare(number(a.device), number(b.device)),
		cmp.Compare(a.device, b.device),
	)
}
