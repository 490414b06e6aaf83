package runlog

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// example is a request like the users': 283 chunks, one a token.
func example() Request {
	const chunks = 283
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2026, 3, 4, 5, 6, 7, 890123456, time.UTC)
	t := openai.Trace{
		RequestID: "4f1c0a2b9d8e7f60514233241506f7e8", Model: "qwen2.5", Planned: at, Started: at.Add(52 * time.Microsecond),
		Clock: openai.ClockKernel, Events: chunks + 2, Usage: &openai.Usage{PromptTokens: 31, CompletionTokens: chunks},
		TokenSource: openai.TokensUsage, Finish: "stop", Done: true, Reused: true, Status: 200,
		Phases: openai.Phases{Send: 40 * time.Microsecond, Wait: 180 * time.Millisecond},
	}
	now := 181 * time.Millisecond
	t.FirstEvent = now
	for range chunks {
		t.Chunks = append(t.Chunks, openai.Chunk{At: now})
		now += 70*time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond)))
	}
	t.End, t.Lag = now, openai.Lag{Reads: chunks, Sum: chunks * 35 * time.Microsecond, Max: 65 * time.Microsecond, Last: 41 * time.Microsecond}
	return Request{Step: 2, Seq: 417, Trace: t}
}

// readAll returns all records of a log.
func readAll(t testing.TB, path string) (records []Record, damaged int) {
	t.Helper()
	damaged, err := Read(path, func(rec Record) error {
		records = append(records, rec)
		return nil
	})
	noError(t, err)
	return records, damaged
}

// TestManyWriters: lines written at the same time do not mix.
func TestManyWriters(t *testing.T) {
	const writers, each = 8, 15
	dir := filepath.Join(t.TempDir(), "results", "run")
	w, err := Create(dir, Run{ID: "0123456789abcdef"})
	noError(t, err)
	defer w.Close()
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for k := range each {
				q := example()
				q.Step, q.Seq = i, k
				if err := w.Write(Record{Request: &q}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records, damaged := readAll(t, filepath.Join(dir, FileName)) // not closed yet: it is all there
	got := map[[2]int]int{}
	for _, rec := range records[1:] {
		want := example()
		want.Step, want.Seq = rec.Request.Step, rec.Request.Seq
		if diff := cmp.Diff(&want, rec.Request); diff != "" {
			t.Fatal(diff)
		}
		got[[2]int{want.Step, want.Seq}]++
	}
	if len(got) != writers*each || len(records) != 1+writers*each || damaged != 0 {
		t.Errorf("%d records of %d requests, %d damaged, want %d", len(records), len(got), damaged, writers*each)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	used, file := filepath.Join(dir, "used"), filepath.Join(dir, "file")
	for path, text := range map[string]string{
		filepath.Join(used, FileName): "kept", file: "kept",
	} {
		noError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	for path, want := range map[string]string{
		used:                       "creating the file for traces: open " + used + "/traces.jsonl: file exists",
		file:                       "making the folder for traces: mkdir " + file + ": not a directory",
		filepath.Join(file, "sub"): "making the folder for traces: mkdir " + file + ": not a directory",
	} {
		if _, err := Create(path, Run{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(used, FileName)); string(text) != "kept" {
		t.Errorf("the log of the other run: %q, %v", text, err)
	}
}

// TestFullDisk: the message says what is full.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	w := &Writer{file: full}
	defer w.Close()
	for range 2 {
		err := w.Write(Record{Request: new(example())})
		if want := "keeping traces: write /dev/full: no space left on device"; err == nil || err.Error() != want || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
