package transport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/config"
)

const (
	maxCredential  = 64 << 10 // bytes of a file with a key, a password or a header
	maxCertificate = 1 << 20  // bytes of a file with certificates, or with the key of one
)

// File is one that an HTTP configuration names.
type File struct {
	Field string // of the configuration, such as tls_config.ca_file
	Path  string
	Limit int64 // bytes that it may have
	// TLS is true for those without which no client can be made.
	TLS bool

	path, ref *string // where the configuration has its name, and a reference in its place
}

// Named returns the files that a configuration names, which has been validated: the
// library takes deprecated fields for those that replace them only then.
func Named(c *config.HTTPClientConfig) []File {
	return slices.DeleteFunc(fileFields(c), func(f File) bool { return f.Path == "" })
}

// fileFields are the fields that may name a file.
func fileFields(c *config.HTTPClientConfig) []File {
	all := tlsFiles("tls_config.", &c.TLSConfig)
	add := func(field string, path, ref *string) {
		all = append(all, File{Field: field, Limit: maxCredential, path: path, ref: ref})
	}
	if a := c.Authorization; a != nil {
		add("authorization.credentials_file", &a.CredentialsFile, &a.CredentialsRef)
	}
	if b := c.BasicAuth; b != nil {
		add("basic_auth.username_file", &b.UsernameFile, &b.UsernameRef)
		add("basic_auth.password_file", &b.PasswordFile, &b.PasswordRef)
	}
	if o := c.OAuth2; o != nil {
		add("oauth2.client_secret_file", &o.ClientSecretFile, &o.ClientSecretRef)
		add("oauth2.client_certificate_key_file", &o.ClientCertificateKeyFile, &o.ClientCertificateKeyRef)
		all = append(all, tlsFiles("oauth2.tls_config.", &o.TLSConfig)...)
	}
	if c.HTTPHeaders != nil {
		for _, header := range c.HTTPHeaders.Headers {
			for i := range header.Files {
				add("http_headers", &header.Files[i], new(string))
			}
		}
	}
	for i := range all {
		all[i].Path = *all[i].path
	}
	return all
}

func tlsFiles(prefix string, t *config.TLSConfig) []File {
	return []File{
		{Field: prefix + "ca_file", Limit: maxCertificate, TLS: true, path: &t.CAFile, ref: &t.CARef},
		{Field: prefix + "cert_file", Limit: maxCertificate, TLS: true, path: &t.CertFile, ref: &t.CertRef},
		{Field: prefix + "key_file", Limit: maxCertificate, TLS: true, path: &t.KeyFile, ref: &t.KeyRef},
	}
}

// prepared is a valid copy of a configuration in which the files of TLS are references,
// so that the library asks [Files] for them.
func prepared(c config.HTTPClientConfig) (config.HTTPClientConfig, error) {
	c.Authorization, c.BasicAuth, c.OAuth2 = copied(c.Authorization), copied(c.BasicAuth), copied(c.OAuth2)
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("checking HTTP configuration: %w", err)
	}
	for _, f := range fileFields(&c) {
		if *f.ref != "" {
			field := strings.TrimSuffix(f.Field, "_file")
			return c, fmt.Errorf("checking HTTP configuration: there is no manager of secrets for %s_ref: name a file, by %s", field, f.Field)
		}
		if f.TLS {
			*f.path, *f.ref = "", f.Path
		}
	}
	return c, nil
}

func copied[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}

// certificates give the library the files of TLS by their names.
type certificates struct{ files *Files }

// Fetch implements [config.SecretManager].
func (c certificates) Fetch(ctx context.Context, path string) (string, error) {
	text, err := c.files.Read(ctx, path, maxCertificate)
	return strings.TrimSpace(text), err
}

// secret is what a file holds at the moment. It implements [config.SecretReader].
type secret struct {
	path  string
	fetch func(ctx context.Context, path string) (string, error)
}

func (s secret) Fetch(ctx context.Context) (string, error) { return s.fetch(ctx, s.path) }
func (s secret) Description() string                       { return "file " + s.path }
func (secret) Immutable() bool                             { return false }

// short is what a file of a credential or a user's name holds.
func (f *Files) short(ctx context.Context, path string) (string, error) {
	text, err := f.Read(ctx, path, maxCredential)
	return strings.TrimSpace(text), err
}

// credential is what a file of a credential holds, which is going to be sent.
func (f *Files) credential(ctx context.Context, path string) (string, error) {
	text, err := f.short(ctx, path)
	if err == nil && f.Sent != nil {
		f.Sent(ctx, text)
	}
	return text, err
}

// name is a user's, of the configuration or of a file, nil for neither. It is no secret.
func (f *Files) name(text, path string) config.SecretReader {
	if text == "" && path != "" {
		return secret{path, f.short}
	}
	return f.reader(config.Secret(text), "")
}

// reader is a credential of the configuration or of a file, nil for neither.
func (f *Files) reader(text config.Secret, path string) config.SecretReader {
	switch {
	case text != "":
		return config.NewInlineSecret(string(text))
	case path != "":
		return secret{path, f.credential}
	}
	return nil
}

// certificate is a file of TLS, nil for none.
func (f *Files) certificate(path string) config.SecretReader {
	if path == "" {
		return nil
	}
	return secret{path, certificates{f}.Fetch}
}
