package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exporterCode are the folders whose log lines and page a runbook may search.
func exporterCode() []string {
	return []string{root + "/cmd/accelerator_exporter", root + "/bench/probe", root + "/collector"}
}

// runbookGrep is a command of a runbook that searches the log, the metrics or the
// page of the exporter.
var runbookGrep = regexp.MustCompile(`(journalctl -u accelerator_exporter|curl -s http://HOST:10068/(?:metrics)?) [^|\n]*\| grep ((?:-\w+ )*)('[^']*'|\S+)`)

// TestRunbooksSearchWhatIsThere fails when a runbook greps for what the exporter
// never writes.
func TestRunbooksSearchWhatIsThere(t *testing.T) {
	logLines, texts := written(t)
	var metrics []string
	for name := range newReference(t).families {
		metrics = append(metrics, name)
	}
	found := 0
	for _, alert := range alertNames(t) {
		page := strings.ReplaceAll(read(t, filepath.Join(runbooks, alert+".md")), "target=TARGET", "target=")
		for _, m := range runbookGrep.FindAllStringSubmatch(page, -1) {
			found++
			in := map[string][]string{"journalctl -u accelerator_exporter": logLines, "curl -s http://HOST:10068/metrics": metrics}[m[1]]
			if in == nil {
				in = texts
			}
			expression := strings.Trim(m[3], "'")
			if strings.Contains(m[2], "-i") {
				expression = "(?i)" + expression
			}
			if !slices.ContainsFunc(in, regexp.MustCompile(expression).MatchString) {
				t.Errorf("%s.md: grep %s finds nothing that the exporter writes", alert, m[3])
			}
		}
	}
	if found < 4 {
		t.Errorf("found only %d searches", found)
	}
}

// written are the log lines of the exporter's code, keys without values but for the
// message, and all of its string constants.
func written(t *testing.T) (logLines, texts []string) {
	t.Helper()
	for _, folder := range exporterCode() {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.SelectorExpr); ok && (called.Sel.Name == "Log" || called.Sel.Name == "With") {
						logLines = append(logLines, logLine(n.Args))
					}
				case *ast.BasicLit:
					if text, ok := constant(n); ok {
						texts = append(texts, text)
					}
				}
				return true
			})
		}
	}
	return logLines, texts
}

// logLine is what a call with keys and values in turn writes, as far as they are constants.
func logLine(args []ast.Expr) string {
	var b strings.Builder
	for len(args) > 0 {
		key, ok := constant(args[0])
		if args = args[1:]; !ok { // the logger
			continue
		}
		b.WriteString(key + "=")
		if len(args) > 0 {
			value, _ := constant(args[0])
			b.WriteString(strconv.Quote(value) + " ")
			args = args[1:]
		}
	}
	return b.String()
}

func constant(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
