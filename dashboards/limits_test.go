package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alertLimits reads the thresholds that alerts decide by: by name, and after a slash the vendor where they differ by it.
func alertLimits(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/rules/thresholds.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Record, Expr string
				Labels       map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	limits := map[string]float64{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			name := strings.TrimPrefix(r.Record, "accelerator:threshold_")
			if vendor, ok := r.Labels["vendor"]; ok {
				name += "/" + vendor
			}
			value, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(r.Expr, "vector("), ")"), 64)
			if err != nil {
				t.Fatalf("%s: %v", r.Record, err)
			}
			limits[name] = value
		}
	}
	return limits
}

// TestLimitsAreTheAlerts holds colours to the alerts: what is orange or red without an alert, or the other way round, misleads.
func TestLimitsAreTheAlerts(t *testing.T) {
	limits := alertLimits(t)
	for _, tc := range []struct {
		file, title, of string // of a column or of series; empty: of the panel
		color, limit    string
		times           float64
	}{
		{"card.json", "Temperature", "metax", "orange", "temperature_warning_celsius/metax", 1},
		{"card.json", "Temperature", "metax", "red", "temperature_critical_celsius/metax", 1},
		{"card.json", "Temperature", "ascend", "orange", "temperature_warning_celsius/ascend", 1},
		{"card.json", "Temperature", "ascend", "red", "temperature_critical_celsius/ascend", 1},

		{"load-latency.json", "Failed probes", "", "orange", "probe_failure_budget_ratio", 1},
		{"fleet.json", "Targets that fail most", "Failed", "orange", "probe_failure_budget_ratio", 1},
		{"card.json", "Probed endpoints", "Failed", "orange", "probe_failure_budget_ratio", 1},
		{"load-latency.json", "Last success", "", "orange", "probe_no_success_seconds", 1},
		{"load-latency.json", "Last success", "", "red", "probe_no_success_seconds", 3},
		{"fleet.json", "Targets that fail most", "Last success", "orange", "probe_no_success_seconds", 1},
		{"fleet.json", "Targets that fail most", "Last success", "red", "probe_no_success_seconds", 3},

		{"fleet.json", "Cards", "Memory held", "red", "memory_full_ratio", 1},
		{"fleet.json", "Hosts", "Memory held", "red", "memory_full_ratio", 1},
		{"load-latency.json", "Cards that serve", "Memory", "red", "memory_full_ratio", 1},
		{"card.json", "Memory in use", "", "red", "memory_full_ratio", 1},
		{"numa.json", "Cards and their nodes", "Memory held", "red", "memory_full_ratio", 1},
		{"card.json", "Of its power limit", "", "red", "power_limited_ratio", 1},
		{"numa.json", "Worst miss ratio", "", "red", "numa_miss_ratio", 1},
		{"numa.json", "Nodes", "Miss ratio", "red", "numa_miss_ratio", 1},
	} {
		t.Run(strings.Join([]string{tc.file, tc.title, tc.of, tc.color}, " "), func(t *testing.T) {
			want, ok := limits[tc.limit]
			if !ok {
				t.Fatalf("no threshold %s for alerts", tc.limit)
			}
			got, ok := stepsOf(t, tc.file, tc.title, tc.of)[tc.color]
			if !ok || got != tc.times*want {
				t.Errorf("%s from %v on (%t), want %v times the alerts' %s, which is %v", tc.color, got, ok, tc.times, tc.limit, want)
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

// TestTemperaturesByVendor finds colours of temperatures that are the same for all vendors, whose alerts are not.
func TestTemperaturesByVendor(t *testing.T) {
	eachPanel(t, func(t *testing.T, _ board, p panel) {
		if p.FieldConfig.Defaults.Unit == "celsius" && len(p.FieldConfig.Defaults.Thresholds.Steps) > 1 {
			t.Error("the panel's own thresholds are for all vendors")
		}
		for _, o := range p.FieldConfig.Overrides {
			ids := map[string]any{}
			for _, property := range o.Properties {
				ids[property.ID] = property.Value
			}
			if ids["unit"] == "celsius" && ids["thresholds"] != nil {
				t.Errorf("the column %q has thresholds for all vendors", o.Matcher.Options)
			}
		}
	})
}

// TestQueriesCompareAsAlerts holds the numbers in queries to the alerts.
func TestQueriesCompareAsAlerts(t *testing.T) {
	limits := alertLimits(t)
	for _, tc := range []struct {
		title, kind, compares, limit string
	}{
		{"At their power limit", "stat", ">= ", "power_limited_ratio"},
		{"At their power limit", "stat", `accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor",device=~"$device"}) >= `, "utilization_busy_ratio"},
		{"Throttled", "stat", ">= ", "performance_level_drop"},
		{"Throttled", "stat", `[1d])) < `, "clock_drop_ratio"},
		{"Throttled", "stat", `accelerator_clock_max_hertz{job=~"$job",instance=~"$instance",vendor=~"$vendor",device=~"$device"}) < `, "clock_rated_ratio"},
		{"Memory full", "stat", ">= ", "memory_full_ratio"},
		{"Too hot", "stat", `vendor="metax"}) > `, "temperature_warning_celsius/metax"},
		{"Too hot", "stat", `vendor="ascend"}) > `, "temperature_warning_celsius/ascend"},
		{"Idle with memory held", "stat", ">= ", "memory_held_ratio"},
		{"Idle with memory held", "stat", "<= ", "utilization_idle_ratio"},
		{"Idle with memory held", "table", ">= ", "memory_held_ratio"},
		{"Idle with memory held", "table", "<= ", "utilization_idle_ratio"},
	} {
		expr := queryAt(t, "fleet.json", tc.title, tc.kind, 0)
		comparison := regexp.MustCompile(regexp.QuoteMeta(tc.compares) + `([0-9.]+)`).FindStringSubmatch(expr)
		if want := fmt.Sprint(limits[tc.limit]); comparison == nil || comparison[1] != want {
			t.Errorf("%s %q compares %q, the alerts' %s is %s:\n%s", tc.kind, tc.title, comparison, tc.limit, want, expr)
		}
	}
}
