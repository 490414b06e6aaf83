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
var landingSource string

// landingHandler shows the state of everything, from memory alone: as HTML to who
// asks for it, else as text. html/template escapes all of it: error texts hold what
// a tool or a server printed.
func (d *daemon) landingHandler() http.HandlerFunc {
	page := template.Must(template.New("landing").Parse(landingSource))
	return func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		v := landing{
			Version:    version.Info(),
			Metrics:    d.settings.telemetryPath,
			Now:        now.UTC().Format(time.DateTime),
			Vendors:    vendorViews(d.hardware.Cards(), now, d.settings.interval),
			Collectors: collectorViews(d.hardware.Statuses(), now),
		}
		v.Probes, v.MoreProbes = probeViews(d.prober.Statuses(), now)
		write, kind := writeText, "text/plain; charset=utf-8"
		if wantsHTML(r) {
			write, kind = func(w io.Writer, v landing) error { return page.Execute(w, v) }, "text/html; charset=utf-8"
		}
		var body bytes.Buffer
		if err := write(&body, v); err != nil {
			level.Error(d.logger).Log("msg", "making the landing page", "err", err)
			http.Error(w, "The page could not be made.", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Vary", "Accept")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
		if _, err := w.Write(body.Bytes()); err != nil {
			level.Debug(d.logger).Log("msg", "serving the landing page", "err", err)
		}
	}
}

// wantsHTML reports whether a client names HTML among what it takes, as browsers do
// and curl does not.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
