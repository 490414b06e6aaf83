package model

import (
	"slices"
	"strings"
)

// Missing returns the known cards that the main table lacks, each once, in the order of known and at most limit of them.
func Missing(table, known []Device, limit int) []Device {
	var missing []Device
	for _, d := range known {
		isSame := func(other Device) bool { return d.IsSame(&other) }
		if len(missing) < limit && !slices.ContainsFunc(table, isSame) && !slices.ContainsFunc(missing, isSame) {
			missing = append(missing, d)
		}
	}
	return missing
}

// IsSame compares bus ids and UUIDs, and numbers only where a bus id is not known: numbers move up when a card falls off
// the bus. The domain of a bus id may have more zeros before it.
func (d *Device) IsSame(other *Device) bool {
	sameBus := d.BusID != "" && strings.EqualFold(strings.TrimLeft(d.BusID, "0"), strings.TrimLeft(other.BusID, "0"))
	sameUUID := d.UUID != "" && d.UUID == other.UUID
	sameNumber := d.ID == other.ID && (d.BusID == "" || other.BusID == "")
	return sameBus || sameUUID || sameNumber
}
