package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/dashboards"
)

// What is imported is the JSON, so that the tests read it and know nothing of the builders.
type (
	board struct {
		file string

		UID           string
		Title         string
		Description   string
		Tags          []string
		SchemaVersion int
		GraphTooltip  int
		Refresh       string
		Editable      bool
		Time          struct{ From, To string }
		Links         []link
		Templating    struct{ List []variable }
		Panels        []panel
	}
	link struct {
		Title, Type, URL      string
		Tags                  []string
		KeepTime, IncludeVars bool
		Placement             *string
	}
	variable struct {
		Name, Type, Label, AllValue string
		Datasource                  source
		Query                       any
		Refresh                     int
		IncludeAll, Multi           bool
		Options                     []struct{ Value string }
		Current                     struct{ Value any }
	}
	source struct{ Type, UID string }
	panel  struct {
		ID              int
		Type            string
		Title           string
		Description     string
		PluginVersion   string
		GridPos         struct{ X, Y, W, H int }
		Datasource      source
		Targets         []target
		FieldConfig     fieldConfig
		Transformations []transformation
		Options         map[string]any
		Panels          []panel
	}
	target struct {
		RefID, Expr, Format, LegendFormat string
		Datasource                        source
		Instant, Range                    bool
	}
	fieldConfig struct {
		Defaults  field
		Overrides []override
	}
	field struct {
		Unit       string
		Mappings   []any
		Links      []link
		Custom     map[string]any
		Thresholds colorSteps
	}
	colorSteps struct {
		Steps []struct {
			Color string
			Value float64
		}
	}
	override struct {
		Matcher    struct{ ID, Options string }
		Properties []struct {
			ID    string
			Value any
		}
	}
	transformation struct {
		ID      string
		Options struct {
			Include      struct{ Names []string }
			RenameByName map[string]string
		}
	}
)

const folder = "grafana"

var uids = map[string]string{
	"load-latency.json": "accelerator-load-latency",
	"fleet.json":        "accelerator-fleet",
	"card.json":         "accelerator-card",
	"numa.json":         "accelerator-numa",
	"benchmark.json":    "accelerator-benchmark",
}

func TestCommittedIsGenerated(t *testing.T) {
	all, err := dashboards.All()
	if err != nil {
		t.Fatal(err)
	}
	var generated []string
	for _, d := range all {
		generated = append(generated, d.File)
		committed, err := os.ReadFile(filepath.Join(folder, d.File))
		if err != nil {
			t.Errorf("%v: run make dashboards and commit what it writes", err)
			continue
		}
		if diff := cmp.Diff(string(committed), string(d.JSON)); diff != "" {
			t.Errorf("%s is not what the code generates: run make dashboards and commit what it writes (-committed +generated):\n%s", d.File, diff)
		}
	}
	if diff := cmp.Diff(committedFiles(t), slices.Sorted(slices.Values(generated))); diff != "" {
		t.Errorf("files in %s (-committed +generated):\n%s", folder, diff)
	}
}

func committedFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

// eachBoard runs a test for each committed dashboard.
func eachBoard(t *testing.T, test func(t *testing.T, b board)) {
	t.Helper()
	for _, b := range boards(t) {
		t.Run(b.file, func(t *testing.T) { test(t, b) })
	}
}

func boards(t *testing.T) []board {
	t.Helper()
	var all []board
	for _, file := range committedFiles(t) {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		b := board{file: file}
		if err := json.Unmarshal(data, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, b)
	}
	if len(all) != len(uids) {
		t.Fatalf("%d dashboards, want %d", len(all), len(uids))
	}
	return all
}

func TestDashboard(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		if b.UID != uids[b.file] {
			t.Errorf("uid %q, want %q: users' links hold it", b.UID, uids[b.file])
		}
		if b.Title == "" || b.Description == "" {
			t.Error("no title or no description")
		}
		if !slices.Contains(b.Tags, "accelerator") {
			t.Errorf("tags %q: without accelerator the other dashboards do not link here", b.Tags)
		}
		if b.SchemaVersion != 37 {
			t.Errorf("schema version %d: 37 is Grafana 9.3's, from which newer ones convert", b.SchemaVersion)
		}
		if b.GraphTooltip != 1 {
			t.Errorf("graphTooltip %d, want the shared crosshair", b.GraphTooltip)
		}
		if b.Refresh == "" || !strings.HasPrefix(b.Time.From, "now-") || b.Time.To != "now" || !b.Editable {
			t.Errorf("refresh %q, time %+v, editable %t", b.Refresh, b.Time, b.Editable)
		}
		if len(b.Panels) < 4 {
			t.Errorf("only %d panels", len(b.Panels))
		}
		if len(b.Links) != 1 || b.Links[0].Type != "dashboards" || !slices.Equal(b.Links[0].Tags, []string{"accelerator"}) ||
			!b.Links[0].KeepTime || !b.Links[0].IncludeVars || b.Links[0].Placement != nil {
			t.Errorf("links %+v, want one to all dashboards of the tag that keeps time range and variables", b.Links)
		}
	})
}

// TestNeedsNoEditing is about what Grafana's own export adds, and what would tie a dashboard to one installation.
func TestNeedsNoEditing(t *testing.T) {
	for _, file := range committedFiles(t) {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		var top map[string]any
		if err := json.Unmarshal(data, &top); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"id", "__inputs", "__requires", "__elements"} {
			if _, ok := top[key]; ok {
				t.Errorf("%s has %q", file, key)
			}
		}
	}
}

func TestGrid(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		ids := map[int]string{}
		taken := map[[2]int]string{}
		for i, p := range b.Panels {
			name := fmt.Sprintf("%s %q", p.Type, p.Title)
			if other, ok := ids[p.ID]; ok || p.ID == 0 {
				t.Errorf("%s has id %d, as has %s", name, p.ID, other)
			}
			ids[p.ID] = name
			at := p.GridPos
			if at.W <= 0 || at.H <= 0 || at.X < 0 || at.X+at.W > 24 {
				t.Errorf("%s is outside the 24 columns: %+v", name, at)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok {
						t.Fatalf("%s and %s overlap at column %d, line %d", name, other, x, y)
					}
					taken[[2]int{x, y}] = name
				}
			}
			if p.Type == "row" && (len(p.Panels) > 0 || i+1 == len(b.Panels) || b.Panels[i+1].Type == "row") {
				t.Errorf("%s is folded or empty", name)
			}
		}
		if b.Panels[0].Type != "row" {
			t.Error("the first panel is in no row")
		}
	})
}
