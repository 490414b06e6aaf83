package configfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All that is wrong is told, by line; what is right has Prometheus' defaults and the
// file's folder.
func TestReadHTTP(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		path := filepath.Join(dir, "http.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c, err := ReadHTTP(write("tls_config: {ca_file: ca.pem}\nauthorization: {credentials_file: /key}\n"))
	if err != nil || c.TLSConfig.CAFile != dir+"/ca.pem" || c.Authorization.CredentialsFile != "/key" || !c.FollowRedirects {
		t.Errorf("%+v, error %v", c, err)
	}
	path := write("proxy_url: {}\ntls_config:\n  ca_fil: ca.pem\n  insecure_skip_verify: maybe\n")
	_, err = ReadHTTP(path)
	var all Mistakes
	errors.As(err, &all)
	want := Mistakes{
		{File: path, Line: 1, Field: "proxy_url", Text: "must be a URL, such as http://proxy.example:3128"},
		{File: path, Line: 3, Field: "tls_config", Text: "unknown field ca_fil"},
		{File: path, Line: 4, Field: "tls_config.insecure_skip_verify", Text: "must be true or false"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

// Whatever a file holds, it is read or refused.
func FuzzParseHTTP(f *testing.F) {
	f.Add([]byte("tls_config: {ca_file: ca.pem}"))
	f.Add([]byte("&a {<<: *a}"))
	f.Add([]byte("http_headers: {? [x] : y}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, mistakes := parseHTTP(data); (c == nil) != (len(mistakes) > 0) {
			t.Errorf("%v and %v", c, mistakes)
		}
	})
}
