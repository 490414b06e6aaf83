package model

import "strings"

// Missing returns the known cards that the main table lacks, each once, in the order of known and at most limit of them.
// A card is the same one by its bus id, else by its UUID, else by its number: numbers move up when a card falls off the
// bus.
func Missing(table, known []Device, limit int) []Device {
	var missing []Device
	present := newIdentities(table)
	for _, d := range known {
		if len(missing) >= limit {
			break
		}
		if !present.has(d) {
			present.add(d)
			missing = append(missing, d)
		}
	}
	return missing
}

// identities finds a card among others.
type identities struct {
	bus, uuid map[string]bool
	// number holds for each number whether its card has a bus id.
	number map[string]bool
}

func newIdentities(devices []Device) identities {
	ids := identities{bus: map[string]bool{}, uuid: map[string]bool{}, number: map[string]bool{}}
	for _, d := range devices {
		ids.add(d)
	}
	return ids
}

func (ids identities) add(d Device) {
	if d.BusID != "" {
		ids.bus[strings.ToLower(d.BusID)] = true
	}
	if d.UUID != "" {
		ids.uuid[d.UUID] = true
	}
	ids.number[d.ID] = d.BusID != ""
}

func (ids identities) has(d Device) bool {
	hasBus, sameNumber := ids.number[d.ID]
	return ids.bus[strings.ToLower(d.BusID)] || ids.uuid[d.UUID] || sameNumber && (d.BusID == "" || !hasBus)
}
