package dashboards

// Where colours change, as the alerts of deploy/prometheus/rules/alerts.yml come: TestLimitsAreTheAlerts holds these to those.

// byHeat colours temperatures by the limits of the card's vendor. Series must be named by their vendor; a table cannot be
// coloured so, as its cells do not know their row's vendor.
func byHeat[P interface {
	OverrideByName(name string, properties []property) P
}](p P) P {
	return p.OverrideByName("metax", []property{colored("green", step{100, "orange"}, step{110, "red"})}).
		OverrideByName("ascend", []property{colored("green", step{85, "orange"}, step{95, "red"})})
}

// late are the colours of the age of a probe's last success: the alert's, and three times that.
func late() []step { return []step{{300, "orange"}, {900, "red"}} }

// full are the colours of a share of memory in use: red as the alert comes, orange shortly before.
func full() []step { return []step{{0.95, "orange"}, {0.98, "red"}} }

// silent are the colours of the age of a collector's last success: from 40 s on its series end, with the usual interval.
func silent() []step { return []step{{40, "orange"}, {120, "red"}} }

// failing are the colours of a share of failures: more than the budget, and so many that it is soon spent.
func failing() []step { return []step{{0.01, "orange"}, {0.1, "red"}} }

// fromElsewhere are the colours of a share of pages that were wanted on, or taken from, another NUMA node.
func fromElsewhere() []step { return []step{{0.1, "orange"}, {0.3, "red"}} }
