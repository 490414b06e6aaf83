package configfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/prometheus/common/config"
)

const maxHTTPBytes = 1 << 20

// HTTPExamples are those of Prometheus' HTTP client configuration.
func HTTPExamples() Examples {
	return Examples{
		"authorization": "{credentials_file: key}",
		"basic_auth":    "{username: me, password_file: password}",
		"tls_config":    "{ca_file: ca.pem}",
		"proxy_url":     "http://proxy.example:3128",
		"http_headers":  "{X-Team: {values: [ops]}}",
	}
}

// ReadHTTP reads a file with Prometheus' HTTP client configuration. The names of files
// in it are taken from its folder. An error about what is in it is of type [Mistakes].
func ReadHTTP(path string) (*config.HTTPClientConfig, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHTTPBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxHTTPBytes:
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxHTTPBytes>>10)
	}
	c, mistakes := parseHTTP(data)
	if len(mistakes) > 0 {
		for i := range mistakes {
			mistakes[i].File = path
		}
		return nil, mistakes
	}
	c.SetDirectory(filepath.Dir(path))
	return c, nil
}

func parseHTTP(data []byte) (*config.HTTPClientConfig, Mistakes) {
	c := config.DefaultHTTPClientConfig
	root, mistakes := Document(data)
	switch {
	case len(mistakes) > 0:
		return nil, mistakes
	case root == nil, IsNull(root):
		return &c, nil
	}
	left := MaxNodes
	checker := NewChecker(HTTPExamples(), &left)
	checker.Value(root, reflect.TypeFor[config.HTTPClientConfig](), "")
	if len(checker.Mistakes) > 0 {
		return nil, checker.Mistakes.Sorted()
	}
	if err := root.Decode(&c); err != nil {
		return nil, Mistakes{{Line: root.Line, Text: WithoutValues(err)}}
	}
	return &c, nil
}
