package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/config"
)

const maxHTTPConfig = 1 << 20 // bytes

// httpFlags say how to talk HTTP to one place.
type httpFlags struct {
	file            string // with Prometheus' HTTP client configuration
	credentialsFile string // with a bearer token
	insecure        bool
}

// any reports whether one of them was given.
func (h httpFlags) any() bool { return h != httpFlags{} }

// config is the file's, and the flags' in it. flag names the file in errors, which
// repeat nothing of what is in it.
func (h httpFlags) config(flag string) (config.HTTPClientConfig, error) {
	c := config.DefaultHTTPClientConfig
	if h.file != "" {
		fromFile, err := readHTTPConfig(h.file)
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

// readHTTPConfig reads a file. The names of files in it are taken from its folder.
func readHTTPConfig(path string) (*config.HTTPClientConfig, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHTTPConfig+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxHTTPConfig:
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxHTTPConfig>>10)
	}
	c, err := config.LoadHTTPConfig(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, withoutValues(err))
	}
	c.SetDirectory(filepath.Dir(path))
	return c, nil
}

// withoutValues is what an error of reading YAML says, but for what it repeats of the
// file: a secret in the wrong place would be part of that.
func withoutValues(err error) string {
	if text, ok := strings.CutPrefix(err.Error(), "yaml: unmarshal errors:"); ok {
		lines := regexp.MustCompile(`(?m)^ *line \d+:`).FindAllString(text, -1)
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i]) + " no such field, or not of its type"
		}
		return strings.Join(slices.Compact(lines), "; ")
	}
	// What is quoted may hold quotes: all from the first to the last goes.
	text := regexp.MustCompile("(?s)[`'\"].*[`'\"]").ReplaceAllString(err.Error(), "…")
	text = regexp.MustCompile(`(?s)(unknown TLS version|invalid map key):.*`).ReplaceAllString(text, "$1")
	return strings.TrimPrefix(text, "yaml: ")
}
