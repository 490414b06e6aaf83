package prometheus

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const runbookURL = "https://github.com/accelerator-exporter/accelerator_exporter/blob/main/docs/runbooks/"

// podsOnIt ends the text of each alert on a card: a template of an alert cannot be shared with another.
const podsOnIt = `{{ with printf "card_pod:accelerator_workload:info{cluster='%s',job='%s',instance='%s',vendor='%s',device='%s'}" $labels.cluster $labels.job $labels.instance $labels.vendor $labels.device | query }}` +
	` Pods on it:{{ range . | sortByLabel "pod" | sortByLabel "namespace" }} {{ .Labels.namespace }}/{{ .Labels.pod }}{{ end }}.{{ end }}`

func TestAlertsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range readRules(t, "alerts.yml") {
		t.Run(a.Alert, func(t *testing.T) {
			if !strings.HasPrefix(a.Alert, "Accelerator") || seen[a.Alert] {
				t.Errorf("alert %q: not Accelerator…, or twice", a.Alert)
			}
			seen[a.Alert] = true
			if s := a.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) {
				t.Errorf("severity %q", s)
			}
			if got, want := slices.Sorted(maps.Keys(a.Annotations)), []string{"description", "runbook_url", "summary"}; !slices.Equal(got, want) {
				t.Errorf("annotations %q, want %q", got, want)
			}
			d, ofCard := strings.CutSuffix(a.Annotations["description"], podsOnIt)
			if names := strings.Contains(a.Annotations["summary"]+d, "$labels.device"); names != ofCard {
				t.Errorf("it is of a card %v, and names the pods on it %v: %q", names, ofCard, d)
			}
			if !strings.HasSuffix(d, ".") || len(d) < 40 {
				t.Errorf("description is no sentence: %q", d)
			}
			if s := a.Annotations["summary"]; s == "" || strings.HasSuffix(s, ".") || len(s) > 120 {
				t.Errorf("summary is no headline: %q", s)
			}
			if got, want := a.Annotations["runbook_url"], runbookURL+a.Alert+".md"; got != want {
				t.Errorf("runbook_url %q, want %q", got, want)
			}
		})
	}
}
