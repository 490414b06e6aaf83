package show_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/resulttest"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// What evalscope-perf searches its program's output for, and what it finds.
func TestEvalscopePerfFindsItsFigures(t *testing.T) {
	s := closed()
	text := rendered(t, renderings(&result.Report{Steps: []result.Step{s, open(), nothing()}})["evalscope-closed.txt"])
	for pattern, want := range map[string]string{
		`Average QPS:\s+([\d.]+)`:                                    "1.487",
		`Average latency:\s+([\d.]+)`:                                "8.460",
		`Throughput\(average output tokens per second\):\s+([\d.]+)`: "297.489",
		`Failed requests:\s+([\d.]+)`:                                "62",
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
		if len(found) != 1 || found[0][1] != want {
			t.Errorf("%s found %q, want %s once", pattern, found, want)
		}
	}
}

// Percentiles that the report was not made with are left out, and so is the
// head above none.
func TestEvalscopeLeavesOutWhatIsNotThere(t *testing.T) {
	s := closed()
	resulttest.Change(&s.Whole, result.TTFT, func(d *result.Distribution) {
		d.Percentiles = []result.Percentile{{P: 50, Value: 1}, {P: 99, Value: 2}}
	})
	resulttest.Change(&s.Whole, result.E2E, func(d *result.Distribution) { d.Percentiles = nil })
	var b strings.Builder
	if err := show.Evalscope(&b, &s); err != nil {
		t.Fatal(err)
	}
	_, tail, _ := strings.Cut(b.String(), "Average package latency: 0.041\n")
	want := " Percentile of time to first token: \n     p50: 1.0000\n     p99: 2.0000\n\n"
	if !strings.HasPrefix(tail, want+"📌") {
		t.Errorf("after the averages:\n%s", tail)
	}
}

// A server that does not stream sends one package, whose latency is the wait
// for it.
func TestEvalscopeWithoutStreaming(t *testing.T) {
	s := closed()
	delete(s.Whole.Distributions, result.ITL)
	var b strings.Builder
	if err := show.Evalscope(&b, &s); err != nil {
		t.Fatal(err)
	}
	if want := " Average package per request: 1.000\n Average package latency: 0.500\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// Scripts cut the block at its colons, or at column 41.
func TestVLLMBlockIsInColumns(t *testing.T) {
	for name, render := range renderings(sweep()) {
		if !strings.HasPrefix(name, "vllm-") {
			continue
		}
		for line := range strings.Lines(rendered(t, render)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "=") || strings.HasPrefix(line, "-") {
				if len(line) != 50 {
					t.Errorf("%s: a rule of %d columns: %q", name, len(line), line)
				}
				continue
			}
			label, value := line[:41], line[41:]
			if !strings.HasSuffix(strings.TrimRight(label, " "), ":") || len(value) < 10 {
				t.Errorf("%s: no label of 40 columns and value of 10: %q", name, line)
			}
		}
	}
}

