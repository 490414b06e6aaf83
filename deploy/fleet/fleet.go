package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// fleet serves /hosts/NUMBER/metrics, in whatever format and compression is
// asked for, by the code that the real exporter uses.
type fleet struct {
	mux   *http.ServeMux
	hosts []*host
}

// newFleet makes hosts of several kinds in turn. One second of real time is
// speed seconds on the hosts.
func newFleet(kinds [][]*dto.MetricFamily, hosts int, speed float64, start time.Time) *fleet {
	f := &fleet{mux: http.NewServeMux()}
	clock := func() float64 { return time.Since(start).Seconds() * speed }
	for number := range hosts {
		h := newHost(number, kinds[number%len(kinds)], start, clock)
		f.hosts = append(f.hosts, h)
		f.mux.Handle("GET "+path(number), promhttp.HandlerFor(h, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	}
	return f
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

func path(number int) string { return "/hosts/" + strconv.Itoa(number) + "/metrics" }

// targets is a file for file_sd_configs that gives each host an instance label
// of its own.
func (f *fleet) targets(address string) []byte {
	var b strings.Builder
	for number := range f.hosts {
		fmt.Fprintf(&b, "- targets: [%q]\n  labels: {__metrics_path__: %q, instance: \"gpu-%05d:10068\"}\n", address, path(number), number)
	}
	return []byte(b.String())
}
