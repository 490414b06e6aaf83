//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// receiver is who Alertmanager tells.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []message
}

// message is one alert that arrived.
type message struct {
	To     string            `json:"-"` // page or ticket
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		var body struct {
			Alerts []message `json:"alerts"`
		}
		if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
			t.Errorf("reading what Alertmanager sends: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, m := range body.Alerts {
			m.To = strings.TrimPrefix(request.URL.Path, "/")
			r.seen = append(r.seen, m)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// got reports whether a message about an alert arrived.
func (r *receiver) got(to, status string, labels map[string]string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.seen {
		if m.To == to && m.Status == status && matches(m.Labels, labels) {
			return true
		}
	}
	return false
}

// matches reports whether all the wanted labels are among those there.
func matches(there, wanted map[string]string) bool {
	for name, value := range wanted {
		if there[name] != value {
			return false
		}
	}
	return true
}
