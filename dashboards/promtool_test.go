package dashboards_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// filled puts all, or the values given, into a query's variables.
func filled(expr string, values ...string) string {
	return strings.NewReplacer(append(values, "$window", "5m", "$__range", "1h", "$__rate_interval", "5m", "$__interval", "1m", "$host", ".*", "$maker", ".*", "$card", ".*",
		"$instance", ".*", "$target", ".*", "$job", ".*", "$vendor", ".*", "$server", ".*", "$generator", ".*", "$endpoint", ".*")...).Replace(expr)
}

// rulesTest has each promtool compare what expr gives with want.
func rulesTest(t *testing.T, promtools []string, input, expr, at, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yml")
	content := fmt.Sprintf("tests:\n  - interval: 1m\n    input_series:%s    promql_expr_test:\n      - expr: '%s'\n        eval_time: %s\n        exp_samples:\n%s", input, expr, at, want)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, promtool := range promtools {
		if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", promtool, err, out)
		}
	}
}

// queryAt returns the n-th query of a dashboard's panel.
func queryAt(t *testing.T, file, title, kind string, n int) string {
	t.Helper()
	for _, b := range boards(t) {
		for _, p := range b.all() {
			if b.file == file && p.Type == kind && p.Title == title {
				return p.Targets[n].Expr
			}
		}
	}
	t.Fatalf("%s has no %s %q", file, kind, title)
	return ""
}

// promtools finds the one that was built for the project and the one on the PATH: a Prometheus 3 and a Prometheus 2, which
// do not agree about all queries. CI must have one.
func promtools(t *testing.T) []string {
	t.Helper()
	built, err := filepath.Abs(filepath.Join("..", "bin", "tools", "promtool"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, candidate := range []string{built, "promtool"} {
		if path, err := exec.LookPath(candidate); err == nil {
			found = append(found, path)
		}
	}
	switch {
	case len(found) > 0:
	case os.Getenv("CI") == "true":
		t.Fatal("no promtool in bin/tools or on the PATH")
	default:
		t.Skip("no promtool in bin/tools or on the PATH")
	}
	return found
}
