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
		"a password for a mapping":  {"basic_auth: hunter2\n", "PATH:1: basic_auth: must be fields with values, such as {username: me, password_file: password}"},
		"a password for a field":    {"tls_config: {}\nhunter2: x\n", "PATH:2: unknown field"},
		"a password for all":        {"hunter2\n", "PATH:1: must be fields with values"},
		"a field misspelt":          {"tls_config: {ca_fil: hunter2}\n", "PATH:1: tls_config: unknown field ca_fil"},
		"a key at the wrong place":  {"api_key: hunter2\n", "PATH:1: unknown field api_key, did you mean authorization.credentials_file?"},
		"several":                   {"basic_auth: hunter2\nfollow_redirects: hunter2\n", "PATH:2: follow_redirects: must be true or false"},
		"a list for a token":        {"authorization:\n  credentials: [hunter2]\n", "PATH:2: authorization.credentials: must be text"},
		"a quote that is not ended": {"authorization:\n  credentials: \"hunter2\n", "PATH:2: not YAML: found unexpected end of stream"},
		"a proxy with a password":   {"proxy_url: 'http://u:hunter2@h:%zz/'\n", "PATH:1: proxy_url: must be a URL, such as http://proxy.example:3128"},
		"two ways":                  {"basic_auth: {username: a}\nauthorization: {credentials: hunter2}\n", "PATH:1: at most one of basic_auth, oauth2 & authorization must be configured"},
		"a line within a value":     {"basic_auth: \"x\\n  line 7: hunter2\"\n", "PATH:1: basic_auth: must be"},
		"two documents":             {"tls_config: {}\n---\n{}\n", "PATH:2: more than one YAML document"},
		"too large":                 {strings.Repeat("# hunter2\n", 1<<20/10+1), "is larger than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "http.yml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := httpFlags{file: path}.config("--exporter-http-config")
			if err == nil || !strings.HasPrefix(err.Error(), "reading --exporter-http-config: "+path) ||
				!strings.Contains(err.Error(), strings.ReplaceAll(tt.want, "PATH", path)) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want … %s … and no value", err, tt.want)
			}
		})
	}
	for _, text := range []string{"", "# nothing\n", "follow_redirects: true\n"} {
		path := filepath.Join(t.TempDir(), "http.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := (httpFlags{file: path}).config("--http-config"); err != nil || !c.FollowRedirects || !c.EnableHTTP2 {
			t.Errorf("%q: %+v, error %v", text, c, err)
		}
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
