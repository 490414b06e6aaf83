package main

import (
	"fmt"
	"os"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/configfile"
)

// httpFlags say how to talk HTTP to one place.
type httpFlags struct {
	file            string // with Prometheus' HTTP client configuration
	credentialsFile string // with a bearer token
	insecure        bool
}

// any reports whether one of them was given.
func (h httpFlags) any() bool { return h != httpFlags{} }

// registerExporter adds the flags of how to talk to accelerator_exporter.
func (h *httpFlags) registerExporter(c flagSet) {
	bind(c.Flag("exporter-http-config", "YAML file with Prometheus' HTTP client configuration for the exporter: TLS, client certificate, basic auth."), filename(&h.file))
	bind(c.Flag("exporter-credentials-file", "File with a bearer token for the exporter."), filename(&h.credentialsFile))
	c.Flag("exporter-insecure", "Do not verify the exporter's certificate.").BoolVar(&h.insecure)
}

// config is the file's, and the flags' in it. flag names the file in errors, which
// repeat nothing of what is in it.
func (h httpFlags) config(flag string) (config.HTTPClientConfig, error) {
	c := config.DefaultHTTPClientConfig
	if h.file != "" {
		fromFile, err := configfile.ReadHTTP(h.file)
		if err != nil {
			return c, fmt.Errorf("reading %s: %w", flag, err)
		}
		c = *fromFile
	}
	if h.insecure {
		c.TLSConfig.InsecureSkipVerify = true
	}
	if h.credentialsFile != "" {
		var err error
		if c.Authorization, err = bearer("--exporter-credentials-file", h.credentialsFile); err != nil {
			return c, err
		}
	}
	return c, nil
}

// bearer is the token in a file, which is read again for each request. A pipe would
// be empty from the second one on, and a device may never end, so both are refused;
// that there is no such file is told when it is read.
func bearer(flag, path string) (*config.Authorization, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %s is not a regular file, and is to be read again for each request", flag, path)
	}
	return &config.Authorization{Type: "Bearer", CredentialsFile: path}, nil
}