// keysOf reads the keys of an object in the order in which they stand.
func keysOf(t *testing.T, text string) (keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func TestVLLMResultHasItsKeys(t *testing.T) {
	statistics := func(name string) []string {
		return []string{"mean_" + name + "_ms", "median_" + name + "_ms", "std_" + name + "_ms", "p99_" + name + "_ms"}
	}
	want := slices.Concat(
		strings.Fields("date endpoint_type backend label model_id tokenizer_id num_prompts card tp"),
		strings.Fields("request_rate burstiness max_concurrency"),
		strings.Fields("duration completed failed total_input_tokens total_output_tokens request_throughput"),
		strings.Fields("request_goodput output_throughput total_token_throughput"),
		strings.Fields("max_output_tokens_per_s max_concurrent_requests rtfx"),
		statistics("ttft"), statistics("tpot"), statistics("itl"), []string{"x"})
	text := rendered(t, renderings(sweep())["result-closed.json"])
	if diff := cmp.Diff(want, keysOf(t, text)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	var got struct {
		Rate        any     `json:"request_rate"`
		Goodput     any     `json:"request_goodput"`
		Concurrency int     `json:"max_concurrency"`
		P99         float64 `json:"p99_ttft_ms"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rate != "inf" || got.Goodput != nil || got.Concurrency != 128 || math.Abs(got.P99-720) > 1e-9 {
		t.Errorf("read %+v", got)
	}
}

// A user's metadata must not change a figure.
func TestMetadataCannotReplaceAKey(t *testing.T) {
	for name, render := range renderings(hostile()) {
		if !strings.HasPrefix(name, "result-") {
			continue
		}
		text := rendered(t, render)
		keys := keysOf(t, text)
		slices.Sort(keys)
		if n := len(keys); len(slices.Compact(keys)) != n {
			t.Errorf("%s: a key stands twice: %q", name, keys)
		}
		var got struct {
			Completed int
			X         struct{ Metadata map[string]string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Completed == 999999 || got.X.Metadata["completed"] != "999999" {
			t.Errorf("%s: completed %d, metadata %q", name, got.Completed, got.X.Metadata)
		}
	}
}

var pageNames = regexp.MustCompile(`^(checks|table|summary)`)

// What came from outside must not move a cursor, turn the writing round, or
// make a line too long for the page.
func TestHostileTextStaysOnThePage(t *testing.T) {
	for _, r := range []*result.Report{sweep(), hostile()} {
		for name, render := range renderings(r) {
			if strings.HasSuffix(name, ".json") {
				continue
			}
			for line := range strings.Lines(rendered(t, render)) {
				line = strings.TrimRight(line, "\r\n")
				if bad := strings.IndexFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }); bad >= 0 {
					t.Errorf("%s: %q in %q", name, line[bad:], line)
				}
				wide := len([]rune(line)) + strings.Count(line, "模") + strings.Count(line, "型")
				if pageNames.MatchString(name) && wide > 100 {
					t.Errorf("%s: %d columns: %s", name, wide, line)
				}
			}
		}
	}
}

// The table keeps its columns and the blocks of code their ends.
func TestHostileTextKeepsMarkdown(t *testing.T) {
	cell := regexp.MustCompile(`(?:[^\\]|^)\|`)
	fence, rows := "", 0
	for line := range strings.Lines(rendered(t, renderings(hostile())["report.md"])) {
		line = strings.TrimSuffix(line, "\n")
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if len(ticks) >= len(fence) {
				if line != fence {
					t.Errorf("a block of code is ended by %q", line)
				}
				fence = ""
			}
		case len(ticks) >= 3:
			fence = ticks
		case strings.HasPrefix(line, "|"):
			rows++
			if n := len(cell.FindAllString(line, -1)); n != 5 {
				t.Errorf("%d cells: %s", n-1, line)
			}
		case strings.Contains(line, "<b>") && !strings.Contains(line, "`"):
			t.Errorf("a tag: %s", line)
		case strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "# Load test"):
			t.Errorf("a heading: %s", line)
		}
	}
	if fence != "" || rows < 10 {
		t.Errorf("ended in a block %q after %d rows", fence, rows)
	}
}

func TestCSVIsReadBack(t *testing.T) {
	for _, r := range []*result.Report{sweep(), hostile()} {
		text := rendered(t, renderings(r)["report.csv"])
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll() // refuses rows of unequal length
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 4 {
			t.Fatalf("%d rows for 3 steps", len(rows)-1)
		}
		names := slices.Clone(rows[0])
		slices.Sort(names)
		if len(slices.Compact(names)) != len(rows[0]) {
			t.Errorf("a name stands twice in %q", rows[0])
		}
		for _, row := range rows[1:] {
			for i, v := range row {
				if v != "" && strings.ContainsAny(v[:1], "=+@") {
					t.Errorf("%s would be a formula: %q", rows[0][i], v)
				}
			}
		}
		cell := func(step int, name string) string { return rows[step+1][slices.Index(rows[0], name)] }
		got := []string{cell(0, "failed"), cell(0, "ttft_p99.9_ms"), cell(2, "ttft_p50_ms"), cell(2, "steady_duration_s")}
		if diff := cmp.Diff([]string{fmt.Sprint(r.Steps[0].Account.Failures()), "724.5", "", ""}, got); diff != "" {
			t.Errorf("cells (-want +got):\n%s", diff)
		}
	}
}

// A spreadsheet must not run what a server calls its model: none of these begins a cell,
// nor does what a spreadsheet strips before it.
func TestNoFormulaInCSV(t *testing.T) {
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		for _, before := range []string{"", " ", "\t", "\r", "\n", "\u200b", "\ufeff", "\u3000", "\u00a0"} {
			r := sweep()
			r.Runs[0].Model = before + sign + "1+1"
			rows, err := csv.NewReader(strings.NewReader(rendered(t, renderings(r)["report.csv"]))).ReadAll()
			if err != nil || rows[1][0] != "'"+sign+"1+1" {
				t.Errorf("model %q: %q, %v", r.Runs[0].Model, rows[1][0], err)
			}
		}
	}
	r := sweep()
	r.Runs[0].Model = "模型＝1"
	if rows, _ := csv.NewReader(strings.NewReader(rendered(t, renderings(r)["report.csv"]))).ReadAll(); rows[1][0] != "模型＝1" {
		t.Errorf("a name without a formula: %q", rows[1][0])
	}
}

