package model

import (
	"cmp"
	"slices"
	"strings"
)

// Snapshot is one vendor's last main table joined with its fresh inventories, with every
// reference resolved to a Device.ID and no identity twice.
type Snapshot struct {
	Tool    *Tool
	Devices []Device // those of the main table first
	// Missing are cards that the main table lacks though an inventory lists them as available, or though they were in
	// an earlier table: what was known of each.
	Missing   []Device
	Seen      int // cards in the main table
	Announced int // cards the tool says there are, at least Seen
	Processes []Process
	Slices    []Slice
	Links     []Link
	// Placements are of those processes that could be looked at, each once.
	Placements []Placement
	// UnreadProcesses is the number of processes whose CPUs and memory nodes are not known; nil
	// where these were not read.
	UnreadProcesses *int
	Warnings        Warnings // what did not fit together; the reports keep their own
}

// Resolver finds the ID of the device that a topology's name ("GPU0", "NPU3",
// "Phy-ID12") means, or the name to use for what is none of the devices.
type Resolver func(name string, devices []Device) string

// TrimName returns the resolver of a tool whose topology puts a word before a card's number, such as GPU3.
func TrimName(word string) Resolver {
	return func(name string, _ []Device) string { return strings.TrimPrefix(name, word) }
}

// Merge joins the main table with the reports of the side commands. It does not
// change its arguments.
func Merge(table Report, sides []Report, resolve Resolver) Snapshot {
	m := &merger{
		Snapshot: Snapshot{
			Tool:      table.Tool,
			Devices:   slices.Clone(table.Devices),
			Seen:      len(table.Devices),
			Announced: max(table.Announced, len(table.Devices)),
		},
		byID:    make(map[string]int, len(table.Devices)),
		resolve: resolve,
	}
	for i := range m.Devices {
		m.byID[m.Devices[i].ID] = i
	}
	m.addProcesses(table.Processes)
	m.addSlices(table.Slices)
	for _, side := range sides {
		m.Tool = cmp.Or(m.Tool, side.Tool)
		m.Announced = max(m.Announced, side.Announced)
		m.addListed(side.Listed)
		m.addSlices(side.Slices)
	}
	for _, side := range sides {
		m.addAffinities(side.Affinities)
		m.addLinks(side.Links)
	}
	return m.Snapshot
}

type merger struct {
	Snapshot
	byID    map[string]int // indexes of Devices
	resolve Resolver
}

func (m *merger) has(id string) bool {
	_, ok := m.byID[id]
	return ok
}

// addProcesses keeps one entry a card and process.
func (m *merger) addProcesses(processes []Process) {
	type key struct{ device, pid string }
	seen := make(map[key]bool, len(processes))
	for _, p := range processes {
		k := key{p.Device, p.PID}
		switch {
		case !m.has(p.Device):
			m.Warnings.Add("process %s is on card %s, which the table lacks", p.PID, p.Device)
		case seen[k]:
			m.Warnings.Add("process %s is printed twice on card %s", p.PID, p.Device)
		default:
			seen[k] = true
			m.Processes = append(m.Processes, p)
		}
	}
}

func (m *merger) addSlices(all []Slice) {
	for _, x := range all {
		if !m.has(x.Device) {
			m.Warnings.Add("slice %s is on card %s, which the table lacks", x.ID, x.Device)
			continue
		}
		m.Slices = append(m.Slices, x)
	}
}

// addListed takes identity, state and readings from a side command where no report
// before it has them, and adds the cards that it calls broken, which a main table
// leaves out.
func (m *merger) addListed(listed []Device) {
	for _, l := range listed {
		if i := slices.IndexFunc(m.Devices, func(d Device) bool { return d.IsSame(&l) }); i >= 0 {
			d := &m.Devices[i]
			d.identify(l)
			d.Readings = slices.Clip(d.Readings) // the table's own is not to be changed
			for _, r := range l.Readings {
				d.Readings.Add(r)
			}
			continue
		}
		if l.Health == nil || l.Health.OK {
			m.Missing = append(m.Missing, l)
			continue
		}
		if m.has(l.ID) {
			m.Warnings.Add("the listed card %s (%s) has the number of another card", l.ID, l.BusID)
			continue
		}
		m.byID[l.ID] = len(m.Devices)
		m.Devices = append(m.Devices, l)
	}
}

// identify takes what is not known of a card from another report of it.
func (d *Device) identify(other Device) {
	d.Name, d.BusID, d.UUID = cmp.Or(d.Name, other.Name), cmp.Or(d.BusID, other.BusID), cmp.Or(d.UUID, other.UUID)
	d.Health = cmp.Or(d.Health, other.Health)
}

func (m *merger) addAffinities(affinities []Affinity) {
	for _, a := range affinities {
		i, ok := m.byID[m.resolve(a.Name, m.Devices)]
		if !ok {
			m.Warnings.Add("the topology has a row %s that is no card of the table", a.Name)
			continue
		}
		m.Devices[i].NUMANode, m.Devices[i].CPUAffinity = a.NUMANode, a.CPUs
	}
}

func (m *merger) addLinks(links []Link) {
	type pair struct{ device, peer string }
	seen := make(map[pair]bool, len(links))
	for _, l := range links {
		id, peer := m.resolve(l.Device, m.Devices), m.resolve(l.Peer, m.Devices)
		if !m.has(id) {
			continue // addAffinities has warned of it
		}
		key := pair{id, peer}
		if peer == id || seen[key] {
			m.Warnings.Add("the topology links %s to %s twice or to itself", l.Device, l.Peer)
			continue
		}
		seen[key] = true
		m.Links = append(m.Links, Link{Device: id, Peer: peer, Type: l.Type})
	}
}

// Missing returns the known cards that the main table lacks, in the order of known and at most limit of them. Each entry
// may know a part of a card, and makes one with the others.
func Missing(table, known []Device, limit int) []Device {
	var missing []Device
	for _, d := range known {
		isSame := func(other Device) bool { return d.IsSame(&other) }
		if slices.ContainsFunc(table, isSame) {
			continue
		}
		if i := slices.IndexFunc(missing, isSame); i >= 0 {
			missing[i].identify(d)
		} else if len(missing) < limit {
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
