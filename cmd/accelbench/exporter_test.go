package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

const exporterPassword = "s3cret-pass"

// serveExporter serves the page of an exporter with one card, with TLS and basic auth.
// files are what a client needs for it.
func serveExporter(t *testing.T) (url string, files map[string]string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "prometheus" || password != exporterPassword {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "accelerator_utilization_ratio{vendor=\"metax\",device=\"0\"} 0.5\naccelerator_power_watts{vendor=\"metax\",device=\"0\"} 210\n")
	}))
	t.Cleanup(server.Close)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return server.URL, map[string]string{"cert.pem": string(cert), "password": exporterPassword}
}
