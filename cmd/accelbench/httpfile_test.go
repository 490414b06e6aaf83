package main

import (
	"fmt"
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

// TestKeysAreInFiles: a pipe, as of <(pass key), would give the key to the first
// request alone, and the server would refuse all others.
func TestKeysAreInFiles(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	pipe := fmt.Sprintf("/dev/fd/%d", read.Fd())
	if _, err := os.Stat(pipe); err != nil {
		t.Skipf("pipes have no names here: %v", err)
	}
	for flag, of := range map[string]func(string) error{
		"--exporter-credentials-file": func(path string) error {
			_, err := httpFlags{credentialsFile: path}.config("--exporter-http-config")
			return err
		},
		"--api-key-file": func(path string) error {
			_, err := (&endpointFlags{apiKeyFile: path}).http()
			return err
		},
	} {
		for _, path := range []string{pipe, t.TempDir()} {
			if err := of(path); err == nil || !strings.Contains(err.Error(), flag+": "+path+" is not a regular file") {
				t.Errorf("%s %s: error %v", flag, path, err)
			}
		}
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("k"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := of(key); err != nil {
			t.Errorf("%s of a file: %v", flag, err)
		}
	}
}
