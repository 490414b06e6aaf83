package placement

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseDevices reads which cards are meant: numbers, ranges and names with commas
// between, such as 0-3,6 or 0.1, each of all vendors or behind a vendor's name and a
// slash, as in metax/0-3. The result reports whether a card is among them.
func ParseDevices(text string) (func(CardID) bool, error) {
	type choice struct {
		vendor, device string
		numbers        set // where it is numbers
	}
	var choices []choice
	for part := range strings.SplitSeq(text, ",") {
		var c choice
		c.device = strings.TrimSpace(part)
		if vendor, device, found := strings.Cut(c.device, "/"); found {
			c.vendor, c.device = vendor, device
		}
		if c.device == "" {
			return nil, fmt.Errorf("%.40q is no list of cards such as 0-3", text)
		}
		if numbers, err := parseSet(c.device); err == nil {
			c.numbers = numbers
		} else if strings.Contains(c.device, "-") {
			return nil, fmt.Errorf("%.40q is no list of cards such as 0-3", text)
		}
		choices = append(choices, c)
	}
	return func(id CardID) bool {
		number, err := strconv.Atoi(id.Device)
		return slices.ContainsFunc(choices, func(c choice) bool {
			return (c.vendor == "" || c.vendor == id.Vendor) && (c.device == id.Device || err == nil && c.numbers.has(number))
		})
	}, nil
}

// Only is the machine with those cards alone that are meant, and the processes that
// hold one of them. It fails where there is none.
func (m *Machine) Only(meant func(CardID) bool) (*Machine, error) {
	some := *m
	some.Cards = slices.DeleteFunc(slices.Clone(m.Cards), func(c Card) bool { return !meant(c.CardID) })
	if len(some.Cards) == 0 {
		return nil, fmt.Errorf("no such card on the exporter's page, which has %s", m.haveCards())
	}
	some.Links = slices.DeleteFunc(slices.Clone(m.Links), func(l Link) bool { return !meant(l.Card) })
	some.Processes = slices.DeleteFunc(slices.Clone(m.Processes), func(p Process) bool {
		return !slices.ContainsFunc(p.Cards, func(h Held) bool { return meant(h.CardID) })
	})
	return &some, nil
}

// OfTarget is the machine with those cards alone that serve a target of the exporter's
// probe.
func (m *Machine) OfTarget(name string) (*Machine, error) {
	cards, found := m.Targets[name]
	if !found {
		known := slices.Sorted(maps.Keys(m.Targets))
		if len(known) == 0 {
			return nil, fmt.Errorf("the exporter's page does not tell which cards serve %q, nor any other target", name)
		}
		return nil, fmt.Errorf("the exporter's page does not tell which cards serve %q, but those of %s", name, quoted(known))
	}
	return m.Only(func(id CardID) bool { return slices.Contains(cards, id) })
}

func (m *Machine) haveCards() string {
	const most = 16
	if len(m.Cards) == 0 {
		return "none"
	}
	var names []string
	for _, c := range m.Cards[:min(most, len(m.Cards))] {
		names = append(names, c.String())
	}
	if len(m.Cards) > most {
		names = append(names, "…")
	}
	return quoted(names)
}

// quoted is a list of words from outside, fit for a line.
func quoted(names []string) string {
	texts := make([]string, 0, len(names))
	for _, name := range names[:min(16, len(names))] {
		texts = append(texts, clean(name))
	}
	return strings.Join(texts, ", ")
}
