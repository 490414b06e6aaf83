package result

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// growing is a log on disk that is written piece by piece.
type growing struct {
	t      testing.TB
	folder string
	lines  []string // all that it gets
}

// grow takes the lines of a log and leaves an empty file in their place.
func grow(t testing.TB, l *memlog) *growing {
	t.Helper()
	g := &growing{t: t, folder: write(t, l)}
	text, err := os.ReadFile(g.path())
	if err != nil {
		t.Fatal(err)
	}
	g.lines = slices.Collect(strings.Lines(string(text)))
	g.empty()
	return g
}

func (g *growing) path() string { return filepath.Join(g.folder, runlog.FileName) }

func (g *growing) empty() {
	if err := os.WriteFile(g.path(), nil, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *growing) add(text string) {
	g.t.Helper()
	file, err := os.OpenFile(g.path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		g.t.Fatal(err)
	}
}

// kindOf is the kind of a line's record, such as "step_end".
func kindOf(line string) string { return strings.SplitN(line, `"`, 3)[1] }

func wholeReport() cmp.Option { return cmp.AllowUnexported(capacity.Level{}) }

// sameAsRead holds a Follower's report against that of a whole new reading.
func sameAsRead(t *testing.T, f *Follower, opts Options, when string, folders ...string) {
	t.Helper()
	want, errRead := Read(opts, folders...)
	got, err := f.Report()
	if fmt.Sprint(err) != fmt.Sprint(errRead) {
		t.Fatalf("%s: error %v, reading anew %v", when, err, errRead)
	}
	if diff := cmp.Diff(want, got, wholeReport()); diff != "" {
		t.Fatalf("%s (-read anew +followed):\n%s", when, diff)
	}
}

// sought is a run that searches: levels of so many users, some of them twice, a
// sample in each.
func sought(levels ...int) *memlog {
	log := newMemlog("a")
	log.run.Percentiles = []float64{90}
	log.run.Objectives = &runlog.Objectives{TTFT: 150 * time.Millisecond}
	log.run.Capacity = &runlog.Capacity{
		Variable: runlog.VariableConcurrency, From: 1, To: 8, Precision: 0.05, Repeat: 3,
		Objectives: []runlog.Limit{{Name: "ttft", Percentile: 90, Limit: 0.25}},
	}
	for i, users := range levels {
		s := closed(users, 15*users)
		s.Index, s.Started = i, at(time.Duration(i)*time.Minute)
		requests := closedLoop(users, s.Requests, func(k int, start time.Duration) runlog.Request {
			ttft := time.Duration(100*users+k%7) * time.Millisecond
			return answered(time.Duration(i)*time.Minute+start, 10, 4, ttft, ttft+200*time.Millisecond)
		})
		log.begin(s, requests)
		log.sample(i, time.Duration(i)*time.Minute+time.Second, runlog.SourceServer, runlog.Series{Name: "vllm:num_requests_running", Value: 1})
		log.end(s, requests, runlog.StopRequests)
	}
	return log.over()
}

// disordered is a log of which lines are lost, late, or of no step.
func disordered() *memlog {
	log := newMemlog("a")
	for i := range 4 {
		s := closed(1, 3)
		s.Index = i
		log.begin(s, everySecond(3, time.Second))
		switch i {
		case 1:
			log.over() // too early
		case 2:
			continue // the line that ends it is lost
		}
		log.end(s, everySecond(3, time.Second), runlog.StopRequests)
		afterwards := answered(time.Minute, 10, 4, time.Second)
		afterwards.Step = i
		log.records = append(log.records, runlog.Record{Request: &afterwards})
		if i > 0 {
			late := answered(time.Minute, 10, 4, time.Second)
			late.Step = i - 1
			log.records = append(log.records, runlog.Record{Request: &late})
			log.sample(i-1, time.Minute, runlog.SourceClient)
		}
	}
	return log.over()
}

// TestFollowerIsLikeRead: while a log grows, a Follower tells what reading all of it
// tells, wherever it is asked: between lines, and where half of one is written.
func TestFollowerIsLikeRead(t *testing.T) {
	damaged := func(lines []string) []string {
		lines = slices.Clone(lines)
		for i := range lines {
			if i%9 == 5 {
				lines[i] = lines[i][len(lines[i])/2:]
			}
		}
		return lines
	}
	for name, tt := range map[string]struct {
		log     *memlog
		spoil   func([]string) []string
		anytime bool // it is asked after each line and in the middle of each
		opts    Options
	}{
		"a search, asked after each level": {log: sought(1, 2, 4, 2, 3), opts: Options{AsRun: true}},
		"a search, asked at any time":      {log: sought(1, 2, 1), opts: Options{AsRun: true}, anytime: true},
		"lines out of order":               {log: disordered(), anytime: true},
		"lines that cannot be read":        {log: disordered(), anytime: true, spoil: damaged},
		"no line of it is whole": {log: disordered(), anytime: true, spoil: func(lines []string) []string {
			return append(lines[:1:1], "{", "\n", "}\n")
		}},
		"a step twice": {log: newMemlog("a").step(closed(1, 1), nil, false).step(closed(1, 1), nil, false), anytime: true},
	} {
		t.Run(name, func(t *testing.T) {
			log := grow(t, tt.log)
			lines := log.lines
			if tt.spoil != nil {
				lines = tt.spoil(lines)
			}
			log.add(lines[0])
			f, err := Follow(tt.opts, log.folder)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range lines[1:] {
				half := len(line) / 2
				log.add(line[:half])
				if tt.anytime {
					sameAsRead(t, f, tt.opts, fmt.Sprintf("in the middle of line %d", i+2), log.folder)
				}
				log.add(line[half:])
				if tt.anytime || kindOf(line) == "step_end" || kindOf(line) == "run_end" {
					sameAsRead(t, f, tt.opts, fmt.Sprintf("after line %d", i+2), log.folder)
				}
			}
		})
	}
}

// TestFollowerOfTwoMachines, one of which is behind the other and ends after fewer
// steps; the other's clock is set back after its first.
func TestFollowerOfTwoMachines(t *testing.T) {
	a, b := sought(1, 2, 4), sought(1, 2)
	for _, rec := range a.records {
		switch {
		case rec.Step != nil && rec.Step.Index > 0:
			rec.Step.Started = rec.Step.Started.Add(-time.Hour)
		case rec.Request != nil && rec.Request.Step > 0:
			rec.Request.Trace.Started = rec.Request.Trace.Started.Add(-time.Hour)
		}
	}
	b.run.ID, b.run.Host, b.run.Started = "id of b", "b", at(time.Second)
	first, second := grow(t, a), grow(t, b)
	first.add(strings.Join(first.lines[:4], ""))
	second.add(strings.Join(second.lines[:4], ""))
	f, err := Follow(Options{}, second.folder, first.folder)
	if err != nil {
		t.Fatal(err)
	}
	rest := second.lines[4:]
	for i, line := range first.lines[4:] {
		first.add(line)
		if i%2 == 0 && len(rest) > 0 {
			second.add(rest[0])
			rest = rest[1:]
		}
		sameAsRead(t, f, Options{}, fmt.Sprintf("after line %d", i+5), second.folder, first.folder)
	}
}

// TestFollowerReadsOn: what is before the last step is not read again.
func TestFollowerReadsOn(t *testing.T) {
	log := grow(t, sought(1, 2, 4))
	text := strings.Join(log.lines, "")
	log.add(text)
	f, err := Follow(Options{}, log.folder)
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	begins := strings.LastIndex(text, "\n"+`{"step":`) + 1
	head := len(log.lines[0])
	unread := text[:head] + string(bytes.Repeat([]byte("x"), begins-head)) + text[begins:]
	if err := os.WriteFile(log.path(), []byte(unread), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, wholeReport()); diff != "" {
		t.Errorf("report (-before +after):\n%s", diff)
	}
}

// TestFollowerOfACutLog holds that a log of which lines are gone is no log that grew, and
// that nothing is lost by asking too early.
func TestFollowerOfACutLog(t *testing.T) {
	log := grow(t, sought(1, 2))
	text := strings.Join(log.lines, "")
	log.add(text)
	f, err := Follow(Options{}, log.folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Report(); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []string{text[:len(text)/4], log.lines[0] + text[len(log.lines[0])+1:]} {
		log.empty()
		log.add(cut)
		if _, err := f.Report(); !errors.Is(err, errChanged) {
			t.Errorf("error %v, want %v", err, errChanged)
		}
	}
	log.empty()
	log.add(text)
	sameAsRead(t, f, Options{}, "when it is whole again", log.folder)
}

// BenchmarkSearch asks for the report after each step of a log that grows: followed, a
// request costs the same however many steps there are.
func BenchmarkSearch(b *testing.B) {
	for _, levels := range []int{4, 8, 16, 32} {
		log := grow(b, sought(slices.Repeat([]int{8}, levels)...))
		requests := 0
		for _, line := range log.lines {
			if kindOf(line) == "request" {
				requests++
			}
		}
		for name, reports := range map[string]func() func() (*Report, error){
			"read": func() func() (*Report, error) {
				return func() (*Report, error) { return Read(Options{}, log.folder) }
			},
			"followed": func() func() (*Report, error) {
				f, err := Follow(Options{}, log.folder)
				if err != nil {
					b.Fatal(err)
				}
				return f.Report
			},
		} {
			b.Run(fmt.Sprintf("%s/steps=%d", name, levels), func(b *testing.B) {
				for b.Loop() {
					log.empty()
					report, from := reports(), 0
					for i, line := range log.lines {
						if kindOf(line) != "step_end" {
							continue
						}
						log.add(strings.Join(log.lines[from:i+1], ""))
						from = i + 1
						if _, err := report(); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/request")
			})
		}
	}
}
