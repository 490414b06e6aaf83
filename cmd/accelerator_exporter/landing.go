package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"
)

//go:embed landing.html
var landingHTML string

// page writes the landing page in one form.
type page func(w io.Writer, v landing) error

// htmlPage is the page for a browser. html/template escapes all of it: error texts
// hold what a tool or a server printed.
func htmlPage() page {
	html := template.Must(template.New("landing").Parse(landingHTML))
	return func(w io.Writer, v landing) error { return html.Execute(w, v) }
}

// landingHandler shows the state of everything, from memory alone: as HTML to who
// asks for it, else as text.
func (d *daemon) landingHandler() http.HandlerFunc {
	html, text := htmlPage(), textPage()
	return func(w http.ResponseWriter, r *http.Request) {
		write, kind := text, "text/plain; charset=utf-8"
		if wantsHTML(r) {
			write, kind = html, "text/html; charset=utf-8"
		}
		var body bytes.Buffer
		if err := write(&body, d.landing(time.Now())); err != nil {
			level.Error(d.logger).Log("msg", "rendering the landing page", "err", err)
			http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Vary", "Accept")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
		_, _ = w.Write(body.Bytes()) // to memory
	}
}

func (d *daemon) landing(now time.Time) landing {
	v := landing{
		Version:    version.Info(),
		Metrics:    d.settings.telemetryPath,
		Now:        now.UTC().Format(time.DateTime),
		Vendors:    vendorViews(d.hardware.Cards(), now, d.settings.interval),
		Collectors: collectorViews(d.hardware.Statuses(), now),
	}
	v.Probes, v.MoreProbes = probeViews(d.prober.Statuses(), now)
	return v
}

// wantsHTML reports whether a client names HTML among what it takes, as browsers do
// and curl does not.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
