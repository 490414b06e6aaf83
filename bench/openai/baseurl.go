package openai

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// ParseBaseURL reads an endpoint's base URL, such as http://127.0.0.1:8000 or
// https://gateway/llm/v1. The result has no trailing slash and no final /v1; a
// path before it is kept. Refused are schemes other than http and https, an
// empty host, a user name or password, a query and a fragment. No error
// repeats any part of s: it may hold a secret.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		// The parser's error quotes the text, a password in it too.
		return nil, errors.New("not a URL of the form http://host:port")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("URL must start with http:// or https://")
	case u.User != nil:
		return nil, errors.New("URL must not hold a user name or password: use the http configuration")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("URL must not have a query")
	case strings.Contains(s, "#"):
		return nil, errors.New("URL must not have a fragment")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("URL has no host")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("URL has a port outside 1 to 65535")
		}
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	base := &url.URL{Scheme: u.Scheme, Host: u.Host}
	if path != "" {
		base.Path = "/" // a path can be joined to no other
		base = base.JoinPath(path)
	}
	return base, nil
}

// Port is the port of an endpoint's URL, the scheme's own where the URL names none.
func Port(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// HostPort is the host and the [Port] of an endpoint's URL. It is the label target of
// a probe without a name and of a load test, so that the two join.
func HostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), Port(u)) }

// TargetName is [HostPort] of an endpoint as text, which is returned as it is where it
// is no URL.
func TargetName(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return HostPort(u)
}

// ParseEndpoint reads what [ParseBaseURL] reads, or a URL with the whole path of
// one of the APIs, such as http://127.0.0.1:8000/v1/chat/completions. It returns
// the base URL, and the API where the path names it, else "". Refused is what
// ParseBaseURL refuses.
func ParseEndpoint(s string) (base string, api API, err error) {
	u, err := ParseBaseURL(s)
	if err != nil {
		return "", "", err
	}
	base = u.String()
	for _, api := range []API{Chat, Completions} {
		if rest, ok := strings.CutSuffix(base, "/"+strings.Join(api.path(), "/")); ok {
			return strings.TrimRight(rest, "/"), api, nil
		}
	}
	return base, "", nil
}
