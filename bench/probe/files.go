package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxCredentialBytes is how much of a file is looked at to see whether it is empty.
const maxCredentialBytes = 64 << 10

// namedFile is a file that a field names, "" for none.
type namedFile struct {
	field, path string
}

// files are those that the HTTP client reads, at its making and at each request.
func (s Spec) files() []namedFile {
	h := &s.HTTP
	all := []namedFile{
		{"http.tls_config.ca_file", h.TLSConfig.CAFile},
		{"http.tls_config.cert_file", h.TLSConfig.CertFile},
		{"http.tls_config.key_file", h.TLSConfig.KeyFile},
	}
	if a := h.Authorization; a != nil {
		all = append(all, namedFile{"http.authorization.credentials_file", a.CredentialsFile})
	}
	if b := h.BasicAuth; b != nil {
		all = append(all, namedFile{"http.basic_auth.username_file", b.UsernameFile}, namedFile{"http.basic_auth.password_file", b.PasswordFile})
	}
	if o := h.OAuth2; o != nil {
		all = append(all,
			namedFile{"http.oauth2.client_secret_file", o.ClientSecretFile},
			namedFile{"http.oauth2.client_certificate_key_file", o.ClientCertificateKeyFile},
			namedFile{"http.oauth2.tls_config.ca_file", o.TLSConfig.CAFile},
			namedFile{"http.oauth2.tls_config.cert_file", o.TLSConfig.CertFile},
			namedFile{"http.oauth2.tls_config.key_file", o.TLSConfig.KeyFile})
	}
	if h.HTTPHeaders != nil {
		for _, header := range h.HTTPHeaders.Headers {
			for _, path := range header.Files {
				all = append(all, namedFile{"http.http_headers", path})
			}
		}
	}
	return all
}

// CheckFiles returns which files that the target's requests need cannot be read now,
// or hold nothing where a credential is to be.
func (t Target) CheckFiles() Mistakes { return t.spec.checkFiles(checkContent) }

// checkFiles returns what check says of each file. What is not there yet may come: it
// is read at each request.
func (s Spec) checkFiles(check func(path string) error) Mistakes {
	var all Mistakes
	for _, f := range s.files() {
		if f.path == "" {
			continue
		}
		if err := check(f.path); err != nil {
			all = append(all, Mistake{Field: f.field, Text: err.Error()})
		}
	}
	return all
}

func checkContent(path string) error {
	data, err := read(path, maxCredentialBytes)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("%s is empty: write the key into it, and nothing else", path)
	}
	return nil
}

// read returns what a file holds, as much of it as limit bytes.
func read(path string, limit int64) ([]byte, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// checkKind returns an error for what is there and is no file: a pipe would be waited
// for, and a device may never end. A link to a file is one.
func checkKind(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	return nil
}
