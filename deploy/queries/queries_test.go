package queries

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// known is the catalogue of the repository.
func known(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load(root)
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

// TestDashboards: all that a dashboard asks for is exported by a program, without
// any recording rule or native histogram, so that an import is enough.
func TestDashboards(t *testing.T) {
	c := known(t)
	c.AddRules(slices.DeleteFunc(rulesOf(t, "rules"), func(r Rule) bool { return r.Alert == "" }))
	all, err := Dashboards(filepath.Join(root, "dashboards/grafana"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		t.Run(q.String(), func(t *testing.T) {
			expr, err := q.Substitute(nil)
			if err != nil {
				t.Fatal(err)
			}
			report(t, c.Problems(expr, q.Labels...))
			for _, name := range asked(expr) {
				if c.metrics[name].kind == Native {
					t.Errorf("%s is a native histogram, which not every Prometheus keeps: take its _bucket", name)
				}
			}
		})
	}
}

// TestRules: rules ask for what is exported or recorded, and what an alert says is in
// its result.
func TestRules(t *testing.T) {
	for _, folders := range [][]string{{"rules"}, {"rules", "compat"}} {
		c, rules := known(t), rulesOf(t, folders...)
		if len(rules) == 0 {
			t.Fatalf("no rules in %v", folders)
		}
		c.AddRules(rules)
		for _, r := range rules {
			t.Run(r.String(), func(t *testing.T) {
				report(t, c.Problems(r.Expr, r.unmade()...))
				texts, err := r.Queries(map[string]string{"vendor": "metax", "collector": "metax"})
				if err != nil {
					t.Error(err)
				}
				for _, q := range texts {
					report(t, c.Problems(q.Expr, q.Labels...))
				}
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
				report(t, c.SeriesProblems(s))
			}
			for _, e := range test.Exprs {
				report(t, c.Problems(e))
			}
			for _, a := range test.Alerts {
				if !c.HasAlert(a) {
					t.Errorf("no alert is called %s", a)
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
	stated, standIn := NewCatalogue(), NewCatalogue()
	stated.AddVLLM()
	if err := standIn.AddExposition(VLLM, filepath.Join(root, "bench/fakevllm/testdata/metrics.golden")); err != nil {
		t.Fatal(err)
	}
	names := standIn.Names(VLLM)
	if len(names) < 40 {
		t.Errorf("only %v", names)
	}
	for _, name := range names {
		want, got := stated.metrics[name], standIn.metrics[name]
		if got.kind == Native {
			continue // classic alone, as vLLM's
		}
		if want.kind != got.kind {
			t.Errorf("%s is a %q, stated as %q", name, got.kind, want.kind)
		}
		for label := range got.labels {
			if _, ok := want.labels[label]; !ok {
				t.Errorf("%s has the label %s, which is not stated", name, label)
			}
		}
		if diff := cmp.Diff(want.values["finished_reason"], got.values["finished_reason"]); diff != "" {
			t.Errorf("finished_reason of %s (-stated +stand-in):\n%s", name, diff)
		}
	}
}
