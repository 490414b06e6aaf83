package queries

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

const root = "../.."

// known are the golden series of the repository.
func known(t *testing.T, pods ...string) *Golden {
	t.Helper()
	c, err := Load(root, pods...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rulesOf reads the rules of some folders below deploy/prometheus.
func rulesOf(t *testing.T, folders ...string) []Rule {
	t.Helper()
	var all []Rule
	for _, folder := range folders {
		rules, err := Rules(filepath.Join("../prometheus", folder))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rules...)
	}
	return all
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// twoPods are what Prometheus sees of exporters while one pod of a node replaces another: each series twice, and only the
// label pod differs. A join that then finds two for one is an error of Prometheus, and the panel or the alert is blind.
func twoPods() []string { return []string{"old", "new"} }

// TestDashboards: all that a dashboard asks for is exported by a program, without any recording rule or native
// histogram, so that an import is enough.
func TestDashboards(t *testing.T) {
	g := known(t, twoPods()...)
	g.AddRules(rulesOf(t, "rules")) // for ALERTS
	all, err := Dashboards(filepath.Join(root, "dashboards/grafana"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		t.Run(q.String(), func(t *testing.T) {
			t.Parallel()
			var problems []string
			for _, maker := range []string{"metax", "ascend"} { // some panels are about one of them
				expr, err := q.Substitute(map[string]string{"maker": maker})
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range asked(expr) {
					if g.recorded[name] && name != "ALERTS" || g.isNative(name) {
						t.Errorf("%s is recorded, or a native histogram, which not every Prometheus has", name)
					}
				}
				if problems = g.Problems(expr, q.Labels...); len(problems) == 0 {
					break
				}
			}
			report(t, problems)
		})
	}
}

// TestRules: rules ask for what is exported or recorded, and what an alert says is in its result.
func TestRules(t *testing.T) {
	for _, folders := range [][]string{{"rules"}, {"rules", "compat"}} {
		g, rules := known(t, twoPods()...), rulesOf(t, folders...)
		if len(rules) == 0 {
			t.Fatalf("no rules in %v", folders)
		}
		g.AddRules(rules)
		for _, r := range rules {
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				report(t, g.Problems(r.Expr))
				report(t, g.TextProblems(r))
			})
		}
	}
}

// TestRuleTests: what the rules' tests feed is what the programs export.
func TestRuleTests(t *testing.T) {
	c := known(t)
	c.AddRules(rulesOf(t, "rules", "compat"))
	tests, err := RuleTests("../prometheus/tests")
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) == 0 {
		t.Fatal("no tests of rules")
	}
	for _, test := range tests {
		t.Run(test.String(), func(t *testing.T) {
			for _, s := range test.Series {
				report(t, c.SeriesProblems(s.Series))
			}
			for _, e := range test.Exprs {
				report(t, c.Problems(e.Expr))
			}
			for _, a := range test.Alerts {
				if !c.HasAlert(a.Alertname) {
					t.Errorf("no alert is called %s", a.Alertname)
				}
			}
		})
	}
}

// TestDocuments: a query that a reader copies from a document works.
func TestDocuments(t *testing.T) {
	c := known(t)
	c.AddRules(rulesOf(t, "rules", "compat"))
	filledIn := strings.NewReplacer(`"COLLECTOR"`, `"metax"`, `"VENDOR"`, `"metax"`) // by the reader
	found := 0
	visit := func(file string) {
		all, err := Markdown(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			found++
			expr := filledIn.Replace(q.Expr)
			t.Run(q.String(), func(t *testing.T) { report(t, c.Problems(expr)) })
		}
	}
	visit(filepath.Join(root, "README.md"))
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".md") {
			visit(file)
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d queries found, %v", found, err)
	}
}

// TestStandInIsPartOfVLLM: what the stand-in exports is what vLLM is said to.
func TestStandInIsPartOfVLLM(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, goldenFiles()[VLLM]))
	if err != nil {
		t.Fatal(err)
	}
	type metric struct {
		kind   Kind
		labels map[string]bool
	}
	read := func(text []byte) (map[string]metric, map[string]bool) {
		all, err := readExposition(text)
		if err != nil {
			t.Fatal(err)
		}
		metrics, reasons := map[string]metric{}, map[string]bool{}
		for _, s := range all {
			if s.kind == Native {
				continue // classic alone, as vLLM's
			}
			name := s.labels.Get(model.MetricNameLabel)
			if metrics[name].labels == nil {
				metrics[name] = metric{s.kind, map[string]bool{}}
			}
			s.labels.Range(func(l labels.Label) { metrics[name].labels[l.Name] = true })
			if reason := s.labels.Get("finished_reason"); reason != "" {
				reasons[reason] = true
			}
		}
		return metrics, reasons
	}
	stated, reasons := read(vllmExposition())
	got, gotReasons := read(text)
	if len(got) < 40 {
		t.Errorf("only %d metrics", len(got))
	}
	for name, m := range got {
		if stated[name].kind != m.kind {
			t.Errorf("%s is a %q, stated as %q", name, m.kind, stated[name].kind)
		}
		for label := range m.labels {
			if !stated[name].labels[label] {
				t.Errorf("%s has the label %s, which is not stated", name, label)
			}
		}
	}
	if diff := cmp.Diff(reasons, gotReasons); diff != "" {
		t.Errorf("finished_reason (-stated +stand-in):\n%s", diff)
	}
}
