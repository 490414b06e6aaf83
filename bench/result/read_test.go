package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// write keeps a log on disk and returns its folder.
func write(t testing.TB, l *memlog) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), l.run.Host)
	w, err := runlog.Create(dir, l.run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReportFromDisk holds that nothing a report needs is lost on the way to disk
// and back.
func TestReportFromDisk(t *testing.T) {
	opts := Options{Goodput: Objectives{E2E: time.Minute}}
	a := tenSeconds(t, "a", func(l *memlog) {
		l.sample(0, time.Second, runlog.SourceExporter, of("0", "power_watts", 100))
		l.sample(0, 9*time.Second, runlog.SourceExporter, of("0", "power_watts", 300))
	})
	b := tenSeconds(t, "b", func(*memlog) {})
	want, err := reportOf(opts, a, b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(opts, write(t, a), write(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestReportOfACutLog(t *testing.T) {
	dir := write(t, tenSeconds(t, "a", func(*memlog) {}))
	path := filepath.Join(dir, runlog.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	cut := strings.Join(lines[:12], "") + lines[12][:len(lines[12])/2] // run, step, 10 requests and a half
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || r.Damaged != 1 || r.Steps[0].Account.Attempted != 10 {
		t.Errorf("complete %v, %d damaged lines, account %+v, want 1 and 10 requests", r.Complete, r.Damaged, r.Steps[0].Account)
	}
}

// TestLogThatGrows is a run that is not over yet: the report is of what was there
// when it was first read.
func TestLogThatGrows(t *testing.T) {
	log := newMemlog("a").step(closed(1, 40), everySecond(15, time.Second), true)
	reads := 0
	r, err := reportFrom(Options{}, source{name: "a", open: func(runlog.Position) (records, error) {
		if reads++; reads == 2 {
			log.end(closed(1, 40), everySecond(40, time.Second), runlog.StopRequests)
		}
		return &memReader{log: log}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Steps[0]; s.Stop != "" || s.Account.Attempted != 15 || s.Whole.Completed != 15 || s.Account.Mismatch != "" {
		t.Errorf("stop %q, account %+v, %d completed", s.Stop, s.Account, s.Whole.Completed)
	}
	log.records = log.records[:10]
	reads = 2
	_, err = reportFrom(Options{}, source{name: "a", open: func(runlog.Position) (records, error) {
		if reads++; reads == 4 {
			log.records = log.records[:5]
		}
		return &memReader{log: log}, nil
	}})
	if err == nil || !strings.Contains(err.Error(), errChanged.Error()) {
		t.Errorf("error %v of a log that was cut, want %v", err, errChanged)
	}
}
