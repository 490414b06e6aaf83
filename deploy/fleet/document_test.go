package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const document = "../../docs/scaling.md"

// row is a line of the document's table of series: names, and how many there are
// on a host of each vendor.
type row struct {
	name   string
	metric *regexp.Regexp
	series map[string]int
}

// cellsOf returns the rows of the document's table whose first header is this.
func cellsOf(t *testing.T, header string) [][]string {
	t.Helper()
	text := programtest.Read(t, document)
	var rows [][]string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case cells[0] == header:
			inside = true
		case inside && !strings.HasPrefix(cells[0], "-"):
			rows = append(rows, cells)
		}
	}
	if len(rows) < 5 {
		t.Fatalf("%d rows in the table %q of %s", len(rows), header, document)
	}
	return rows
}

// figures reads the table of series.
func figures(t *testing.T) []row {
	t.Helper()
	var rows []row
	for _, cells := range cellsOf(t, "group") {
		rows = append(rows, row{
			name:   cells[0],
			metric: names(cells[1]),
			series: map[string]int{"metax": number(t, cells[3]), "ascend": number(t, cells[4])},
		})
	}
	return rows
}

// names turns "`a`, `b_*`" into a pattern.
func names(cell string) *regexp.Regexp {
	var patterns []string
	for _, name := range strings.Split(cell, ",") {
		name = regexp.QuoteMeta(strings.Trim(strings.TrimSpace(name), "`"))
		patterns = append(patterns, strings.ReplaceAll(name, `\*`, ".*"))
	}
	return regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
}

func number(t *testing.T, cell string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Trim(cell, "*"))
	if err != nil {
		t.Fatalf("a cell of the table in %s: %v", document, err)
	}
	return n
}

// checkFigures counts the real exposition in the document's groups: the first row
// that fits a name counts it, and the last row counts all.
func checkFigures(t *testing.T, vendor string, families []*dto.MetricFamily) {
	rows := figures(t)
	groups, all := rows[:len(rows)-1], rows[len(rows)-1]
	counted := make([]int, len(groups))
	for _, family := range families {
		n := count([]*dto.MetricFamily{family})
		place := -1
		for i, group := range groups {
			if group.metric.MatchString(family.GetName()) {
				place = i
				break
			}
		}
		if place < 0 {
			t.Errorf("%s is in no group of the table", family.GetName())
			continue
		}
		counted[place] += n
	}
	for i, group := range groups {
		if counted[i] != group.series[vendor] {
			t.Errorf("%s: %d series on a %s host, the document says %d", group.name, counted[i], vendor, group.series[vendor])
		}
	}
	if got := count(families); got != all.series[vendor] {
		t.Errorf("%d series on a %s host, the document says %d", got, vendor, all.series[vendor])
	}
}

// TestNeeds wants what the document calls unneeded to be in no rule and in no
// dashboard but those it names: following it must not break them.
func TestNeeds(t *testing.T) {
	dashboards := map[string]string{
		"load-latency.json": "Load and latency", "fleet.json": "Fleet", "card.json": "Card", "numa.json": "NUMA", "benchmark.json": "Benchmark",
	}
	rules := ""
	files, err := filepath.Glob("../prometheus/rules/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("no rules", err)
	}
	for _, file := range files {
		rules += programtest.Read(t, file)
	}
	for _, cells := range cellsOf(t, "what may go") {
		for _, quoted := range strings.Split(cells[0], ",") {
			name := strings.ReplaceAll(regexp.QuoteMeta(strings.Trim(strings.TrimSpace(quoted), "`")), `\*`, `\w*`)
			used := regexp.MustCompile(`\b` + name + `\b`)
			for file, title := range dashboards {
				if used.MatchString(programtest.Read(t, filepath.Join("../../dashboards/grafana", file))) && !strings.Contains(cells[1], title) {
					t.Errorf("the dashboard %s asks for %s, and the document does not say so", title, quoted)
				}
			}
			if cells[2] == "none" && used.MatchString(rules) {
				t.Errorf("a rule asks for %s, and the document says that none does", quoted)
			}
		}
	}
}
