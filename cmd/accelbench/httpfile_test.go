package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHTTPConfigErrorsRepeatNoValue: a mistake in a file with secrets is told by its
// line, and the secret stays in the file.
func TestHTTPConfigErrorsRepeatNoValue(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a password for a mapping":  {"basic_auth: hunter2\n", "line 1: no such field, or not of its type"},
		"a password for a field":    {"tls_config: {}\nhunter2: x\n", "line 2: no such field, or not of its type"},
		"several":                   {"basic_auth: hunter2\nfollow_redirects: hunter2\n", "line 1: no such field, or not of its type; line 2: no such field, or not of its type"},
		"a list for a token":        {"authorization:\n  credentials: [hunter2]\n", "line 2: no such field, or not of its type"},
		"a quote that is not ended": {"authorization:\n  credentials: \"hunter2\n", "line 3: found unexpected end of stream"},
		"a proxy with a password":   {"proxy_url: 'http://u:hunter2@h:%zz/'\n", "parse … after host"},
		"two ways":                  {"basic_auth: {username: a}\nauthorization: {credentials: hunter2}\n", "at most one of basic_auth, oauth2 & authorization must be configured"},
		"a line within a value":     {"basic_auth: \"x\\n  line 7: hunter2\"\n", "line 1: no such field"},
		"too large":                 {strings.Repeat("# hunter2\n", maxHTTPConfig/10+1), "is larger than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "http.yml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := httpFlags{file: path}.config("--exporter-http-config")
			if err == nil || !strings.HasPrefix(err.Error(), "reading --exporter-http-config: "+path) ||
				!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want … %s … and no value", err, tt.want)
			}
		})
	}
	if _, err := (httpFlags{file: "/nonexistent/http.yml"}).config("--http-config"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}
