package queries

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQueriesInTexts: what the text of an alert asks for is held against the metrics too.
func TestQueriesInTexts(t *testing.T) {
	const good = `Card {{ $labels.device }}: {{ with printf "accelerator_health_info{instance='%s',vendor='%s'}" $labels.instance $labels.vendor | query }}` +
		`{{ with first . }}{{ label "state" . }}{{ end }}{{ else }}nothing{{ end }}.`
	c := known(t)
	for name, tc := range map[string]struct{ from, to, says string }{
		"as it ought to be":   {"", "", ""},
		"unknown metric":      {"health_info", "health", "accelerator_health"},
		"unknown matcher":     {"instance=", "host=", "host"},
		"no such value":       {"$labels.vendor |", "$labels.device |", "device"},
		"no PromQL":           {"'}", "'", "not PromQL"},
		"unknown label taken": {`label "state"`, `label "mood"`, "no label mood"},
		"asked for in a pipe": {`{{ $labels.device }}`, `{{ query "accelerator_helth" | first | value }}`, "accelerator_helth"},
		"in brackets":         {`{{ $labels.device }}`, `{{ range (query "up{") }}{{ end }}`, "not PromQL"},
		"too few labels":      {" $labels.vendor", "", "MISSING"},
		"what cannot be read": {"$labels.vendor |", "$value |", "$value"},
		"no template":         {"{{ end }}.", "", "no template"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tc.from) {
				t.Fatalf("%q is not in the text", tc.from)
			}
			r := Rule{File: "a.yml", Alert: "Sick", Annotations: map[string]string{"description": strings.Replace(good, tc.from, tc.to, 1)}}
			var problems []string
			all, err := r.Queries(map[string]string{"vendor": "metax"})
			if err != nil {
				problems = append(problems, err.Error())
			}
			for _, q := range all {
				problems = append(problems, c.Problems(q.Expr, q.Labels...)...)
			}
			got := strings.Join(problems, "\n")
			if (tc.says == "") != (got == "") || !strings.Contains(got, tc.says) {
				t.Errorf("problems %q, want %q", got, tc.says)
			}
		})
	}
}

func TestReadTexts(t *testing.T) {
	r := Rule{File: "a.yml", Alert: "Down", Annotations: map[string]string{
		"description": `{{ range printf "sort_desc(up{job=%q,instance='%s'})" $labels.job $labels.instance | query }}{{ if gt (value .) 0.0 }}{{ label "job" . }}{{ end }}{{ end }}`,
		"summary":     `{{ query "count(up)" | first | value }} of {{ $value }}`,
	}}
	got, err := r.Queries(map[string]string{"job": "vllm"})
	if diff := cmp.Diff([]Query{
		{File: "a.yml", Panel: "Down description", Expr: `sort_desc(up{job="vllm",instance='instance'})`, Labels: []string{"job"}},
		{File: "a.yml", Panel: "Down summary", Expr: "count(up)"},
	}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
