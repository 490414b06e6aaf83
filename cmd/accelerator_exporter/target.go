package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// targetPage is the state of a target as JSON; null is what is not known.
type targetPage struct {
	Target      string      `json:"target"`
	Model       *string     `json:"model"`
	State       probe.State `json:"state"`
	Since       *time.Time  `json:"since"`
	Detail      string      `json:"detail"`
	LastSuccess *time.Time  `json:"last_success"`
}

// serveTarget says from memory alone what state a target is in: with 200 for one that may be asked, and 503 for one that
// may not.
func (d *daemon) serveTarget(w http.ResponseWriter, r *http.Request) {
	all, name := d.prober.Statuses(), r.PathValue("name")
	i := slices.IndexFunc(all, func(s probe.Status) bool { return s.Target == name || name == "" && len(all) == 1 })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Target)
		}
		http.Error(w, fmt.Sprintf("no target %q; known: %s", name, strings.Join(names, ", ")), http.StatusNotFound)
		return
	}
	s, status := all[i], http.StatusOK
	canBeAsked := s.State == probe.StateBusy || s.State == probe.StateUnknown
	if s.State == probe.StateStalled || s.State == probe.StateFailing || canBeAsked && r.URL.Query().Get(string(s.State)) == "503" {
		status = http.StatusServiceUnavailable
	}
	isJSON := strings.Contains(r.Header.Get("Accept"), "application/json")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/plain; charset=utf-8"}[isJSON])
	w.WriteHeader(status)
	if !isJSON {
		fmt.Fprintf(w, "%s: %s\n", s.State, s.Detail)
		return
	}
	_ = json.NewEncoder(w).Encode(targetPage{ // the client may be gone
		Target: s.Target, Model: orNull(s.Model), State: s.State, Since: orNull(s.Since), Detail: s.Detail, LastSuccess: orNull(s.LastSuccess.At),
	})
}

// orNull is nil for a zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
