package report

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
	window span
	cards  map[cardID]*cardState
	serves map[cardID]bool
}

type cardState struct {
	name                                      string
	node                                      *int
	utilization, watts, celsius, used, memory watch
}

func newCardWatch(window span) *cardWatch {
	return &cardWatch{window: window, cards: map[cardID]*cardState{}, serves: map[cardID]bool{}}
}

func (w *cardWatch) card(id cardID) *cardState {
	c := w.cards[id]
	if c == nil {
		g := watch{window: w.window}
		c = &cardState{utilization: g, watts: g, celsius: g, used: g, memory: g}
		w.cards[id] = c
	}
	return c
}

// take reads one scrape. Memory comes in one series for each of its types.
func (w *cardWatch) take(at int64, series []runlog.Series) {
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
			w.card(id).utilization.add(at, s.Value)
		case "accelerator_power_watts":
			w.card(id).watts.add(at, s.Value)
		case "accelerator_temperature_celsius":
			if s.Labels["sensor"] == "chip" {
				w.card(id).celsius.add(at, s.Value)
			}
		case "accelerator_memory_used_bytes":
			used[id] += s.Value
		case "accelerator_memory_total_bytes":
			memory[id] += s.Value
		case "accelerator_probe_target_device_info":
			w.serves[id] = true
		}
	}
	for id, bytes := range used {
		w.card(id).used.add(at, bytes)
	}
	for id, bytes := range memory {
		w.card(id).memory.add(at, bytes)
	}
}

// report returns the cards in the order of their devices, and the energy that
// those took which serve the endpoint, nil unless it is known of each of them.
func (w *cardWatch) report() (cards []Card, joules *float64) {
	serving := false // whether any card is known to
	for id := range w.cards {
		serving = serving || w.serves[id]
	}
	energy, known := 0.0, len(w.cards) > 0
	for _, id := range slices.SortedFunc(maps.Keys(w.cards), compareCards) {
		c := w.cards[id]
		cards = append(cards, Card{
			Vendor: id.vendor, Device: id.device, Name: c.name, Serves: w.serves[id], NUMANode: c.node,
			Utilization: c.utilization.gauge(), Watts: c.watts.gauge(), Celsius: c.celsius.gauge(),
			MemoryUsed: c.used.gauge(), MemoryTotal: c.memory.gauge(),
		})
		if serving && !w.serves[id] {
			continue
		}
		taken, ok := c.watts.total()
		energy += taken
		known = known && ok
	}
	if !known {
		return cards, nil
	}
	return cards, &energy
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
