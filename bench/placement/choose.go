package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// ParseDevices reads which cards are meant: numbers, ranges and names with commas
// between, such as 0-3,6 or 0.1. The result reports whether a card is among them.
func ParseDevices(text string) (func(CardID) bool, error) {
	var chosen []string
	for part := range strings.SplitSeq(text, ",") {
		device := strings.TrimSpace(part)
		numbers, err := cpulist.Parse(device, maxNumber)
		if device == "" || err != nil && strings.Contains(device, "-") {
			return nil, fmt.Errorf("%.40q is no list of cards such as 0-3", text)
		}
		if err != nil {
			chosen = append(chosen, device)
		}
		for _, n := range numbers {
			chosen = append(chosen, strconv.Itoa(n))
		}
	}
	return func(id CardID) bool { return slices.Contains(chosen, id.Device) }, nil
}

// WithCards is the machine with those cards alone that are meant, and the processes that
// hold one of them. It fails where there is none.
func (m *Machine) WithCards(meant func(CardID) bool) (*Machine, error) {
	some := *m
	some.Cards = slices.DeleteFunc(slices.Clone(m.Cards), func(c *Card) bool { return !meant(c.CardID) })
	if len(some.Cards) == 0 {
		return nil, fmt.Errorf("none of the exporter's %d cards is meant", len(m.Cards))
	}
	some.Processes = slices.DeleteFunc(slices.Clone(m.Processes), func(p Process) bool {
		return !slices.ContainsFunc(p.Devices, func(device string) bool { return meant(CardID{Vendor: p.Vendor, Device: device}) })
	})
	return &some, nil
}

// ServingCards reports whether a card serves a target of the exporter's probe.
func (m *Machine) ServingCards(target string) (func(CardID) bool, error) {
	cards, found := m.Targets[target]
	if !found {
		return nil, fmt.Errorf("the exporter's page does not say which cards serve %q", target)
	}
	return func(id CardID) bool { return slices.Contains(cards, id) }, nil
}
