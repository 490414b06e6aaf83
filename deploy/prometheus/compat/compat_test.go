// Package compat tests the recording rules that offer the names of the vendors'
// own exporters.
package compat

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const document = "../../../docs/migrating.md"

// exporters are the rule files, and what the document calls the exporters.
var exporters = map[string]string{
	"mx-exporter.yml":  "## From mx-exporter",
	"npu-exporter.yml": "## From npu-exporter",
}

// ruleFile is what this test reads of a rule file.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Record string `yaml:"record"`
			Expr   string `yaml:"expr"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// recorded are the old names that a rule file records, sorted, each with its
// expression. Names with a colon are the file's own intermediate steps.
func recorded(t *testing.T, file string) map[string]string {
	t.Helper()
	var rules ruleFile
	programtest.ReadYAML(t, file, &rules)
	names := make(map[string]string)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(rule.Record, ":") {
				names[rule.Record] = rule.Expr
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("%d rules in %s", len(names), file)
	}
	return names
}

// table is a table of the document: old names and what stands beside them.
type table struct {
	header string
	rows   [][2]string
}

// tables reads the tables of one section of the document.
func tables(t *testing.T, heading string) []table {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("no %q in %s", heading, document)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var found []table
	inside := false
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			inside = false
			continue
		}
		first, second := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		switch {
		case !inside:
			found, inside = append(found, table{header: first + "|" + second}), true
		case strings.HasPrefix(first, "---"):
		default:
			last := &found[len(found)-1]
			last.rows = append(last.rows, [2]string{first, second})
		}
	}
	return found
}

// TestDocumentNamesEveryRule wants the document's table and the rule file to have
// the same names, and the names without an equivalent to have no rule.
func TestDocumentNamesEveryRule(t *testing.T) {
	for file, heading := range exporters {
		t.Run(file, func(t *testing.T) {
			rules := recorded(t, file)
			var documented []string
			for _, table := range tables(t, heading) {
				switch table.header {
				case "old name|new expression":
					for _, row := range table.rows {
						for _, name := range names(row[0]) {
							documented = append(documented, name)
							checkExpression(t, name, strings.Trim(row[1], "`"), rules[name])
						}
					}
				case "old name|new metric":
					for _, row := range table.rows {
						noRule(t, row[0], rules)
						metrics(t, row[0], strings.Trim(row[1], "`"))
					}
				case "old name|what to do":
					for _, row := range table.rows {
						noRule(t, row[0], rules)
					}
				}
			}
			slices.Sort(documented)
			if diff := cmp.Diff(documented, slices.Sorted(maps.Keys(rules))); diff != "" {
				t.Errorf("names of %s and of the document differ (-document +rules):\n%s", file, diff)
			}
		})
	}
}

// names are those of a cell: one, or "`name_1` to `name_7`".
func names(cell string) []string {
	m := regexp.MustCompile("^`(\\w+)_(\\d)` to `(\\w+)_(\\d)`$").FindStringSubmatch(cell)
	if m == nil || m[1] != m[3] {
		return []string{strings.Trim(cell, "`")}
	}
	var all []string
	for digit := m[2][0]; digit <= m[4][0]; digit++ {
		all = append(all, m[1]+"_"+string(digit))
	}
	return all
}

// noRule wants none of a row's names, patterns among them, to be recorded.
func noRule(t *testing.T, cell string, rules map[string]string) {
	t.Helper()
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(cell, -1) {
		name, labels, _ := strings.Cut(strings.Trim(quoted, "`"), "{")
		if labels != "" {
			continue // a part of what the old name held
		}
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(name, "*", ".*") + "$")
		for rule := range rules {
			if pattern.MatchString(rule) {
				t.Errorf("%s is recorded, and the document says that it has no equivalent (%s)", rule, name)
			}
		}
	}
}

// checkExpression wants the document's expression to be PromQL over metrics that
// the rule reads too, so that the two do not grow apart.
func checkExpression(t *testing.T, name, documented, rule string) {
	t.Helper()
	fromLabels := strings.Contains(rule, "accelerator:") // the labels' rule reads the info metrics
	for _, metric := range metrics(t, name, documented) {
		if strings.HasSuffix(metric, "_info") && fromLabels {
			continue
		}
		if !strings.Contains(rule, metric) {
			t.Errorf("the document reads %s for %s, the rule does not:\n%s", metric, name, rule)
		}
	}
}

// metrics are the metrics that an expression reads.
func metrics(t *testing.T, name, expression string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("the expression for %s: %v", name, err)
		return nil
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	if len(names) == 0 {
		t.Errorf("the expression for %s reads nothing: %s", name, expression)
	}
	return names
}

// Who multiplies a link's bandwidth by the profiling time gets the bytes of that time, as
// from npu-exporter: all of these rules look at one window, and tell its length.
func TestProfilingTimeIsTheRulesWindow(t *testing.T) {
	const prefix = "npu_chip_info_hccs_bandwidth_info_"
	rules := recorded(t, "npu-exporter.yml")
	told, _, _ := strings.Cut(rules[prefix+"profiling_time"], " ")
	windows := make(map[string]string)
	for name, rule := range rules {
		if strings.HasPrefix(name, prefix) {
			windows[name] = window(t, rule)
		}
	}
	if len(windows) != 17 { // two directions of seven links, their totals, and the time
		t.Errorf("%d rules of the links' bandwidth, want 17", len(windows))
	}
	for name, got := range windows {
		if got != told {
			t.Errorf("%s is a mean of %s ms, and the profiling time is %s", name, got, told)
		}
	}
}

// window is the range of an expression's one selector, in milliseconds.
func window(t *testing.T, expression string) string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	var ranges []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.MatrixSelector); ok {
			ranges = append(ranges, strconv.FormatInt(selector.Range.Milliseconds(), 10))
		}
		return nil
	})
	return strings.Join(ranges, " and ")
}

// TestEveryRuleHasATest wants each recorded name to be asked for by a unit test.
func TestEveryRuleHasATest(t *testing.T) {
	for file := range exporters {
		var tests struct {
			Tests []struct {
				Queries []struct {
					Expr    string `yaml:"expr"`
					Samples []any  `yaml:"exp_samples"`
				} `yaml:"promql_expr_test"`
			} `yaml:"tests"`
		}
		programtest.ReadYAML(t, filepath.Join("tests", file), &tests)
		tested := make(map[string]bool)
		for _, test := range tests.Tests {
			for _, query := range test.Queries {
				tested[query.Expr] = tested[query.Expr] || len(query.Samples) > 0
			}
		}
		for name := range recorded(t, file) {
			if !tested[name] {
				t.Errorf("tests/%s has no sample of %s", file, name)
			}
		}
	}
}

// TestPromtool runs the unit tests with every promtool there is.
func TestPromtool(t *testing.T) {
	for _, program := range programtest.FindAll(t, "bin/tools/promtool", "promtool") {
		for file := range exporters {
			for _, args := range [][]string{{"check", "rules", file}, {"test", "rules", filepath.Join("tests", file)}} {
				if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
					t.Errorf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
				}
			}
		}
	}
}
