package docs_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const chineseReadme = root + "/README.zh-CN.md"

var (
	partMarker  = regexp.MustCompile(`(?m)^<!-- ([\w./-]+\.md)#([a-z-]+) -->$`)
	headingLine = regexp.MustCompile(`(?m)^#{1,6} .+$`)
	taggedFence = regexp.MustCompile("(?ms)^[ \t]*```([a-z]+)\n(.*?)^[ \t]*```[ \t]*$")
	flagName    = regexp.MustCompile(`--[a-z][a-z0-9]*(?:[-.][a-z0-9]+)*`)
	metricName  = regexp.MustCompile(`\baccelerator_[a-z0-9_]+\b[*…]?`)
	reasonRow   = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")
	alertRow    = regexp.MustCompile("(?m)^\\| `(Accelerator\\w+)` \\| (\\w+) \\|[^|]*\\| ([^|]*)\\|")
)

// TestChineseCommands fails when a part of README.zh-CN.md lacks a line of code of
// the English section that its marker names, or has a command that no English
// document has.
func TestChineseCommands(t *testing.T) {
	chinese := read(t, chineseReadme)
	var parts []string
	for _, at := range partMarker.FindAllStringSubmatchIndex(chinese, -1) {
		document, name := chinese[at[2]:at[3]], chinese[at[4]:at[5]]
		parts = append(parts, document+"#"+name)
		want, ok := ownText(read(t, filepath.Join(root, document)), name)
		if !ok {
			t.Errorf("%s has no heading #%s", document, name)
			continue
		}
		got := codeLines(upToHeading(chinese[at[1]:]), "")
		for _, line := range codeLines(want, "") {
			if !slices.Contains(got, line) {
				t.Errorf("the part of %s#%s lacks this line of it:\n%s", document, name, line)
			}
		}
	}
	for _, needed := range []string{
		"README.md#try-it", "README.md#on-a-real-server", "deploy/systemd/README.md#install", "deploy/container/README.md#metax",
		"deploy/container/README.md#ascend", "docs/accelbench.md#run", "docs/accelbench.md#commands-you-have", "docs/accelbench.md#compare",
	} {
		if !slices.Contains(parts, needed) {
			t.Errorf("README.zh-CN.md has no part <!-- %s -->", needed)
		}
	}
	english := englishText(t)
	for _, line := range codeLines(chinese, "sh") {
		if !strings.Contains(english, line) {
			t.Errorf("no English document has this command:\n%s", line)
		}
	}
}

// TestChineseNames fails when README.zh-CN.md names a flag that no English document
// has, or a metric that no program exports.
func TestChineseNames(t *testing.T) {
	chinese := read(t, chineseReadme)
	known := flagName.FindAllString(strings.ReplaceAll(englishText(t), "[no-]", ""), -1)
	for _, name := range flagName.FindAllString(strings.ReplaceAll(chinese, "[no-]", ""), -1) {
		if !slices.Contains(known, name) {
			t.Errorf("no English document has the flag %s", name)
		}
	}
	metrics := slices.Collect(maps.Keys(newReference(t).families))
	for _, name := range metricName.FindAllString(chinese, -1) {
		stem := strings.TrimRight(name, "*…")
		exported := func(metric string) bool {
			return metric == stem || stem != name && strings.HasPrefix(metric, stem) ||
				slices.Contains([]string{metric + "_sum", metric + "_count", metric + "_bucket"}, stem)
		}
		if name != "accelerator_exporter" && !slices.ContainsFunc(metrics, exported) {
			t.Errorf("no program exports %s", name)
		}
	}
}

// TestChineseAlerts fails when the tables of README.zh-CN.md lack an alert, or tell
// another severity or other thresholds than the rules.
func TestChineseAlerts(t *testing.T) {
	got := map[string]entry{}
	for _, m := range alertRow.FindAllStringSubmatch(read(t, chineseReadme), -1) {
		if _, twice := got[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		got[m[1]] = entryOf(m[2], m[3])
	}
	if diff := cmp.Diff(entries(t), got); diff != "" {
		t.Errorf("rules - README.zh-CN.md +\n%s", diff)
	}
}

// TestChineseReasons fails when a table of failure reasons lacks one or has another.
func TestChineseReasons(t *testing.T) {
	var probe []string
	for _, r := range openai.Reasons() {
		probe = append(probe, string(r))
	}
	collector := codeSpan.FindAllString(newReference(t).values(t, "accelerator_collector_failures_total", "reason"), -1)
	for i := range collector {
		collector[i] = strings.Trim(collector[i], "`")
	}
	chinese := read(t, chineseReadme)
	for head, want := range map[string][]string{
		"accelerator_collector_failures_total{collector, reason}": collector,
		"accelerator_probe_failures_total{target, model, reason}": probe,
	} {
		_, below, ok := strings.Cut(chinese, head)
		if !ok {
			t.Errorf("README.zh-CN.md has no table of %s", head)
			continue
		}
		var got []string
		for _, m := range reasonRow.FindAllStringSubmatch(upToHeading(below), -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Errorf("reasons of %s - README.zh-CN.md +\n%s", head, diff)
		}
	}
}

// englishText is that of all English documents, and of the files of examples that
// they name.
func englishText(t *testing.T) string {
	t.Helper()
	paths := append(documents(t), root+"/docs/probes.example.yml",
		root+"/deploy/systemd/accelerator_exporter.default", root+"/deploy/systemd/root.conf")
	var b strings.Builder
	for _, path := range paths {
		if path != chineseReadme {
			b.WriteString(read(t, path))
		}
	}
	return b.String()
}

// codeLines lists the lines of the code blocks of a language, or of all that have
// one, without comments. Blocks without a language show output.
func codeLines(markdown, language string) []string {
	var lines []string
	for _, m := range taggedFence.FindAllStringSubmatch(markdown, -1) {
		if language != "" && m[1] != language {
			continue
		}
		for _, line := range strings.Split(m[2], "\n") {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// ownText is what stands below a heading, up to the next of any level.
func ownText(markdown, name string) (string, bool) {
	for _, at := range headingsAt(markdown) {
		if anchor(strings.TrimLeft(markdown[at[0]:at[1]], "# ")) == name {
			return upToHeading(markdown[at[1]:]), true
		}
	}
	return "", false
}

func upToHeading(markdown string) string {
	if found := headingsAt(markdown); len(found) > 0 {
		return markdown[:found[0][0]]
	}
	return markdown
}

// headingsAt are the places of the headings: lines of code that look like one are none.
func headingsAt(markdown string) [][]int {
	blocks := fence.FindAllStringIndex(markdown, -1)
	return slices.DeleteFunc(headingLine.FindAllStringIndex(markdown, -1), func(at []int) bool {
		return slices.ContainsFunc(blocks, func(block []int) bool { return block[0] <= at[0] && at[0] < block[1] })
	})
}
