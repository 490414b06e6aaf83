package queries

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// known are the metrics of the programs and of the rules.
func known(t *testing.T) (Metrics, []Rule) {
	t.Helper()
	m, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var rules []Rule
	for _, folder := range []string{"rules", "optional", "compat"} {
		some, err := Rules(filepath.Join(root, "deploy/prometheus", folder, "*.yml"))
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, some...)
	}
	m.AddRules(rules)
	return m, rules
}

// A panel would stay empty.
func TestDashboards(t *testing.T) {
	m, _ := known(t)
	all, err := Dashboards(filepath.Join(root, "dashboards/grafana/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		var problems []string
		for _, maker := range []string{"metax", "ascend"} { // some panels are about one of them
			expr, err := q.Substitute(map[string]string{"maker": maker})
			if err != nil {
				t.Fatal(err)
			}
			if problems = m.Problems(expr, q.Labels...); len(problems) == 0 {
				break
			}
		}
		for _, p := range problems {
			t.Errorf("%s: %s", q, p)
		}
	}
}

// An alert would never fire, or say "on card ".
func TestRules(t *testing.T) {
	m, rules := known(t)
	for _, r := range rules {
		for _, p := range m.Problems(r.Expr, r.TextLabels()...) {
			t.Errorf("%s: %s", r, p)
		}
	}
}

// A test of a rule would feed what no program exports.
func TestRuleTests(t *testing.T) {
	m, rules := known(t)
	alerts := map[string]bool{}
	for _, r := range rules {
		alerts[r.Alert] = true
	}
	tests, err := RuleTests("../prometheus/tests/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		for _, s := range test.Series {
			for _, p := range m.Problems(s.Series) {
				t.Errorf("%s test %q: %s", test.File, test.Name, p)
			}
		}
		for _, e := range test.Exprs {
			for _, p := range m.Problems(e.Expr) {
				t.Errorf("%s test %q: %s", test.File, test.Name, p)
			}
		}
		for _, a := range test.Alerts {
			if !alerts[a.Alertname] {
				t.Errorf("%s test %q: no alert is called %s", test.File, test.Name, a.Alertname)
			}
		}
	}
}

// A query that a reader copies from a document would return nothing.
func TestDocuments(t *testing.T) {
	m, _ := known(t)
	found := 0
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".md") {
			return err
		}
		all, err := Markdown(file)
		found += len(all)
		for _, q := range all {
			for _, p := range m.Problems(strings.NewReplacer(`"COLLECTOR"`, `"metax"`, `"VENDOR"`, `"metax"`).Replace(q.Expr)) {
				t.Errorf("%s: %s", q, p)
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d queries found, %v", found, err)
	}
}

// A misspelt name must not pass.
func TestProblems(t *testing.T) {
	m, _ := known(t)
	for expr, want := range map[string][]string{
		`accelerator_utilization_ratio{vendor="metax"}`:                                      nil,
		`accelerator_utilisation_ratio`:                                                      {"no program exports accelerator_utilisation_ratio"},
		`accelerator_utilization_ratio{vendor="metaxx"}`:                                     {`accelerator_utilization_ratio has no vendor="metaxx"`},
		`accelerator_utilization_ratio{vendor=~"metax|huawei"}`:                              {`accelerator_utilization_ratio has no vendor="huawei"`},
		`accelerator_utilization_ratio{card="0"}`:                                            {`accelerator_utilization_ratio has no label "card"`},
		`sum by (card) (accelerator_utilization_ratio)`:                                      {`no series of sum by (card) (accelerator_utilization_ratio) has the label "card"`},
		`up * on (instance, card) group_left (model) accelerator_probe_success`:              {`no series of up * on (instance, card) group_left (model) accelerator_probe_success has the label "card"`},
		`label_replace(up, "card", "$1", "job", "(.*)") * on (card) group_left () vector(1)`: nil,
		`rate(up[`: {"1:9: parse error: unexpected end of input in duration expression"},
	} {
		if diff := cmp.Diff(want, m.Problems(expr)); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", expr, diff)
		}
	}
}
