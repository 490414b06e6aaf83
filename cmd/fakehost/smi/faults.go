package smi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parseOrders reads one order a line.
func parseOrders[T any](text, what string, parse func(words []string) (T, error)) (all []T, err error) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			order, err := parse(words)
			if err != nil {
				return nil, fmt.Errorf("reading the %s %q: %w", what, strings.TrimSpace(line), err)
			}
			all = append(all, order)
		}
	}
	return all, nil
}

// The faults of a card.
const (
	faultUnhealthy  = "unhealthy"   // the tool says so: the text is the reason (MetaX) or the state (Ascend)
	faultHot        = "hot"         // 105 °C, or as many as the text says, and slower for it
	faultMemoryFull = "memory_full" // all but a few MiB in use
	faultECC        = "ecc"         // memory errors grow, and pages are retired
	faultPortDown   = "port_down"   // the RoCE port has no link (Ascend)
	faultOptics     = "optics"      // the optical module receives too little light (Ascend)
)

var cardFaultKinds = []string{faultUnhealthy, faultHot, faultMemoryFull, faultECC, faultPortDown, faultOptics}

type cardFault struct {
	card string // empty for every card
	kind string
	text string // what stands behind the kind, often empty
}

// parseCardFault reads a card's number, which may be left out for all cards, the kind, and what that takes: "2 unhealthy
// Critical", "hot 98".
func parseCardFault(words []string) (f cardFault, err error) {
	if number, err := strconv.ParseUint(words[0], 10, 16); err == nil {
		if number >= cardCount {
			return f, fmt.Errorf("there is no card %d", number)
		}
		f.card, words = words[0], append(words[1:], "")
	}
	f.kind, f.text = words[0], strings.TrimSpace(strings.Join(words[1:], " "))
	if !slices.Contains(cardFaultKinds, f.kind) {
		return f, fmt.Errorf("no kind %q; there are %s", f.kind, strings.Join(cardFaultKinds, ", "))
	}
	if _, err := strconv.ParseUint(f.text, 10, 16); f.kind == faultHot && f.text != "" && err != nil {
		return f, fmt.Errorf("%q is no whole number of degrees", f.text)
	}
	return f, nil
}

// The faults of a tool.
const (
	faultHang     = "hang"      // never answers
	faultSlow     = "slow"      // answers late: after 8 s, or as the fault says
	faultExit     = "exit"      // exits 1 without a word
	faultCardLost = "card_lost" // leaves out the last card, of the whole tool
)

var toolFaultKinds = []string{faultHang, faultSlow, faultExit, faultCardLost}

// toolFault is what a tool does wrong: in every call, in those of one command or in
// those about one card.
type toolFault struct {
	command, card string
	kind          string
	wait          time.Duration // of slow
}

// parseToolFault reads "hang", "ecc hang" of one command or "card 3 slow 2s".
func parseToolFault(words, commands []string) (toolFault, error) {
	f := toolFault{wait: 8 * time.Second}
	switch {
	case words[0] == "card" && len(words) > 1:
		f.card, words = words[1], words[2:]
	case slices.Contains(commands, words[0]):
		f.command, words = words[0], words[1:]
	}
	if len(words) == 0 || !slices.Contains(toolFaultKinds, words[0]) {
		return f, fmt.Errorf("no such fault or command: faults are %s, and commands %s",
			strings.Join(toolFaultKinds, ", "), strings.Join(commands, ", "))
	}
	f.kind, words = words[0], words[1:]
	switch {
	case f.kind == faultCardLost && f.command+f.card != "":
		return f, fmt.Errorf("%s is for the whole tool, not for a command or a card", f.kind)
	case f.kind == faultSlow && len(words) == 1:
		wait, err := time.ParseDuration(words[0])
		if err != nil || wait < 0 {
			return f, fmt.Errorf("%s takes a time such as 500ms", f.kind)
		}
		f.wait = wait
	case len(words) > 0:
		return f, fmt.Errorf("%s takes no argument", f.kind)
	}
	return f, nil
}

// hits reports whether a call of this command, about this card, goes wrong.
func (f toolFault) hits(command, card string) bool {
	return (f.command == "" || f.command == command) && (f.card == "" || f.card == card)
}
