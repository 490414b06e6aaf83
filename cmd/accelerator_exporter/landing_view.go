package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Bounds on the landing page, whatever the tools and servers say.
const (
	maxCardsShown    = 64 // of one vendor
	maxWarningsShown = 20 // of one collector
	maxProbesShown   = 100
	maxTextShown     = 300 // characters of an error or a warning
)

// absent is what stands where nothing is known.
const absent = "-"

// landing is what the page shows, as text.
type landing struct {
	Version, Metrics, Now string
	Vendors               []vendorView
	Collectors            []collectorView
	Probes                []probeView
	MoreProbes            int
}

// vendorView is one vendor's cards.
type vendorView struct {
	Name    string
	Summary string
	Bad     bool   // not all are there and healthy
	Stale   string // how old the values are, "" where they are not
	Cards   []cardView
	More    int // cards that are not shown
}

type cardView struct {
	Device, Name, State                     string
	Bad                                     bool
	Utilization, Temperature, Power, Memory string
}

type collectorView struct {
	Name, State, LastSuccess, Took string
	Error, Hint                    string // of the last poll
	Bad                            bool
	Warnings                       []string
	More                           int // warnings that are not shown
}

type probeView struct {
	Target, URL, API, Model string
	State, At               string // of the last probe
	Bad                     bool
	Detail, Hint            string // of its failure
	TTFT, TPOT, E2E, Good   string // of the last success, and when that was
	Marks                   []markView
	Runs                    []runView
}

// markView is one outcome of a probe's history.
type markView struct {
	Title string
	Bad   bool
}

// runView is a run of equal outcomes of a probe's history.
type runView struct {
	When  string
	Count int
	Words string
	Bad   bool
}

func vendorViews(all []collector.Cards, now time.Time, interval time.Duration) []vendorView {
	var views []vendorView
	for _, c := range all {
		v := vendorView{Name: c.Vendor, Stale: stale(c, now, interval)}
		v.Summary, v.Bad = cardsSummary(c)
		c.Devices, v.More = atMost(maxCardsShown, c.Devices)
		for i := range c.Devices {
			v.Cards = append(v.Cards, cardOf(&c.Devices[i]))
		}
		views = append(views, v)
	}
	return views
}

// stale says how old the cards' values are where polls that were due brought no new ones.
func stale(c collector.Cards, now time.Time, interval time.Duration) string {
	age := now.Sub(c.Taken)
	if c.Taken.IsZero() || age <= 2*interval {
		return ""
	}
	return fmt.Sprintf("last read at %s, %s ago", clock(c.Taken, now), age.Round(time.Second))
}

// cardsSummary counts the cards, and names those that are missing.
func cardsSummary(c collector.Cards) (text string, bad bool) {
	if !c.Known {
		if c.Expected > 0 {
			return fmt.Sprintf("nothing known now; %d expected", c.Expected), true
		}
		return "nothing known yet", true
	}
	healthy, told := 0, false
	for i := range c.Devices {
		if h := c.Devices[i].Health; h != nil {
			told = true
			if h.OK {
				healthy++
			}
		}
	}
	text = fmt.Sprintf("%d of %d cards", c.Seen, max(c.Expected, c.Seen))
	if told {
		text += fmt.Sprintf(", %d healthy", healthy)
	}
	var missing []string
	shown, more := atMost(maxCardsShown, c.Missing)
	for i := range shown {
		missing = append(missing, short(shown[i].ID)+because(shown[i].Health))
	}
	if more > 0 {
		missing = append(missing, fmt.Sprintf("and %d more", more))
	}
	if len(missing) > 0 {
		text += "; missing: " + strings.Join(missing, ", ")
	}
	return text, c.Seen < c.Expected || told && healthy < c.Seen
}

// because is a card's state and the reason that is printed beside it.
func because(h *model.Health) string {
	switch {
	case h == nil || h.OK: // it was well when it was last seen
		return ""
	case h.Reason == "":
		return " (" + short(h.State) + ")"
	}
	return " (" + short(h.State) + ": " + short(h.Reason) + ")"
}

