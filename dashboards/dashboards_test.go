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
		Annotations   struct{ List []any }
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
		Hide                        int
		Regex                       string
		Options                     []struct{ Text, Value string }
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
		Collapsed       bool
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
		NoValue    string
		Min, Max   *float64
		Mappings   []mapping
		Links      []link
		Custom     map[string]any
		Thresholds colorSteps
		Color      struct{ Mode string }
	}
	mapping struct {
		Type    string
		Options struct {
			Match  string
			Result struct{ Text, Color string }
		}
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

// all are the panels, those of folded rows too.
func (b board) all() []panel {
	var all []panel
	for _, p := range b.Panels {
		if p.Type == "row" {
			all = append(all, p.Panels...)
			continue
		}
		all = append(all, p)
	}
	return all
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
		for _, key := range []string{"\n  \"id\"", "__inputs", "__requires", "__elements"} { // Grafana's own export adds them
			if strings.Contains(string(data), key) {
				t.Errorf("%s is tied to one installation by %s", file, key)
			}
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
		// A run of the benchmark is a sixth of an hour.
		if want := map[bool]string{true: "now-15m", false: "now-1h"}[b.file == "benchmark.json"]; b.Time.From != want {
			t.Errorf("opens with %s, want %s", b.Time.From, want)
		}
	})
}

// TestOneAtATime: the variables of one value are chosen among what a link from another dashboard brings.
func TestOneAtATime(t *testing.T) {
	for file, among := range map[string]map[string]string{
		"card.json": {"host": "instance", "maker": "vendor"},
		"numa.json": {"host": "instance"},
	} {
		for _, b := range boards(t) {
			if b.file != file {
				continue
			}
			for _, v := range b.Templating.List {
				if scope, ok := among[v.Name]; ok && (v.Multi || v.IncludeAll || !strings.Contains(queryOf(v), `=~"$`+scope+`"`)) {
					t.Errorf("%s %s is not one of what %s holds: %s", file, v.Name, scope, queryOf(v))
				}
				if slices.Contains([]string{"instance", "vendor"}, v.Name) && (v.Hide != 2 || !v.IncludeAll) {
					t.Errorf("%s %s is to be hidden and to know all", file, v.Name)
				}
			}
		}
	}
}

// TestAlertsOverTime: what fired and what was under load is a timeline with names, and no annotation, which snaps to its step.
func TestAlertsOverTime(t *testing.T) {
	for _, b := range boards(t) {
		if len(b.Annotations.List) > 0 {
			t.Errorf("%s has annotations", b.file)
		}
		first, second := b.Panels[0].GridPos, b.Panels[1]
		if b.file == "load-latency.json" && (second.Type != "state-timeline" || second.GridPos.Y != first.Y+first.H || second.GridPos.H > 5 || !strings.Contains(second.Targets[2].Expr, "accelerator_bench_phase")) {
			t.Errorf("under the first panel is %+v", second)
		}
		if shown := strings.Contains(fmt.Sprint(b.all()), "{{alertname}}"); shown != slices.Contains([]string{"load-latency.json", "fleet.json", "card.json"}, b.file) {
			t.Errorf("%s shows alerts over time: %t", b.file, shown)
		}
	}
}

// TestGrid: panels have ids of their own and a place within the 24 columns, which no other has; those of a folded row are in it.
func TestGrid(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		ids := map[int]string{}
		taken := map[[2]int]string{}
		place := func(p panel) {
			if other, ok := ids[p.ID]; ok || p.ID == 0 {
				t.Errorf("%q has id %d, as has %q", p.Title, p.ID, other)
			}
			ids[p.ID] = p.Title
			at := p.GridPos
			if at.W <= 0 || at.H <= 0 || at.X < 0 || at.X+at.W > 24 {
				t.Errorf("%q is outside the 24 columns: %+v", p.Title, at)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok {
						t.Fatalf("%q and %q overlap at column %d, line %d", p.Title, other, x, y)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
		for _, p := range b.Panels {
			place(p)
			if p.Collapsed != (len(p.Panels) > 0) {
				t.Errorf("%q: collapsed %t with %d panels in it", p.Title, p.Collapsed, len(p.Panels))
			}
			for _, inner := range p.Panels {
				place(inner)
			}
		}
	})
}
