package dashboards_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLimitsAreTheAlerts holds colours to the alerts: what is orange or red without an alert, or the other way round, misleads.
func TestLimitsAreTheAlerts(t *testing.T) {
	text, err := os.ReadFile("../deploy/prometheus/rules/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	const (
		fullness = `accelerator_memory_total_bytes{type!="host_mapped"}[5m]) >= `
		age      = `target:accelerator_probe_success:age_seconds > `
	)
	type limit struct {
		file, title, of string // of a column or of series; empty: of the panel
		color, alert    string
		nth             int // of the places where the alerts compare so
	}
	limits := []limit{
		{"load-latency.json", "Last success", "", "orange", age, 0},
		{"fleet.json", "Targets that fail most", "Last success", "orange", age, 0},
		{"fleet.json", "Cards", "Memory held", "red", fullness, 0},
		{"load-latency.json", "Cards that serve", "Memory", "red", fullness, 0},
		{"card.json", "Memory in use", "", "red", fullness, 0},
	}
	vendors := map[string]string{}
	for _, m := range regexp.MustCompile(`accelerator_temperature_celsius\{vendor="(\w+)",sensor="chip"\}\[10m\]\) > `).FindAllStringSubmatch(string(text), -1) {
		vendors[m[1]] = m[0]
	}
	if len(vendors) < 8 {
		t.Fatalf("the alerts know the heat of %d vendors only", len(vendors))
	}
	for vendor, heat := range vendors {
		limits = append(limits, limit{"card.json", "Temperature", vendor, "orange", heat, 0}, limit{"card.json", "Temperature", vendor, "red", heat, 1})
	}
	for _, tc := range limits {
		t.Run(strings.Join([]string{tc.file, tc.title, tc.of, tc.color}, " "), func(t *testing.T) {
			all := regexp.MustCompile(regexp.QuoteMeta(tc.alert)+`([0-9.]+)`).FindAllSubmatch(text, -1)
			if len(all) <= tc.nth {
				t.Fatalf("the alerts compare %d times: %s", len(all), tc.alert)
			}
			want, err := strconv.ParseFloat(string(all[tc.nth][1]), 64)
			if got, ok := stepsOf(t, tc.file, tc.title, tc.of)[tc.color]; err != nil || !ok || got != want {
				t.Errorf("%s from %v on (%t), the alerts' limit is %v (%v)", tc.color, got, ok, want, err)
			}
		})
	}
}

// stepsOf returns where each colour begins, in the panel that has thresholds of this title.
func stepsOf(t *testing.T, file, title, of string) map[string]float64 {
	t.Helper()
	for _, b := range boards(t) {
		for _, p := range b.all() {
			if b.file != file || p.Title != title {
				continue
			}
			all := p.FieldConfig.Defaults.Thresholds
			if of != "" {
				all = overridden(t, p, of)
			}
			if len(all.Steps) > 1 {
				from := map[string]float64{}
				for _, s := range all.Steps[1:] {
					from[s.Color] = s.Value
				}
				return from
			}
		}
	}
	t.Fatalf("no thresholds of %q in a panel %q", of, title)
	return nil
}

// overridden are the thresholds of a column or of some series.
func overridden(t *testing.T, p panel, of string) colorSteps {
	t.Helper()
	var all colorSteps
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if o.Matcher.Options != of || property.ID != "thresholds" {
				continue
			}
			text, err := json.Marshal(property.Value)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// TestAlertsLeadHere: the dashboard that an alert names is here, with the variables that it sets.
func TestAlertsLeadHere(t *testing.T) {
	text, err := os.ReadFile("../deploy/prometheus/rules/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`dashboard_url: \S+/d/([a-z-]+)(.*)`).FindAllStringSubmatch(string(text), -1) {
		i := slices.IndexFunc(boards(t), func(b board) bool { return b.UID == m[1] })
		for _, set := range regexp.MustCompile(`var-(\w+)=`).FindAllStringSubmatch(m[2], -1) {
			if i < 0 || !slices.Contains(defined(boards(t)[i]), set[1]) {
				t.Errorf("%s has no %s, which an alert sets", m[1], set[1])
			}
		}
	}
}
