package model

import (
	"fmt"
	"strings"
)

// Snapshot is everything one vendor's tool told at one time, with every
// reference resolved to a Device.ID and no identity twice.
type Snapshot struct {
	Tool      *Tool
	Devices   []Device
	Seen      int // cards in the main table
	Announced int // cards the tool says there are, at least Seen
	Processes []Process
	Slices    []Slice
	Links     []Link
	Warnings  []string // what did not fit together; the reports keep their own
}

// Resolver finds the device that a topology's name ("GPU0", "NPU3",
// "Phy-ID12") means. It returns the name to use as a peer, and whether it is
// that of one of the devices.
type Resolver func(name string, devices []Device) (id string, isDevice bool)

// Merge joins the main table with what the side commands told. It does not
// change its arguments.
func Merge(table Report, sides []Report, resolve Resolver) Snapshot {
	s := Snapshot{
		Tool:      table.Tool,
		Seen:      len(table.Devices),
		Announced: max(table.Announced, len(table.Devices)),
		Devices:   append([]Device(nil), table.Devices...),
	}
	s.addProcesses(table.Processes)
	s.addSlices(table.Slices)
	for _, side := range sides {
		s.Announced = max(s.Announced, side.Announced)
		s.addListed(side.Listed)
		s.addAffinities(side.Affinities, resolve)
		s.addLinks(side.Links, resolve)
	}
	return s
}

// addProcesses keeps one entry a card and process: a process on a card and on one
// of its slices has two rows.
func (s *Snapshot) addProcesses(processes []Process) {
	type key struct{ device, pid string }
	seen := make(map[key]bool, len(processes))
	for _, p := range processes {
		k := key{p.Device, p.PID}
		switch {
		case !s.has(p.Device):
			s.warn("process %s is on card %s, which the table lacks", p.PID, p.Device)
		case seen[k]:
			s.warn("process %s is printed twice on card %s", p.PID, p.Device)
		default:
			seen[k] = true
			s.Processes = append(s.Processes, p)
		}
	}
}

func (s *Snapshot) addSlices(slices []Slice) {
	for _, x := range slices {
		if !s.has(x.Device) {
			s.warn("slice %s is on card %s, which the table lacks", x.ID, x.Device)
			continue
		}
		s.Slices = append(s.Slices, x)
	}
}

// addListed takes identity and state from an inventory, and adds the cards that
// the inventory calls broken, which a main table leaves out.
func (s *Snapshot) addListed(listed []Device) {
	for _, l := range listed {
		if d := s.find(l); d != nil {
			d.UUID = l.UUID
			if d.Health == nil {
				d.Health = l.Health
			}
			continue
		}
		if l.Health == nil || l.Health.OK {
			continue // its row was unreadable: the expected count tells
		}
		if s.has(l.ID) {
			s.warn("the listed card %s (%s) has the number of another card", l.ID, l.BusID)
			continue
		}
		s.Devices = append(s.Devices, l)
	}
}

func (s *Snapshot) find(l Device) *Device {
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.BusID != "" && l.BusID != "" {
			if strings.EqualFold(d.BusID, l.BusID) {
				return d
			}
			continue
		}
		if d.ID == l.ID {
			return d
		}
	}
	return nil
}

func (s *Snapshot) has(id string) bool {
	for i := range s.Devices {
		if s.Devices[i].ID == id {
			return true
		}
	}
	return false
}

func (s *Snapshot) addAffinities(affinities []Affinity, resolve Resolver) {
	for _, a := range affinities {
		id, ok := resolve(a.Name, s.Devices)
		if !ok {
			s.warn("the topology has a row %s that is no card of the table", a.Name)
			continue
		}
		for i := range s.Devices {
			if s.Devices[i].ID == id {
				s.Devices[i].NUMANode = a.NUMANode
				s.Devices[i].CPUAffinity = a.CPUs
			}
		}
	}
}

func (s *Snapshot) addLinks(links []Link, resolve Resolver) {
	type pair struct{ device, peer string }
	seen := make(map[pair]bool, len(links))
	for _, l := range links {
		id, ok := resolve(l.Device, s.Devices)
		if !ok {
			continue // said already by addAffinities
		}
		peer, _ := resolve(l.Peer, s.Devices)
		key := pair{id, peer}
		if peer == id || seen[key] {
			s.warn("the topology links %s to %s twice or to itself", l.Device, l.Peer)
			continue
		}
		seen[key] = true
		s.Links = append(s.Links, Link{Device: id, Peer: peer, Type: l.Type})
	}
}

func (s *Snapshot) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}