// Figures that are no numbers are a fault of ours; they must not make a file
// that nothing can read.
func TestNoInfinityIsWritten(t *testing.T) {
	r := sweep()
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, v := range []*float64{
			&s.Rate, &s.Burstiness, &s.Whole.RequestThroughput, &s.Whole.OutputThroughput,
			&s.Whole.PeakOutputThroughput, &s.Checks.Achieved, &s.Checks.AchievedWhole, &s.Checks.AchievedRate,
		} {
			*v = math.Inf(1)
		}
		for _, key := range []result.Key{result.TTFT, result.E2E} {
			resulttest.Change(&s.Whole, key, func(d *result.Distribution) { d.Mean = math.Inf(1) })
		}
		resulttest.Change(&s.Whole, result.ITL, func(d *result.Distribution) {
			*d = result.Distribution{Count: 1, Mean: math.NaN(), Percentiles: []result.Percentile{{P: 50, Value: math.NaN()}}}
		})
		s.Joules, s.Whole.Goodput = ptr(math.NaN()), ptr(math.Inf(-1))
		s.Server = &result.ServerSample{Preemptions: ptr(math.Inf(1)), Running: result.Gauge{Samples: 1, Mean: math.NaN()}}
	}
	for name, render := range renderings(r) {
		text := rendered(t, render)
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is not JSON", name)
		}
		if found := regexp.MustCompile(`(?i)\bNaN|[-+ :,/]Inf\b`).FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

func TestFileNames(t *testing.T) {
	eight := result.Step{Step: runlog.Step{Concurrency: 8}}
	for _, tt := range []struct {
		model, dataset string
		want           string
	}{
		{"qwen2.5", "./datasets/open_qa.jsonl", "qwen2.5_open_qa_p8.txt"},
		{"/data/models/Qwen2.5-72B", "random", "data_models_Qwen2.5-72B_random_p8.txt"},
		{"../../etc/passwd", `..\..\x.json`, "etc_passwd_x_p8.txt"},
		{"..", ".hidden", "model_dataset_p8.txt"},
		{"--rm -rf $(x)", "a b", "rm_-rf___x_a_b_p8.txt"},
		{"模型", "数据.jsonl", "模型_数据_p8.txt"},
		{strings.Repeat("模", 200), "d", strings.Repeat("模", 26) + "_d_p8.txt"},
		{"a\x00\n\x1b[2J", "d", "a____2J_d_p8.txt"},
	} {
		if got := show.EvalscopeFileName(tt.model, tt.dataset, &eight); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.model, tt.dataset, got, tt.want)
		}
	}
	again := closed()
	again.Repeat = 1
	if got := show.EvalscopeFileName("m", "d", &again); got != "m_d_p128_r2.txt" {
		t.Errorf("a repeat is called %s", got)
	}
	when := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		run  runlog.Run
		step result.Step
		want string
	}{
		{runlog.Run{Model: "org/Qwen2.5", Backend: "vllm"}, closed(), "vllm-infqps-concurrency128-Qwen2.5-20260304-050607.json"},
		{runlog.Run{Model: "m", Backend: "../numa 0"}, open(), "numa_0-4.0qps-concurrency100-m-20260304-050607.json"},
		{runlog.Run{Model: "x/..", API: "completions"}, nothing(), "openai-infqps-model-20260304-050607.json"},
		{runlog.Run{Model: "m", Backend: "vllm"}, again, "vllm-infqps-concurrency128-m-20260304-050607-r2.json"},
	} {
		if got := show.VLLMFileName(&tt.run, &tt.step, when); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestChosenPercentileInEveryTable looks for p99.9 in each form that a user reads.
func TestChosenPercentileInEveryTable(t *testing.T) {
	r := sweep()
	for i := range r.Steps {
		r.Steps[i].Chosen = []float64{99.9}
	}
	r.Chosen = []float64{99.9}
	for name, form := range map[string]struct {
		write func(*strings.Builder) error
		wants []string
	}{
		"table":    {func(b *strings.Builder) error { return show.Table(b, r) }, []string{"p50", "p90", "p99.9"}},
		"Markdown": {func(b *strings.Builder) error { return show.Markdown(b, r) }, []string{"TTFT p90 (ms)", "E2E p99.9 (ms)"}},
		"CSV":      {func(b *strings.Builder) error { return show.CSV(b, r) }, []string{"ttft_p90_ms", "steady_itl_p99.9_ms"}},
		"checks":   {func(b *strings.Builder) error { return show.Checks(b, &r.Steps[0]) }, []string{"TPOT p50 / p90 / p99.9 (ms)"}},
	} {
		var b strings.Builder
		if err := form.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range form.wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s without %s:\n%s", name, want, b.String())
			}
		}
	}
	for _, g := range append(show.DistributionGrids(&r.Steps[0]), show.SweepGrids(r)[1]) {
		if heads := strings.Join(g.Heads[0], " ") + strings.Join(g.Heads[len(g.Heads)-1], " "); !strings.Contains(heads, "p90") || !strings.Contains(heads, "p99.9") {
			t.Errorf("%s has %s", g.Caption, heads)
		}
	}
}
