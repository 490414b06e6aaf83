package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// serveTarget answers with the state of a target, from memory alone: 503 where it is stalled or failing, and where it is
// busy or unknown and the query says so, such as ?busy=503; else 200.
func (d *daemon) serveTarget(w http.ResponseWriter, r *http.Request) {
	all, name := d.prober.Statuses(), r.PathValue("name")
	i := slices.IndexFunc(all, func(s probe.Status) bool { return s.Name == name || name == "" && len(all) == 1 })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		http.Error(w, fmt.Sprintf("no target %q; known: %s", name, strings.Join(names, ", ")), http.StatusNotFound)
		return
	}
	s, status := all[i], http.StatusOK
	canBeAsked := s.State == probe.StateBusy || s.State == probe.StateUnknown
	if s.State == probe.StateStalled || s.State == probe.StateFailing || canBeAsked && r.URL.Query().Get(string(s.State)) == "503" {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s: %s\n", s.State, s.Detail)
		return
	}
	page := map[string]any{"target": s.Name, "model": nil, "state": s.State, "since": s.Since, "detail": s.Detail, "last_success": nil}
	if s.Model != "" {
		page["model"] = s.Model
	}
	if at := s.LastSuccess.At; !at.IsZero() {
		page["last_success"] = at
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(page) // the client may be gone
}
