package report

// serves notes that a card serves a target of the exporter's probes.
func (w *cardWatch) serves(target string, id cardID) {
	if w.targets[target] == nil {
		w.targets[target] = map[cardID]bool{}
	}
	w.targets[target][id] = true
}

// serving are the cards that serve the endpoint, none where the exporter tells of
// no card what it serves. It is not known where it tells so of several targets, none
// of which has the endpoint's name: some of the cards serve others.
func (w *cardWatch) serving(endpoint string) (cards map[cardID]bool, known bool) {
	if cards, known = w.targets[endpoint]; known {
		return cards, true
	}
	if len(w.targets) == 1 { // the endpoint by another name
		for _, cards = range w.targets {
			return cards, true
		}
	}
	return nil, len(w.targets) == 0
}
