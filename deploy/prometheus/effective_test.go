package prometheus

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

var update = flag.Bool("update", false, "write rules/effective.yml anew")

const effectiveHead = `# Generated from thresholds.yml by "make rules"; nothing to edit here.
#
# Which value of each threshold holds for each machine (instance) and each probed endpoint (instance, target): an
# exception for it, else the general value. Alerts compare with these series. A threshold without a general value is
# told by threshold:accelerator_threshold:absent, which raises AcceleratorThresholdsMissing.
groups:
  - name: accelerator-effective
    rules:
      # What there is to have thresholds. An hour's memory, so that alerts held over a gap keep theirs.
      - record: instance_target:accelerator_probe:present
        expr: group by (instance, target) (last_over_time(accelerator_probe_requests_total[1h]))
      - record: instance_vendor:accelerator_temperature:present
        expr: group by (instance, vendor) (last_over_time(accelerator_temperature_celsius[1h]))
      - record: instance:accelerator_exporter:present
        expr: group by (instance) (last_over_time(accelerator_exporter_build_info[1h]))
`

// A choice is a value that a threshold may have: that of the series which match,
// for what has the same values of these labels.
type choice struct{ on, matching string }

// A subject is what thresholds are about: the series that tell what there is of
// it, and the choices, the most special one first and the general one last.
type subject struct {
	level, present string
	choices        []choice
}

func subjects() (probes, temperatures, hosts subject) {
	probes = subject{"target", "instance_target:accelerator_probe:present", []choice{
		{"instance, target", `instance!="",target!=""`},
		{"instance", `instance!="",target=""`},
		{"target", `instance="",target!=""`},
		{"", `instance="",target=""`},
	}}
	temperatures = subject{"instance", "instance_vendor:accelerator_temperature:present", []choice{
		{"instance, vendor", `instance!=""`},
		{"vendor", `instance=""`},
	}}
	hosts = subject{"instance", "instance:accelerator_exporter:present", []choice{
		{"instance", `instance!=""`},
		{"", `instance=""`},
	}}
	return probes, temperatures, hosts
}

// subjectOf tells what a threshold is about: by the level at which rules compare
// with it, and by whether it is given for vendors.
func subjectOf(t *testing.T, threshold string) (subject, bool) {
	t.Helper()
	probes, temperatures, hosts := subjects()
	used := map[string]bool{}
	for _, r := range append(readRules(t, "alerts.yml"), readRules(t, "recording.yml")...) {
		if r.Alert == missingAlert { // which compares with none
			continue
		}
		for _, s := range series(t, r.Expr) {
			used[s] = true
		}
	}
	byVendor := slices.ContainsFunc(readRules(t, "thresholds.yml"), func(r rule) bool {
		return r.Record == thresholdPrefix+threshold && r.Labels["vendor"] != ""
	})
	switch {
	case used[effective(probes, threshold)]:
		return probes, true
	case used[effective(hosts, threshold)] && byVendor:
		return temperatures, true
	case used[effective(hosts, threshold)]:
		return hosts, true
	}
	return subject{}, false
}

func effective(about subject, threshold string) string {
	return about.level + ":threshold_" + threshold + ":effective"
}

// effectiveRules writes a threshold's two rules: its value for each of what it is
// about, and that it has no general value.
func effectiveRules(about subject, threshold string) string {
	var b strings.Builder
	selector := func(c choice) string { return thresholdPrefix + threshold + "{" + c.matching + "}" }
	fmt.Fprintf(&b, "\n      - record: %s\n        expr: |\n", effective(about, threshold))
	or := ""
	for _, c := range about.choices {
		fmt.Fprintf(&b, "          %s%s * on (%s) group_left () %s\n", or, about.present, c.on, selector(c))
		or = "  or "
	}
	general := about.choices[len(about.choices)-1]
	fmt.Fprintf(&b, "      - record: %s\n        expr: absent(%s)\n        labels: {threshold: %s}\n", absentRecord, selector(general), threshold)
	return b.String()
}

// TestEffectiveIsGenerated fails when effective.yml is not what thresholds.yml
// makes of it, or when nothing compares with a threshold.
func TestEffectiveIsGenerated(t *testing.T) {
	const file = "rules/effective.yml"
	want := effectiveHead
	for _, threshold := range thresholds(t) {
		about, ok := subjectOf(t, threshold)
		if !ok {
			t.Errorf("threshold %s is used by nothing", threshold)
			continue
		}
		want += effectiveRules(about, threshold)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, programtest.Read(t, file)); diff != "" {
		t.Errorf("%s is old, make rules writes it (-want +got):\n%s", file, diff)
	}
}
