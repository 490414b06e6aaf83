package openai

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
)

const (
	maxDetail    = 256      // bytes of a Failure's Detail
	maxRaw       = 64 << 10 // bytes of text a detail is made from
	minSecret    = 4        // a shorter value is no secret, and would blank out half the text
	minCutSecret = 8        // of a secret that the end of the text may have cut
	redacted     = "<redacted>"
)

// isPublicHeader reports whether the values of a header may be repeated. Every other
// header that was sent may be a credential.
func isPublicHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
		"Host", "Transfer-Encoding", "User-Agent", requestIDHeader:
		return true
	}
	return false
}

// headerSecrets are the parts of a sent header that must not be repeated.
func headerSecrets(name string, values []string) []string {
	if isPublicHeader(name) {
		return nil
	}
	secrets := slices.Clone(values)
	for _, v := range values {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Proxy-Authorization":
			_, token, _ := strings.Cut(v, " ")
			secrets = append(secrets, token)
			if decoded, err := base64.StdEncoding.DecodeString(token); err == nil {
				_, password, _ := strings.Cut(string(decoded), ":")
				secrets = append(secrets, string(decoded), password)
			}
		case "Cookie":
			for pair := range strings.SplitSeq(v, ";") {
				_, value, _ := strings.Cut(pair, "=")
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

// configSecrets are the secrets of a configuration, those in files not among them: an
// exchange keeps what was read for it. Most are headers too; a token endpoint's are not.
func configSecrets(cfg *config.HTTPClientConfig) []string {
	var secrets []string
	add := func(value config.Secret) { secrets = append(secrets, string(value)) }
	add(cfg.BearerToken)
	if a := cfg.Authorization; a != nil {
		add(a.Credentials)
	}
	if b := cfg.BasicAuth; b != nil {
		add(b.Password)
	}
	if o := cfg.OAuth2; o != nil {
		add(o.ClientSecret)
	}
	if h := cfg.HTTPHeaders; h != nil {
		for _, header := range h.Headers {
			for _, s := range header.Secrets {
				add(s)
			}
		}
	}
	if u := cfg.ProxyURL.URL; u != nil && u.User != nil {
		password, _ := u.User.Password()
		add(config.Secret(password))
	}
	for _, values := range cfg.ProxyConnectHeader {
		for _, s := range values {
			add(s)
		}
	}
	return secrets
}

// cleanDetail makes text fit for a log line and a landing page: no secret,
// one line of valid UTF-8, at most maxDetail bytes.
func cleanDetail(text string, secrets []string) string {
	text = strings.TrimSpace(text[:min(len(text), maxRaw)])
	text = plaintext.Line(redact(text, secrets))
	text = redact(text, secrets) // a blank in place of a tab may have made one up
	if len(text) <= maxDetail {
		return text
	}
	cut := maxDetail
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// redact replaces every secret in text, also as JSON, a Go string, a URL or
// HTML would write it.
func redact(text string, secrets []string) string {
	var spellings []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < minSecret {
			continue
		}
		asJSON, _ := json.Marshal(s)
		inJSON := string(asJSON[1 : len(asJSON)-1])
		quoted := strconv.Quote(s)
		spellings = append(spellings, s, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), quoted[1:len(quoted)-1],
			url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s))
	}
	// The longest first: one secret may be the beginning of another.
	slices.SortFunc(spellings, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(spellings))
	for _, s := range slices.Compact(spellings) {
		pairs = append(pairs, s, redacted)
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	for _, s := range spellings {
		for n := min(len(s)-1, len(text)); n >= minCutSecret; n-- {
			if strings.HasSuffix(text, s[:n]) {
				return text[:len(text)-n] + redacted
			}
		}
	}
	return text
}
