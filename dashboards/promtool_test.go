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
	return strings.NewReplacer(append(values, "$window", "5m", "$__range", "1h", "$__rate_interval", "5m", "$__interval", "1m", "$top", "20",
		"$instance", ".*", "$target", ".*", "$job", ".*", "$vendor", ".*", "$device", ".*", "$model", ".*", "$server", ".*", "$generator", ".*", "$endpoint", ".*", "$step", ".*")...).Replace(expr)
}

// rulesTest has promtool compare what expr gives with want.
func rulesTest(t *testing.T, promtool, input, expr, at, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yml")
	content := fmt.Sprintf("tests:\n  - interval: 1m\n    input_series:%s    promql_expr_test:\n      - expr: '%s'\n        eval_time: %s\n        exp_samples:\n%s", input, expr, at, want)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// queryAt returns the n-th query of a dashboard's panel.
func queryAt(t *testing.T, file, title, kind string, n int) string {
	t.Helper()
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			if b.file == file && p.Type == kind && p.Title == title {
				return p.Targets[n].Expr
			}
		}
	}
	t.Fatalf("%s has no %s %q", file, kind, title)
	return ""
}

// program finds one of Prometheus' programs, among those built for the project or on the PATH. CI must have it.
func program(t *testing.T, name string) string {
	t.Helper()
	built, err := filepath.Abs(filepath.Join("..", "bin", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []string{built, name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s in bin/tools or on the PATH", name)
	}
	t.Skipf("no %s in bin/tools or on the PATH", name)
	return ""
}
