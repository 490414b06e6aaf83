package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/accelerator-exporter/accelerator_exporter/internal/certtest"
)

// The password of the exporter that a script can reach, and its hash.
const (
	exporterPassword = "s3cret-pass"
	exporterHash     = "$2a$04$dsLGiCLL.YVZaIEBd9yra.Ya4D2uU4m.Ow2iZDbsAf2W.eWX0u8sS"
)

// serveExporter serves as accelerator_exporter does that is secured as the README says, by
// exporter-toolkit itself. files are what a client needs for it.
func serveExporter(t *testing.T) (url string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	cert, key := certtest.New(t, "exporter")
	files = map[string]string{
		"cert.pem": cert, "key.pem": key, "password": exporterPassword,
		"web.yml": "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {prometheus: " + exporterHash + "}\n",
	}
	writeFiles(t, dir, files)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(cards), ReadHeaderTimeout: 10 * time.Second}
	socket, path := false, filepath.Join(dir, "web.yml")
	flags := &web.FlagConfig{WebListenAddresses: &[]string{""}, WebSystemdSocket: &socket, WebConfigFile: &path}
	var running sync.WaitGroup
	running.Go(func() { _ = web.Serve(listener, server, flags, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return "https://" + listener.Addr().String(), files
}

// writeFiles puts files into a folder.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// cards is the page of an exporter with one card.
func cards(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(w, "accelerator_utilization_ratio{vendor=\"metax\",device=\"0\"} 0.5\naccelerator_power_watts{vendor=\"metax\",device=\"0\"} 210\n")
}
