package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// ParseDevices reads a list of cards: numbers, ranges and names with commas
// between, such as 0-3,6 or 0.1. The result reports whether a card is among them.
func ParseDevices(text string) (func(CardID) bool, error) {
	var devices []string
	for part := range strings.SplitSeq(text, ",") {
		device := strings.TrimSpace(part)
		numbers, err := cpulist.Parse(device, maxNumber)
		if device == "" || err != nil && strings.Contains(device, "-") {
			return nil, fmt.Errorf("%.40q is no list of cards such as 0-3", text)
		}
		if err != nil {
			devices = append(devices, device)
		}
		for _, n := range numbers {
			devices = append(devices, strconv.Itoa(n))
		}
	}
	return func(id CardID) bool { return slices.Contains(devices, id.Device) }, nil
}

// WithCards is the machine with only its chosen cards and the processes that hold one. It
// fails where there is none.
func (m *Machine) WithCards(chosen func(CardID) bool) (*Machine, error) {
	some := *m
	some.Cards = slices.DeleteFunc(slices.Clone(m.Cards), func(c *Card) bool { return !chosen(c.CardID) })
	if len(some.Cards) == 0 {
		return nil, fmt.Errorf("the exporter has %d cards, and none of these", len(m.Cards))
	}
	some.Processes = slices.DeleteFunc(slices.Clone(m.Processes), func(p Process) bool {
		return !slices.ContainsFunc(p.Devices, func(device string) bool { return chosen(CardID{Vendor: p.Vendor, Device: device}) })
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
