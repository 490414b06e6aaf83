package probe

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file that requests need and that is not there is no error of the configuration,
// since it may come, but is told by CheckFiles.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "key"), "sk-1")
	tests := map[string]struct {
		http string
		want []string // fields whose file cannot be read
	}{
		"nothing named":    {"{}", nil},
		"all there":        {"{authorization: {credentials_file: key}, http_headers: {X-Team: {files: [key]}}}", nil},
		"credentials":      {"{authorization: {credentials_file: none}}", []string{"authorization.credentials_file"}},
		"the old way":      {"{bearer_token_file: none}", []string{"authorization.credentials_file"}},
		"one of two":       {"{basic_auth: {username_file: key, password_file: none}}", []string{"basic_auth.password_file"}},
		"both":             {"{basic_auth: {username_file: none, password_file: none}}", []string{"basic_auth.username_file", "basic_auth.password_file"}},
		"client secret":    {"{oauth2: {client_id: i, token_url: 'http://h/', client_secret_file: none}}", []string{"oauth2.client_secret_file"}},
		"TLS of the token": {"{oauth2: {client_id: i, token_url: 'http://h/', tls_config: {ca_file: none}}}", []string{"oauth2.tls_config.ca_file"}},
		"headers":          {"{http_headers: {X-Team: {files: [key, none]}}}", []string{"http_headers"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file, err := readText([]byte("probes: [{url: 'http://h:1',\n http: "+tt.http+"}]"), dir)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, field := range tt.want {
				want = append(want, fmt.Sprintf(`line 2: http.%s: open %s/none: no such file or directory`, field, dir))
			}
			for _, err := range file.Unreadable {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// Every field of the HTTP configuration that ends in _file is looked at.
func TestNoFileIsForgotten(t *testing.T) {
	text := `probes: [{url: 'http://h:1', http: {%s}}]`
	for field, http := range map[string]string{
		"tls_config.ca_file":                 "tls_config: {ca_file: .}",
		"tls_config.cert_file":               "tls_config: {cert_file: ., key_file: none}",
		"tls_config.key_file":                "tls_config: {cert_file: none, key_file: .}",
		"authorization.credentials_file":     "authorization: {credentials_file: .}",
		"basic_auth.username_file":           "basic_auth: {username_file: .}",
		"basic_auth.password_file":           "basic_auth: {password_file: .}",
		"oauth2.client_secret_file":          "oauth2: {client_id: i, token_url: 'http://h/', client_secret_file: .}",
		"oauth2.client_certificate_key_file": "oauth2: {client_id: i, token_url: 'http://h/', grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', client_certificate_key_file: /}",
		"oauth2.tls_config.cert_file":        "oauth2: {client_id: i, token_url: 'http://h/', tls_config: {cert_file: ., key_file: none}}",
		"oauth2.tls_config.key_file":         "oauth2: {client_id: i, token_url: 'http://h/', tls_config: {cert_file: none, key_file: .}}",
		"http_headers":                       "http_headers: {X: {files: [.]}}",
	} {
		_, err := readText(fmt.Appendf(nil, text, http), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "http."+field+": open ") || !strings.HasSuffix(err.Error(), ": not a regular file") {
			t.Errorf("%s is a folder: error %v", field, err)
		}
	}
	if len(DefaultSpec().files()) > 0 {
		t.Error("a file is named by default")
	}
}
