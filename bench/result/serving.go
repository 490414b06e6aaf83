package result

import (
	"net"
	"strconv"
)

// serves notes that a card serves a target of the exporter's probes.
func (w *cardWatch) serves(target string, id cardID) {
	if w.targets[target] == nil {
		w.targets[target] = map[cardID]bool{}
	}
	w.targets[target][id] = true
}

// served is what the exporter tells of the cards that serve the endpoint.
type served struct {
	cards map[cardID]bool // none where no card is known to serve it
	// known is false where the exporter tells so of several targets, none of which
	// has the endpoint's name: some of the cards serve others.
	known   bool
	assumed string // the only target, taken for the endpoint although its name is another
}

// serving looks for the cards of the endpoint, a host and port.
func (w *cardWatch) serving(endpoint string) served {
	if cards, known := w.targets[endpoint]; known {
		return served{cards: cards, known: true}
	}
	if len(w.targets) == 1 {
		for target, cards := range w.targets {
			if couldBe(target, endpoint) {
				return served{cards: cards, known: true, assumed: target}
			}
		}
	}
	return served{known: len(w.targets) <= 1}
}

// couldBe reports whether a target may be the endpoint by another name: a name that
// somebody chose, or the same port by another name of the host.
func couldBe(target, endpoint string) bool {
	_, port, err := net.SplitHostPort(target)
	if err != nil {
		return true
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return true
	}
	_, ours, _ := net.SplitHostPort(endpoint)
	return port == ours
}
