package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

var update = flag.Bool("update", false, "write the golden files anew")

func compared(t *testing.T, sides []Side) *Comparison {
	t.Helper()
	c, err := Compare(sides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t *testing.T, c *Comparison, level, side, metric string) Row {
	t.Helper()
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			for _, r := range p.Rows {
				if l.Name == level && p.Side == side && r.Metric == metric {
					return r
				}
			}
		}
	}
	t.Fatalf("no %s of %s at %s", metric, side, level)
	return Row{}
}

// The golden files are what a user reads: look at their difference as one would.
func TestGolden(t *testing.T) {
	fixtures := map[string][]Side{
		"numa": numaTable(), "interleaved": interleaved(), "bindings": bindings(1, 5, 0.02, 1.2),
		"not-started": notStarted(bindings(1, 5, 0.02, 1.2), 2, 0),
	}
	for name, sides := range fixtures {
		c := compared(t, sides)
		for ext, write := range map[string]func(io.Writer) error{"txt": c.Text, "md": c.Markdown, "json": c.JSON} {
			t.Run(name+"."+ext, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got); err != nil {
					t.Fatal(err)
				}
				golden := filepath.Join("testdata", name+".golden."+ext)
				if *update {
					if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got.String()); diff != "" {
					t.Errorf("differs from %s (-update writes it anew):\n%s", golden, diff)
				}
			})
		}
	}
}

// One run a side ranked the users' bindings once, from 60 to 80 live clients of
// 100. It must rank nothing now, and say both why and what to do.
func TestOneRunASideRanksNothing(t *testing.T) {
	c := compared(t, numaTable())
	if c.Tests != 0 || c.ExpectedFalse != 0 {
		t.Errorf("%d tests of single runs", c.Tests)
	}
	for _, p := range c.Levels[0].Pairs {
		for _, r := range p.Rows {
			if r.Finding != TooFew && r.Finding != Equal {
				t.Errorf("%s of %s: %s", r.Metric, p.Side, r.Text)
			}
		}
		if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "achieved concurrency: side none 74.0, ") {
			t.Errorf("%s: warnings\n%s", p.Side, text)
		}
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "Repeat with --repeat 5") {
		t.Errorf("notes:\n%s", notes)
	}
}

// Five repeats find a binding that is 12 % faster, and no difference where there
// is none.
func TestRepeatsTellADifference(t *testing.T) {
	c := compared(t, interleaved())
	faster := find(t, c, "concurrency 100", "node0", "output_throughput")
	if faster.Finding != Higher || faster.Better == nil || !*faster.Better || *faster.Change < 0.08 || *faster.Change > 0.16 {
		t.Errorf("output throughput at 100: %s", faster.Text)
	}
	if tpot := find(t, c, "concurrency 100", "node0", "tpot_p50"); tpot.Finding != Lower || !*tpot.Better {
		t.Errorf("TPOT at 100: %s", tpot.Text)
	}
	if energy := find(t, c, "concurrency 100", "node0", "joules_per_output_token"); energy.Finding != Lower || !*energy.Better {
		t.Errorf("energy at 100: %s", energy.Text)
	}
	if same := find(t, c, "concurrency 8", "node0", "output_throughput"); same.Finding != NotTold {
		t.Errorf("output throughput at 8: %s", same.Text)
	}
	notes := strings.Join(c.Notes, "\n")
	if !strings.Contains(notes, "concurrency 200: not compared, as it was not run on side none.") {
		t.Errorf("notes:\n%s", notes)
	}
	if strings.Contains(notes, "came before") {
		t.Errorf("sides in turns are said to be in sequence:\n%s", notes)
	}
}

// Repeats are the same sample whether they lie in one log or in several.
func TestRepeatsInOneReport(t *testing.T) {
	many, one := interleaved(), interleaved()
	for i := range one {
		joined := oneReport()
		for repeat, r := range one[i].Reports {
			for _, s := range r.Steps {
				s.Repeat = repeat
				joined.Steps = append(joined.Steps, s)
			}
		}
		one[i].Reports = []*result.Report{joined}
	}
	if diff := cmp.Diff(compared(t, many).Levels, compared(t, one).Levels, cmp.AllowUnexported(Row{})); diff != "" {
		t.Errorf("levels (-in several, +in one):\n%s", diff)
	}
}

