package main

import (
	"net"
	"strconv"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

// TestOneNameOfAnEndpoint: a dashboard joins what a probe, a load test and its report
// say of an endpoint, and the cards behind it are those of the process at its port,
// also where the URL names no port. TestServing in bench/result holds the report.
func TestOneNameOfAnEndpoint(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1":            "127.0.0.1:80",
		"https://127.0.0.1/llm/v1":    "127.0.0.1:443",
		"http://127.0.0.1:8000/v1/":   "127.0.0.1:8000",
		"https://[::1]":               "[::1]:443",
		"https://localhost:8443/v1":   "localhost:8443",
		"http://localhost:8080/a/b/c": "localhost:8080",
	} {
		spec := probe.DefaultSpec()
		spec.URL = url
		target, wrong := spec.Validate("")
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if got := target.Name; got != want {
			t.Errorf("probe of %s: target %q, want %q", url, got, want)
		}
		if got := openai.TargetName(url); got != want {
			t.Errorf("report of %s: target %q, want %q", url, got, want)
		}
		_, port, err := net.SplitHostPort(want)
		if err != nil {
			t.Fatal(err)
		}
		ports := newTargetCards(collector.Options{}, nil, nil).localPorts(t.Context(), []probe.Status{{Target: target}})
		if got := strconv.Itoa(ports[target.Name]); got != port {
			t.Errorf("cards of %s: port %s, want %s", url, got, port)
		}
	}
}
