package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// namedFile is a file that a field names, "" for none.
type namedFile struct {
	field, path string
}

// files are those that the HTTP client reads, at its making and at each request.
func (s Spec) files() []namedFile {
	h := &s.HTTP
	all := []namedFile{
		{"tls_config.ca_file", h.TLSConfig.CAFile},
		{"tls_config.cert_file", h.TLSConfig.CertFile},
		{"tls_config.key_file", h.TLSConfig.KeyFile},
	}
	if a := h.Authorization; a != nil {
		all = append(all, namedFile{"authorization.credentials_file", a.CredentialsFile})
	}
	if b := h.BasicAuth; b != nil {
		all = append(all, namedFile{"basic_auth.username_file", b.UsernameFile}, namedFile{"basic_auth.password_file", b.PasswordFile})
	}
	if o := h.OAuth2; o != nil {
		all = append(all,
			namedFile{"oauth2.client_secret_file", o.ClientSecretFile},
			namedFile{"oauth2.client_certificate_key_file", o.ClientCertificateKeyFile},
			namedFile{"oauth2.tls_config.ca_file", o.TLSConfig.CAFile},
			namedFile{"oauth2.tls_config.cert_file", o.TLSConfig.CertFile},
			namedFile{"oauth2.tls_config.key_file", o.TLSConfig.KeyFile})
	}
	if h.HTTPHeaders != nil {
		for _, header := range h.HTTPHeaders.Headers {
			for _, path := range header.Files {
				all = append(all, namedFile{"http_headers", path})
			}
		}
	}
	return all
}

// checkKinds refuses what would be waited for without end. What is not there yet may
// come: it is read at each request.
func (s Spec) checkKinds() error {
	for _, f := range s.files() {
		if err := checkKind(f.path); err != nil {
			return fmt.Errorf("http: %s: %w", f.field, err)
		}
	}
	return nil
}

// CheckFiles opens every file that the target's requests need and returns an error
// for each that cannot be read.
func (t Target) CheckFiles() []error {
	var errs []error
	for _, named := range t.spec.files() {
		if named.path == "" {
			continue
		}
		f, err := open(named.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: http: %s: %w", t, named.field, err))
			continue
		}
		f.Close()
	}
	return errs
}

// open opens a file to read it to its end.
func open(path string) (*os.File, error) {
	if err := checkKind(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// checkKind returns an error for what is there and is no file: a pipe would be waited
// for, and a device may never end. A link to a file is one.
func checkKind(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	return nil
}
