package main

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/accelerator-exporter/accelerator_exporter/internal/certtest"
)

// The password of the exporters that a script can reach, and its hash; and the token
// of the one behind a proxy that wants one.
const (
	exporterPassword = "s3cret-pass"
	exporterHash     = "$2a$04$dsLGiCLL.YVZaIEBd9yra.Ya4D2uU4m.Ow2iZDbsAf2W.eWX0u8sS"
	exporterToken    = "s3cret-token"
)

// exporters are stand-ins for accelerator_exporter that are secured as the README
// says, by exporter-toolkit itself, and what a client needs for them.
type exporters struct {
	// basic wants a password over TLS, mutual a client certificate too, bearer a token.
	basic, mutual, bearer string
	files                 map[string]string // for the script's folder
}

func serveExporters(t *testing.T) exporters {
	t.Helper()
	dir := t.TempDir()
	cert, key := certtest.New(t, "exporter")
	bearer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+exporterToken {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		cards(w, r)
	}))
	t.Cleanup(bearer.Close)
	e := exporters{bearer: bearer.URL, files: map[string]string{
		"cert.pem": cert, "key.pem": key, "password": exporterPassword, "token": exporterToken,
		"bearer.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: bearer.Certificate().Raw})),
	}}
	e.write(t, dir)
	const users = "basic_auth_users: {prometheus: " + exporterHash + "}\n"
	e.basic = serveWeb(t, dir, "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"+users)
	e.mutual = serveWeb(t, dir, "tls_server_config: {cert_file: cert.pem, key_file: key.pem, "+
		"client_auth_type: RequireAndVerifyClientCert, client_ca_file: cert.pem}\n"+users)
	return e
}

// write puts the client's files into a folder.
func (e *exporters) write(t testing.TB, dir string) {
	t.Helper()
	for name, text := range e.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serveWeb serves as the exporter does, with its web configuration in dir.
func serveWeb(t *testing.T, dir, config string) string {
	t.Helper()
	file, err := os.CreateTemp(dir, "web-*.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(config); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(cards), ReadHeaderTimeout: 10 * time.Second}
	socket, path := false, file.Name()
	flags := &web.FlagConfig{WebListenAddresses: &[]string{""}, WebSystemdSocket: &socket, WebConfigFile: &path}
	var running sync.WaitGroup
	running.Go(func() { _ = web.Serve(listener, server, flags, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
	return "https://" + listener.Addr().String()
}

// cards is the page of an exporter with one card.
func cards(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(w, "accelerator_utilization_ratio{vendor=\"metax\",device=\"0\"} 0.5\naccelerator_power_watts{vendor=\"metax\",device=\"0\"} 210\n")
}