// Figures of the steady state are held against each other only when every run was
// steady: a ramp on one side alone would look like a difference.
func TestSteadyOnlyWhenAllAre(t *testing.T) {
	sides := interleaved()
	last := &sides[1].Reports[4].Steps[0]
	last.Steady, last.NotSteady = nil, "too short"
	c := compared(t, sides)
	if c.Levels[0].Part != "whole" || c.Levels[1].Part != "steady" {
		t.Errorf("parts %q and %q, want whole at 8 and steady at 100", c.Levels[0].Part, c.Levels[1].Part)
	}
}

func TestLevelNames(t *testing.T) {
	tests := []struct {
		step runlog.Step
		want string
	}{
		{runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Repeat: 3}, "concurrency 8"},
		{runlog.Step{Arrival: runlog.ArrivalBurst}, "all at once"},
		{runlog.Step{Arrival: runlog.ArrivalBurst, MaxConcurrency: 100}, "all at once, 100 in flight"},
		{runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 4}, "4 req/s, poisson"},
		{runlog.Step{Arrival: runlog.ArrivalGamma, Rate: 0.5, Burstiness: 0.25, MaxConcurrency: 100}, "0.5 req/s, at most 100 in flight, gamma of burstiness 0.25"},
		{runlog.Step{Arrival: runlog.ArrivalReplay}, "replay"},
	}
	for _, tt := range tests {
		if got := levelName(tt.step); got != tt.want {
			t.Errorf("level %q, want %q", got, tt.want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	good := func(name string, n int) Side {
		return Side{Name: name, Reports: []*result.Report{oneReport(users(n))}}
	}
	tests := []struct {
		name  string
		sides []Side
		want  string
	}{
		{"one side", []Side{good("a", 8)}, "two sides or more"},
		{"no name", []Side{good("a", 8), good("", 8)}, "has no name"},
		{"same name", []Side{good("a", 8), good("a", 8)}, `two sides are named "a"`},
		{"nothing run", []Side{good("a", 8), {Name: "b", Reports: []*result.Report{oneReport()}}}, "side b has no steps"},
		{"the first not started", notStarted(bindings(1, 5, 0.01, 1), 0, 0), "side none has no steps: nothing was run"},
		{"the others not started", notStarted([]Side{bindings(1, 5, 0.01, 1)[0], bindings(1, 5, 0.01, 1)[2]}, 1, 0), "two sides or more are needed, and side node1 could not be started: repeat 1: its command ended"},
		{"nothing in common", []Side{good("a", 8), good("b", 16)}, "no side ran a load that the first side ran"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compare(tt.sides); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Compare: %v, want … %s …", err, tt.want)
			}
		})
	}
}

// A folder that was renamed by hand may have any name; it must not break a table.
func TestMarkdownEscapes(t *testing.T) {
	sides := interleaved()
	sides[1].Name = "a|b*<script>"
	var out bytes.Buffer
	if err := compared(t, sides).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "<script>") || strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
			t.Errorf("line %q", line)
		}
	}
}

// A reader of the JSON finds every run's value, and no figure that is none.
func TestJSONHoldsEveryRun(t *testing.T) {
	var out bytes.Buffer
	if err := compared(t, interleaved()).JSON(&out); err != nil {
		t.Fatal(err)
	}
	var read Comparison
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	row := find(t, &read, "concurrency 8", "node0", "ttft_p50")
	if len(row.Base.Values) != 5 || len(row.Side.Values) != 5 || row.P == nil || row.N1 != 5 {
		t.Errorf("row %+v", row)
	}
}

// Sides that ran one after the other differ by all that happened between.
func TestSidesInSequenceAreSaidToBe(t *testing.T) {
	sides := interleaved()
	for _, r := range sides[1].Reports {
		for i := range r.Steps {
			r.Steps[i].Started = r.Steps[i].Started.Add(24 * time.Hour)
		}
	}
	c := compared(t, sides)
	if warnings := strings.Join(c.Warnings, "\n"); !strings.Contains(warnings, "All runs of side none came before all of side node0") {
		t.Errorf("warnings:\n%s", warnings)
	}
	if !c.Levels[0].Pairs[0].Doubtful {
		t.Error("differences are told without doubt")
	}
}
