package model

import (
	"slices"
	"strings"
)

// Missing returns the known cards that the main table lacks, each once, in the order of known and at most limit of them.
func Missing(table, known []Device, limit int) []Device {
	var missing []Device
	for _, d := range known {
		isSame := func(other Device) bool { return isSameCard(d, other) }
		if len(missing) < limit && !slices.ContainsFunc(table, isSame) && !slices.ContainsFunc(missing, isSame) {
			missing = append(missing, d)
		}
	}
	return missing
}

// isSameCard compares bus ids and UUIDs, and numbers only where a bus id is not known: numbers move up when a card falls
// off the bus.
func isSameCard(a, b Device) bool {
	sameBus := a.BusID != "" && strings.EqualFold(a.BusID, b.BusID)
	sameUUID := a.UUID != "" && a.UUID == b.UUID
	sameNumber := a.ID == b.ID && (a.BusID == "" || b.BusID == "")
	return sameBus || sameUUID || sameNumber
}
