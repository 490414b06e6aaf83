//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/queries"
)

// place is one query of a dashboard.
type place struct{ dashboard, panel, ref string }

func (p place) String() string { return fmt.Sprintf("%s %q %s", p.dashboard, p.panel, p.ref) }

// found is what a query returned.
type found struct {
	place
	series int // with a finite sample: a panel shows nothing of others
	err    error
}

// askDashboards sends every query of every dashboard to Prometheus, as Grafana
// does when a dashboard is opened and, where a variable has one value at a time,
// for each of the choices: what a user may pick.
func (m *monitoring) askDashboards(t *testing.T, choices []map[string]string) []found {
	t.Helper()
	all, err := queries.Dashboards("../../dashboards/grafana/*.json")
	programtest.NoError(t, err)
	results := map[place]*found{}
	for _, q := range all {
		at := place{q.Dashboard, q.Panel, q.Ref}
		if results[at] == nil {
			results[at] = &found{place: at}
		}
		picked := choices
		if !q.OneAtATime {
			picked = []map[string]string{windows()} // all of everything
		}
		for _, choice := range picked {
			n, err := m.count(q, choice)
			results[at].series = max(results[at].series, n)
			if err != nil {
				results[at].err = err
			}
		}
	}
	list := make([]found, 0, len(results))
	for _, r := range results {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.dashboard, b.dashboard), cmp.Compare(a.panel, b.panel), cmp.Compare(a.ref, b.ref))
	})
	return list
}

// count is how many series with something to show a query returns for a choice of variables.
func (m *monitoring) count(q queries.Query, choice map[string]string) (int, error) {
	expr, err := q.Substitute(choice)
	if err != nil {
		return 0, err
	}
	if label, ok := strings.CutPrefix(q.Panel, "variable "); ok && len(q.Labels) == 1 {
		values, err := m.labelValues(q.Labels[0], expr)
		if err != nil {
			return 0, fmt.Errorf("variable %s: %w", label, err)
		}
		return len(values), nil
	}
	var all []series
	if q.Instant {
		all, err = m.instant(expr)
	} else {
		all, err = m.overTime(expr, 5*time.Minute, 5*time.Second)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, expr)
	}
	return len(slices.DeleteFunc(all, series.isEmpty)), nil
}

// isEmpty says that no sample is a finite number.
func (s series) isEmpty() bool {
	finite := func(sample [2]any) bool {
		text, _ := sample[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		return err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return !finite(s.Value) && !slices.ContainsFunc(s.Values, finite)
}

// dashboards holds what the queries return against the list of those that
// return nothing here.
func (m *monitoring) dashboards(t *testing.T, choices []map[string]string) {
	quiet := silent()
	var results []found
	programtest.Eventually(t, 4*time.Minute, "every query returns something", func() error {
		results = m.askDashboards(t, choices)
		var empty []string
		for _, r := range results {
			if _, listed := quiet[r.place]; r.err == nil && r.series == 0 && !listed {
				empty = append(empty, r.String())
			}
		}
		if len(empty) > 0 { // details of cards are asked for in turn
			return fmt.Errorf("nothing of %q", empty)
		}
		return nil
	})
	m.writeReport(t, results)
	for _, r := range results {
		why, listed := quiet[r.place]
		delete(quiet, r.place)
		switch {
		case r.err != nil:
			t.Errorf("%s: %v", r.place, r.err)
		case r.series > 0 && listed:
			t.Errorf("%s returns %d series, so it is wrong in the list of silent queries: %s", r.place, r.series, why)
		}
	}
	for p := range quiet {
		t.Errorf("%s is in the list of silent queries and in no dashboard", p)
	}
}

// writeReport leaves a table for a person to read.
func (m *monitoring) writeReport(t *testing.T, results []found) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# Series with a number that each query of the dashboards returned from Prometheus %s\n\n", m.version)
	b.WriteString("| dashboard | panel | query | series |\n|---|---|---|---:|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", r.dashboard, strings.ReplaceAll(r.panel, "|", `\|`), r.ref, r.series)
	}
	path := filepath.Join(reports(t), "dashboards-"+m.version+".md")
	programtest.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	t.Logf("%d queries, see %s", len(results), path)
}

// windows are what Grafana fills in for a panel over the last five minutes.
func windows() map[string]string {
	return map[string]string{
		"__interval": "5s", "__interval_ms": "5000", "__rate_interval": "15s", "__range": "5m", "__range_s": "300", "__range_ms": "300000",
		"window": "1m",
	}
}

// choices are the hosts and cards to look at where a dashboard shows one of them.
func choices(hosts map[string]*host) []map[string]string {
	var all []map[string]string
	for _, c := range [][3]string{{"alpha", "metax", "0"}, {"alpha", "metax", "7"}, {"alpha", "ascend", "2"}, {"alpha", "ascend", "5"}, {"omega", "ascend", "0"}} {
		one := windows()
		one["host"], one["maker"], one["card"] = hosts[c[0]].exporter, c[1], c[2]
		all = append(all, one)
	}
	return all
}

// silent are the queries that rightly return nothing here, each with the reason. The faults and loads of this test make
// every other query of every panel show a number.
func silent() map[place]string {
	const (
		noPods   = "no process here is in a pod"
		noDrafts = "no stand-in drafts"
		noPrice  = "no price of a kilowatt-hour is set"
		alerts   = "alerts fire here"
		no950    = "only a 950 has the unified bus, and no host here has one"
	)
	return map[place]string{
		{"accelerator-fleet", "Firing alerts", "D"}:                alerts,
		{"accelerator-fleet", "Health of the worst cards", "B"}:    "a card is not healthy here",
		{"accelerator-load-latency", "Firing alerts", "D"}:         alerts,
		{"accelerator-load-latency", "Alerts and load tests", "D"}: alerts,
		{"accelerator-card", "Processes", "B"}:                     noPods,
		{"accelerator-fleet", "Cards", "F"}:                        noPods,
		{"accelerator-fleet", "Cards by namespace", "A"}:           noPods,
		{"accelerator-fleet", "Cards by namespace", "B"}:           noPods,
		{"accelerator-fleet", "Cards by namespace", "C"}:           noPods,
		{"accelerator-fleet", "Idle with memory held", "B"}:        "no stand-in lists a process on an idle card",
		{"accelerator-numa", "Cards and their nodes", "C"}:         "the kernel has no PCI device at the address of a stand-in's card",
		{"accelerator-card", "Errors", "E"}:                        "only a card of two dies has a link between them, and no host here has such",
		{"accelerator-card", "Network trouble", "E"}:               no950,
		{"accelerator-load-latency", "Joules a token", "B"}:        noPrice,
		{"accelerator-load-latency", "Speculative decoding", "A"}:  noDrafts,
		{"accelerator-load-latency", "Speculative decoding", "B"}:  noDrafts,
	}
}
