package credential

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/config"
)

// Sent collects credentials as they go out. It may be used from several
// goroutines at once.
type Sent struct {
	mu     sync.Mutex
	values []string
}

// Note takes a header. It is a hook of [net/http/httptrace.ClientTrace].
func (s *Sent) Note(name string, values []string) {
	for _, secret := range ofHeader(name, values) {
		s.Keep(secret)
	}
}

// Keep takes a credential that goes out in another way, such as to a token endpoint.
func (s *Sent) Keep(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.values, secret) {
		s.values = append(s.values, secret)
	}
}

// Values are all credentials so far, each once.
func (s *Sent) Values() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// isPublic reports whether the values of a header may be repeated. Every other header
// may be a credential.
func isPublic(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection",
		"Content-Encoding", "Content-Language", "Content-Length", "Content-Type", "Date", "Host", "Origin",
		"Pragma", "Transfer-Encoding", "User-Agent", "X-Request-Id":
		return true
	}
	return false
}

// ofHeader are the parts of a header that must not be repeated.
func ofHeader(name string, values []string) []string {
	if isPublic(name) {
		return nil
	}
	var secrets []string
	for _, v := range values {
		switch name := http.CanonicalHeaderKey(name); name {
		case "Cookie":
			for pair := range strings.SplitSeq(v, ";") {
				_, value, named := strings.Cut(pair, "=")
				if !named {
					value = pair
				}
				secrets = append(secrets, value)
			}
		default:
			secrets = append(secrets, ofValue(v, name == "Authorization" || name == "Proxy-Authorization")...)
		}
	}
	return secrets
}

// ofValue is a header's value without its scheme, whose name many texts have, and the
// password of basic auth.
func ofValue(value string, begunByScheme bool) []string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	if token == "" || !begunByScheme && !isScheme(scheme) {
		return []string{value}
	}
	if pair, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(pair), ":")
		return []string{token, password}
	}
	return []string{token}
}

func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "basic", "bearer", "digest", "token", "key", "apikey", "api-key":
		return true
	}
	return false
}

// OfConfig are the secrets of a configuration but for those in files, which whoever reads
// them keeps. Most go out in headers too; those for a token endpoint and for a proxy do not.
func OfConfig(cfg *config.HTTPClientConfig) []string {
	secrets := []string{string(cfg.BearerToken)}
	if a := cfg.Authorization; a != nil {
		secrets = append(secrets, string(a.Credentials))
	}
	if b := cfg.BasicAuth; b != nil {
		secrets = append(secrets, string(b.Password))
	}
	if h := cfg.HTTPHeaders; h != nil {
		for name, header := range h.Headers {
			values := slices.Clone(header.Values)
			for _, s := range header.Secrets {
				values = append(values, string(s))
			}
			secrets = append(secrets, ofHeader(name, values)...)
		}
	}
	if o := cfg.OAuth2; o != nil {
		secrets = append(secrets, ofOAuth2(o)...)
	}
	return append(secrets, ofProxy(&cfg.ProxyConfig)...)
}

// ofOAuth2 are what a token endpoint is asked with.
func ofOAuth2(o *config.OAuth2) []string {
	secret := strings.TrimSpace(string(o.ClientSecret))
	secrets := append(ofProxy(&o.ProxyConfig), secret, pair(url.QueryEscape(o.ClientID), url.QueryEscape(secret)))
	for name, value := range o.EndpointParams {
		switch name {
		case "audience", "grant_type", "resource", "scope":
		default:
			secrets = append(secrets, value)
		}
	}
	if u, err := url.Parse(o.TokenURL); err == nil {
		secrets = append(secrets, OfURL(u)...)
	}
	return secrets
}

// ofProxy are what a proxy is asked with, which is in no header of the request.
func ofProxy(p *config.ProxyConfig) []string {
	var secrets []string
	for name, values := range p.ProxyConnectHeader {
		for _, v := range values {
			secrets = append(secrets, ofHeader(name, []string{string(v)})...)
		}
	}
	proxies := []*url.URL{p.ProxyURL.URL}
	if p.ProxyFromEnvironment {
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			u, err := url.Parse(os.Getenv(name))
			if err == nil {
				proxies = append(proxies, u)
			}
		}
	}
	for _, u := range proxies {
		if u != nil {
			secrets = append(secrets, OfURL(u)...)
		}
	}
	return secrets
}

// OfURL are the password of a URL, and what its query names as a credential: other
// values may be what is asked for.
func OfURL(u *url.URL) []string {
	var secrets []string
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password, pair(u.User.Username(), password))
	}
	for name, values := range u.Query() {
		if IsName(name) {
			secrets = append(secrets, values...)
		}
	}
	return secrets
}

// pair is a name and a password as basic auth sends them.
func pair(name, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(name + ":" + password))
}
