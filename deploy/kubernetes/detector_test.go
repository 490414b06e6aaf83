package kubernetes

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestNodeProblemDetector runs the plugin's command as the detector does, which takes the first bytes of its output for the
// message: the worst card has to stand there, and its status has to be the check's.
func TestNodeProblemDetector(t *testing.T) {
	var plugin struct {
		Plugin, Source   string
		MetricsReporting bool
		PluginConfig     struct {
			Interval string `json:"invoke_interval"`
			Timeout  string
			Length   int `json:"max_output_length"`
			AtOnce   int `json:"concurrency"`
		}
		Conditions []struct{ Type, Reason, Message string }
		Rules      []struct {
			Type, Condition, Reason, Path string
			Args                          []string
		}
	}
	decoder := json.NewDecoder(strings.NewReader(programtest.Read(t, "node-problem-detector.json")))
	decoder.DisallowUnknownFields()
	programtest.NoError(t, decoder.Decode(&plugin))
	rule := plugin.Rules[0]
	if plugin.Conditions[0].Type != rule.Condition || rule.Type != "permanent" {
		t.Errorf("the rule is %s of %s", rule.Type, rule.Condition)
	}
	programs := programtest.Build(t)
	table, err := filepath.Abs("../../collector/metax/testdata/table-layout-2.2.9.txt")
	programtest.NoError(t, err)
	tools := t.TempDir()
	for _, c := range []struct {
		tool, says string
		status     int
	}{
		{"cat " + table, "metax 7: Available\n", 0},
		{"grep -v '0000:21:00.0' " + table, "metax: ", 1},
		{"exit 1", "metax: exit: ", 2},
	} {
		programtest.WriteScript(t, filepath.Join(tools, "mx-smi"), "[ $# = 0 ] || exit 1\n"+c.tool+"\n")
		path := "PATH=" + programs + ":" + tools + ":/usr/bin:/bin"
		out, status := programtest.Status(t, []string{path}, append([]string{"env", path, rule.Path}, rule.Args...)...)
		if !strings.HasPrefix(out, c.says) || strings.Count(out, "\n") != 1 || status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.tool, status, c.status, out)
		}
	}
}
