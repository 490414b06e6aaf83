package openai

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// ParseEndpoint reads an endpoint's URL: its base with or without /v1, or the whole URL of an
// API, such as http://127.0.0.1:8000/v1/chat/completions. It returns the base, without /v1 and
// a slash at its end, and the API where the path names it, else "". No error repeats any part
// of s: it may hold a secret.
func ParseEndpoint(s string) (base *url.URL, api API, err error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, "", errors.New("not a URL of the form http://host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "", errors.New("URL must start with http:// or https://")
	case u.User != nil:
		return nil, "", errors.New("URL must not hold a user name or password: use the http configuration")
	case strings.ContainsAny(s, "?#"):
		return nil, "", errors.New("URL must not have a query or a fragment")
	case u.Hostname() == "":
		return nil, "", errors.New("URL has no host")
	}
	path := strings.TrimRight(u.Path, "/")
	for _, a := range []API{Chat, Completions} {
		if rest, ok := strings.CutSuffix(path, a.path()); ok {
			path, api = rest, a
		}
	}
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}, api, nil
}

// Port is the port of an endpoint's URL, the scheme's own where the URL names none.
func Port(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// HostPort is the label target of a probe without a name and of a load test: the two join.
func HostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), Port(u)) }

// TargetName is [HostPort] of an endpoint as text; what is no URL stays as it is.
func TargetName(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return HostPort(u)
}
