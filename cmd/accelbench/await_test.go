package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEnded(t *testing.T) {
	const (
		begin   = `{"run":{"schema":1,"id":"a"}}` + "\n"
		request = `{"request":{"step":0,"seq":0,"trace":{}}}` + "\n"
		end     = `{"run_end":{"ended":"2026-03-04T05:06:07Z","stop":"requests"}}` + "\n"
	)
	for _, tc := range []struct {
		name, file, text string
		want             bool
	}{
		{"a whole log", "traces.jsonl", begin + request + end, true},
		{"an interrupted run", "traces.jsonl", begin + strings.ReplaceAll(end, "requests", "interrupted"), true},
		{"a long log", "traces.jsonl", begin + strings.Repeat(request, 1000) + end, true},
		{"a log in the middle", "traces.jsonl", begin + request, false},
		{"half a last line", "traces.jsonl", begin + end[:len(end)/2], false},
		{"a last line that is still being written", "traces.jsonl", begin + strings.TrimSpace(end), false},
		{"a line longer than what is read", "traces.jsonl", begin + `{"request":{"x":"` + strings.Repeat("y", 10_000) + "\"}}\n", false},
		{"an end that is quoted in a request", "traces.jsonl", begin + `{"request":{"trace":{"model":"{\"run_end\":{}}"}}}` + "\n", false},
		{"an empty log", "traces.jsonl", "", false},
		{"a packed log", "traces.jsonl.gz", "\x1f\x8b", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.file)
			if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := ended(path)
			if err != nil || got != tc.want {
				t.Errorf("%v, %v, want %v", got, err, tc.want)
			}
		})
	}
	if _, err := ended(filepath.Join(t.TempDir(), "traces.jsonl")); err == nil {
		t.Error("a log that is not there has no error")
	}
}

// TestAwaitPolls: a run that ends is seen soon, and folders that stay as they are
// are not asked for every second.
func TestAwaitPolls(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "traces.jsonl")
	over := `{"run_end":{"ended":"2026-03-04T05:06:07Z","stop":"requests"}}` + "\n"
	for _, tc := range []struct{ ends, seen time.Duration }{
		{500 * time.Millisecond, time.Second},
		{90 * time.Minute, 90*time.Minute + 5*time.Second}, // after 1 s, 3, 7, 15, then every 10
	} {
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			time.AfterFunc(tc.ends, func() {
				if err := os.WriteFile(log, []byte(over), 0o644); err != nil {
					t.Error(err)
				}
			})
			var told strings.Builder
			if err := await(t.Context(), 2*time.Hour, []string{folder}, &told); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took != tc.seen {
				t.Errorf("a run that ended after %s was seen after %s, want %s", tc.ends, took, tc.seen)
			}
			if got := strings.Count(told.String(), "\n"); got != 1 {
				t.Errorf("it said %d times what it waits for:\n%s", got, told.String())
			}
		})
	}
}

func TestSleepUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Add(90 * time.Minute)
		sleepUntil(t.Context(), start, io.Discard)
		if now := time.Now(); !now.Equal(start) {
			t.Errorf("it began at %s, want %s", now, start)
		}
		sleepUntil(t.Context(), time.Time{}, io.Discard)
		sleepUntil(t.Context(), start.Add(-time.Hour), io.Discard)
		if now := time.Now(); !now.Equal(start) {
			t.Errorf("without a start, or with one that is over, it began at %s, want %s", now, start)
		}
	})
}
