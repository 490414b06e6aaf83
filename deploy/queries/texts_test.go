package queries

import (
	"strings"
	"testing"
)

// TestQueriesInTexts: what the text of an alert asks for is held against the metrics too.
func TestQueriesInTexts(t *testing.T) {
	const good = `Card {{ $labels.device }}: {{ with printf "accelerator_health_info{instance='%s',vendor='%s'}" $labels.instance $labels.vendor | query }}` +
		`{{ with first . }}{{ label "state" . }}{{ end }}{{ else }}nothing{{ end }}.`
	g := known(t)
	for name, tc := range map[string]struct{ from, to, says string }{
		"as it ought to be":   {"", "", ""},
		"unknown metric":      {"health_info", "health", "accelerator_health"},
		"unknown matcher":     {"instance=", "host=", "host"},
		"no such value":       {"$labels.vendor |", "$labels.device |", "vendor of"},
		"no PromQL":           {"'}", "'", "not PromQL"},
		"unknown label taken": {`label "state"`, `label "mood"`, "no label mood"},
		"asked for in a pipe": {`{{ $labels.device }}`, `{{ query "accelerator_helth" | first | value }}`, "accelerator_helth"},
		"in brackets":         {`{{ $labels.device }}`, `{{ range (query "up{") }}{{ end }}`, "not PromQL"},
		"too few labels":      {" $labels.vendor", "", "MISSING"},
		"what cannot be read": {"$labels.vendor |", "$value |", "printf says"},
		"no template":         {"{{ end }}.", "", "parsing template"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tc.from) {
				t.Fatalf("%q is not in the text", tc.from)
			}
			r := Rule{File: "a.yml", Alert: "Sick", Expr: "accelerator_healthy == 0", Annotations: map[string]string{"description": strings.Replace(good, tc.from, tc.to, 1)}}
			problems := g.TextProblems(r)
			got := strings.Join(problems, "\n")
			if (tc.says == "") != (got == "") || !strings.Contains(got, tc.says) {
				t.Errorf("problems %q, want %q", got, tc.says)
			}
		})
	}
}
