package credential

import (
	"encoding/base64"
	"testing"
)

// An operator still reads what a server says of schemes, types and users: only the
// secret part of a header is one.
func TestPartsOfHeaders(t *testing.T) {
	pair := base64.StdEncoding.EncodeToString([]byte("prometheus:pa55word"))
	tests := []struct {
		name, value, text string
		hidden            bool
	}{
		{"Authorization", "Bearer sk-12345678", "use the Bearer scheme", false},
		{"Authorization", "Bearer sk-12345678", "12345678 is unknown", true},
		{"Authorization", "Enterprise sk-12345678", "use the Enterprise scheme", false},
		{"authorization", "sk-12345678", "sk-12345678 is unknown", true},
		{"X-Auth", "bearer sk-12345678", "use the bearer scheme", false},
		{"X-Auth", "open sesame now", "open sesame is unknown", true},
		{"Authorization", "Basic " + pair, "no user prometheus", false},
		{"Authorization", "Basic " + pair, "wrong password pa55word", true},
		{"Proxy-Authorization", "Basic " + pair, "wrong: " + pair, true},
		{"Cookie", "language=en; sessionid=0123456789", "no sessionid in language", false},
		{"Cookie", "language=en; sessionid=0123456789", "session 0123456789 is over", true},
		{"Cookie", "0123456789", "session 0123456789 is over", true},
		{"Content-Type", "application/json", "application/json is not supported", false},
		{"X-Team", "research", "no quota for research", true},
	}
	for _, tt := range tests {
		var sent Sent
		sent.Note(tt.name, []string{tt.value})
		if got := In(tt.text, sent.Values()); got != tt.hidden {
			t.Errorf("%s: %s: %q is hidden: %t", tt.name, tt.value, tt.text, got)
		}
	}
}
