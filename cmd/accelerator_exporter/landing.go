package main

import (
	"html/template"
	"net/http"
	"time"

	"github.com/go-kit/log/level"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

// landingPage shows links and the state of every source. html/template escapes
// all of it: error texts hold what a tool or a server printed.
func landingPage() *template.Template {
	return template.Must(template.New("landing").Funcs(template.FuncMap{"rounded": rounded}).Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>accelerator_exporter</title>
<style>
body { font-family: sans-serif; margin: 2em; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border: 1px solid #ccc; padding: .3em .7em; text-align: left; }
.bad { color: #b00; } .good { color: #070; }
</style></head>
<body>
<h1>accelerator_exporter</h1>
<p>{{.Version}}</p>
<p><a href="{{.Metrics}}">Metrics</a> · <a href="-/healthy">Healthy</a> · <a href="-/ready">Ready</a></p>
<h2>Collectors</h2>
<table>
<tr><th>Collector</th><th>State</th><th>Last success</th><th>Last poll took</th><th>Error</th></tr>
{{range .Collectors}}<tr><td>{{.Collector}}</td>
<td>{{if not .Polled}}not polled yet{{else if .Success}}<span class="good">works</span>{{else}}<span class="bad">{{.LastReason}}</span>{{end}}</td>
<td>{{if .LastSuccess.IsZero}}never{{else}}{{.LastSuccess.UTC.Format "2006-01-02 15:04:05 UTC"}}{{end}}</td>
<td>{{rounded .Duration}}</td><td>{{.LastError}}</td></tr>
{{else}}<tr><td colspan="5">none</td></tr>
{{end}}</table>
<h2>Probes</h2>
<table>
<tr><th>Target</th><th>URL</th><th>Model</th><th>Last probe</th><th>Outcome</th></tr>
{{range .Probes}}<tr><td>{{.Target}}</td><td>{{.URL}}</td><td>{{.Model}}</td>
<td>{{if .At.IsZero}}none yet{{else}}{{.At.UTC.Format "2006-01-02 15:04:05 UTC"}}{{end}}</td>
<td>{{if .At.IsZero}}{{else if .Failure}}<span class="bad">{{.Failure}}</span>{{else}}<span class="good">success</span>{{end}}</td></tr>
{{else}}<tr><td colspan="5">none</td></tr>
{{end}}</table>
</body></html>
`))
}

// rounded leaves the digits of a duration that a reader compares.
func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func (d *daemon) serveLanding(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	err := landingPage().Execute(w, struct {
		Version, Metrics string
		Collectors       []collector.Status
		Probes           []probe.Status
	}{version.Info(), d.settings.telemetryPath, d.hardware.Statuses(), d.prober.Statuses()})
	if err != nil {
		level.Debug(d.logger).Log("msg", "serving the landing page", "err", err)
	}
}