func cardOf(d *model.Device) cardView {
	v := cardView{
		Device: short(d.ID), Name: short(cmp.Or(d.Name, absent)), State: absent,
		Utilization: reading(d.Readings, 100, "%.0f %%", "utilization_ratio"),
		Temperature: reading(d.Readings, 1, "%.0f °C", "temperature_celsius", "chip"),
		Power:       reading(d.Readings, 1, "%.0f W", "power_watts"),
		Memory:      absent,
	}
	if limit, ok := d.Readings.Get("power_limit_watts"); ok && v.Power != absent {
		v.Power = fmt.Sprintf("%s/%.0f W", strings.TrimSuffix(v.Power, " W"), limit)
	}
	if h := d.Health; h != nil {
		v.State, v.Bad = short(cmp.Or(h.State, absent)), !h.OK
	}
	// Of several kinds the one that holds most: models are in that.
	most := 0.0
	for _, r := range d.Readings {
		used, ok := d.Readings.Get("memory_used_bytes", r.Labels...)
		if ok && r.Metric == "memory_total_bytes" && r.Value > most {
			const gib = 1 << 30
			most = r.Value
			v.Memory = fmt.Sprintf("%.1f/%.1f GiB", used/gib, most/gib)
		}
	}
	return v
}

func reading(rs model.Readings, factor float64, format string, m model.Metric, labels ...string) string {
	v, ok := rs.Get(m, labels...)
	if !ok {
		return absent
	}
	return fmt.Sprintf(format, v*factor)
}

func collectorViews(all []collector.Status, now time.Time) []collectorView {
	var views []collectorView
	for i := range all {
		s := &all[i]
		v := collectorView{Name: s.Collector, State: "works", LastSuccess: "never", Took: took(s.Duration), Error: short(s.LastError), Hint: s.Hint}
		switch {
		case !s.Polled:
			v.State = "not polled yet"
		case !s.Success:
			v.State, v.Bad = string(s.LastReason), true
		}
		if !s.LastSuccess.IsZero() {
			v.LastSuccess = clock(s.LastSuccess, now)
		}
		warnings, _ := atMost(maxWarningsShown, s.LeftOut.Texts)
		for _, w := range warnings {
			v.Warnings = append(v.Warnings, short(w))
		}
		v.More = s.LeftOut.Count - len(warnings)
		views = append(views, v)
	}
	return views
}

func probeViews(all []probe.Status, now time.Time) (views []probeView, more int) {
	all, more = atMost(maxProbesShown, all)
	for _, s := range all {
		v := probeView{
			Target: s.Target, URL: s.URL, API: string(s.API), Model: modelText(s),
			State: "none yet", TTFT: absent, TPOT: absent, E2E: absent,
			Marks: marks(s.History, now), Runs: runs(s.History, now),
		}
		if last, ok := s.Last(); ok {
			v.At, v.State, v.Bad, v.Hint = clock(last.At, now), result(last), last.Failure != nil, last.Hint
			if v.Bad {
				v.Detail = short(last.Failure.Detail)
			}
		}
		if g := s.LastSuccess; !g.At.IsZero() {
			v.TTFT, v.TPOT, v.E2E, v.Good = took(g.TTFT), took(g.TPOT), took(g.E2E), clock(g.At, now)
		}
		views = append(views, v)
	}
	return views, more
}

// modelText is a target's model, and the label of its series where that is another.
func modelText(s probe.Status) string {
	switch s.Label {
	case s.Model, "":
		return cmp.Or(s.Model, "not known yet")
	}
	return fmt.Sprintf("%s (series: model=%q, the server has named too many)", s.Model, s.Label)
}

func marks(all []probe.Outcome, now time.Time) []markView {
	var views []markView
	for _, o := range all {
		title := clock(o.At, now) + " " + o.Words()
		if o.TTFT > 0 {
			title += ", TTFT " + took(o.TTFT)
		}
		views = append(views, markView{Title: title, Bad: o.Failure != nil})
	}
	return views
}

// runs are equal outcomes in a row, oldest first.
func runs(all []probe.Outcome, now time.Time) []runView {
	var views []runView
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(o probe.Outcome) bool { return o.Result() != all[0].Result() })
		if n < 0 {
			n = len(all)
		}
		v := runView{When: clock(all[0].At, now), Count: n, Words: all[0].Words(), Bad: all[0].Failure != nil}
		if n > 1 {
			v.When += "–" + clock(all[n-1].At, now)
		}
		if v.Bad && all[0].Sent() {
			v.Words += " (" + all[0].Result() + ")"
		}
		views, all = append(views, v), all[n:]
	}
	return views
}

// clock is an instant as the page shows it, with the day where that is another.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("01-02 15:04:05")
}

// atMost are the first n of all, and how many more there are.
func atMost[T any](n int, all []T) (shown []T, more int) {
	shown = all[:min(n, len(all))]
	return shown, len(all) - len(shown)
}

// short cuts a text that a tool or a server printed.
func short(text string) string {
	if runes := []rune(text); len(runes) > maxTextShown {
		return string(runes[:maxTextShown]) + "…"
	}
	return text
}
