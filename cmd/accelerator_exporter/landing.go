package main

import (
	"cmp"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"net/http"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

//go:embed landing.html landing.txt
var landingFiles embed.FS

// The landing page for a browser and for a terminal. html/template escapes what a tool or
// a server printed.
var (
	landingHTML = htmltemplate.Must(htmltemplate.ParseFS(landingFiles, "landing.html"))
	landingText = texttemplate.Must(texttemplate.ParseFS(landingFiles, "landing.txt"))
)

// absent is what stands where nothing is known.
const absent = "-"

type landing struct {
	Version, Metrics, Now string
	Vendors               []vendorView
	Probes                []probeView
	Collectors            []collectorView
}

type vendorView struct {
	Name, Summary string
	Bad           bool   // not all are there and healthy
	Stale         string // how old the values are, "" where they are not
	Cards         []cardView
}

type cardView struct {
	Device, Name, State                     string
	Bad                                     bool
	Utilization, Temperature, Power, Memory string
}

type collectorView struct {
	collector.Status
	State, ReadAt, Took string
	Bad                 bool
	More                int // warnings whose text is not kept
}

type probeView struct {
	probe.Status
	State, At             string // of the last probe
	Bad                   bool
	Why, Hint             string // of its failure
	TTFT, TPOT, E2E, Good string // of the last success, and when that was
	Lines                 []lineView
}

// serveLanding shows the state of everything, from memory alone: as HTML to a client that
// takes it, as browsers do and curl does not, else as text.
func (d *daemon) serveLanding(w http.ResponseWriter, r *http.Request) {
	write, kind := landingText.Execute, "text/plain; charset=utf-8"
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		write, kind = landingHTML.Execute, "text/html; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
	if err := write(w, d.landing(time.Now())); err != nil {
		level.Debug(d.logger).Log("msg", "writing the landing page", "err", err)
	}
}

func (d *daemon) landing(now time.Time) landing {
	page := landing{Version: version.Info(), Metrics: d.settings.telemetryPath, Now: timestamp(now)}
	for _, c := range d.hardware.Cards() {
		page.Vendors = append(page.Vendors, newVendorView(c, now, d.settings.collector.Interval))
	}
	for _, s := range d.prober.Statuses() {
		view := newProbeView(s)
		view.Lines = d.lastHour.lines(s.Name)
		page.Probes = append(page.Probes, view)
	}
	for _, s := range d.hardware.Statuses() {
		page.Collectors = append(page.Collectors, newCollectorView(s))
	}
	return page
}

func newVendorView(c collector.Cards, now time.Time, interval time.Duration) vendorView {
	v := vendorView{Name: c.Vendor}
	v.Summary, v.Bad = cardsSummary(c)
	if age := now.Sub(c.Taken); !c.Taken.IsZero() && age > 2*interval {
		v.Stale = fmt.Sprintf("last read at %s, %s ago", timestamp(c.Taken), age.Round(time.Second))
	}
	for i := range c.Devices {
		v.Cards = append(v.Cards, newCardView(&c.Devices[i]))
	}
	return v
}

// cardsSummary counts the cards, and names those that are missing.
func cardsSummary(c collector.Cards) (text string, bad bool) {
	switch {
	case !c.Known && c.Expected > 0:
		return fmt.Sprintf("nothing known now; %d expected", c.Expected), true
	case !c.Known:
		return "nothing known yet", true
	}
	healthy, judged := 0, 0
	for i := range c.Devices {
		if h := c.Devices[i].Health; h != nil {
			judged++
			if h.OK {
				healthy++
			}
		}
	}
	text = fmt.Sprintf("%d of %d cards", c.Seen, max(c.Expected, c.Seen))
	if judged > 0 {
		text = fmt.Sprintf("%s, %d healthy", text, healthy)
	}
	if len(c.Missing) > 0 {
		text = fmt.Sprintf("%s; missing: %s", text, strings.Join(missingCards(c.Missing), ", "))
	}
	return text, c.Seen < c.Expected || healthy < judged
}

// missingCards are numbers, with the state of those that were not well when they were last seen.
func missingCards(missing []model.Device) []string {
	var all []string
	for _, d := range missing {
		name := d.ID
		if h := d.Health; h != nil && !h.OK {
			name = fmt.Sprintf("%s (%s)", d.ID, strings.TrimSuffix(h.State+": "+h.Reason, ": "))
		}
		all = append(all, name)
	}
	return all
}

func newCardView(d *model.Device) cardView {
	v := cardView{
		Device: d.ID, Name: cmp.Or(d.Name, absent), State: absent,
		Utilization: reading(d.Readings, 100, "%.0f %%", "utilization_ratio"),
		Temperature: reading(d.Readings, 1, "%.0f °C", "temperature_celsius", "chip"),
		Power:       reading(d.Readings, 1, "%.0f W", "power_watts"),
		Memory:      absent,
	}
	if limit, ok := d.Readings.Get("power_limit_watts"); ok && v.Power != absent {
		v.Power = fmt.Sprintf("%s/%.0f W", strings.TrimSuffix(v.Power, " W"), limit)
	}
	if h := d.Health; h != nil {
		v.State, v.Bad = cmp.Or(h.State, absent), !h.OK
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

func reading(all model.Readings, factor float64, format string, m model.Metric, labels ...string) string {
	v, ok := all.Get(m, labels...)
	if !ok {
		return absent
	}
	return fmt.Sprintf(format, v*factor)
}

func newCollectorView(s collector.Status) collectorView {
	v := collectorView{Status: s, State: "works", ReadAt: "never", Took: durationText(s.Duration), More: s.LeftOut.Count - len(s.LeftOut.Texts)}
	switch {
	case !s.Polled:
		v.State = "not polled yet"
	case !s.Success:
		v.State, v.Bad = string(s.LastReason), true
	}
	if !s.LastSuccess.IsZero() {
		v.ReadAt = timestamp(s.LastSuccess)
	}
	return v
}

func newProbeView(s probe.Status) probeView {
	v := probeView{Status: s, State: "none yet"}
	v.Model = cmp.Or(s.Model, "not known yet")
	if last := s.Last; !last.At.IsZero() {
		v.At, v.State, v.Bad, v.Hint = timestamp(last.At), result(last), last.Failure != nil, last.Hint
		if v.Bad {
			v.Why = last.Failure.Detail
		}
	}
	if g := s.LastSuccess; !g.At.IsZero() {
		v.TTFT, v.TPOT, v.E2E, v.Good = durationText(g.TTFT), durationText(g.TPOT), durationText(g.E2E), timestamp(g.At)
	}
	return v
}

func timestamp(t time.Time) string { return t.UTC().Format(time.DateTime) }
