//go:build e2e

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// held is what the program holds at one moment.
type held struct {
	at                                  time.Duration
	memory, goroutines, files, children float64 // memory in MiB
}

// curves are taken about once a second.
type curves []held

// figure is one of the curves.
type figure struct {
	name  string
	of    func(held) float64
	grows float64 // how much more than in the second sixth of the time the last sixth may show
	stays float64 // how much more than before may be left when all behave again
}

func figures() []figure {
	return []figure{
		{"memory MiB", func(h held) float64 { return h.memory }, 16, 24},
		{"goroutines", func(h held) float64 { return h.goroutines }, 200, 15}, // of clients that hold on, up to hundreds
		{"files", func(h held) float64 { return h.files }, 200, 15},
		{"children", func(h held) float64 { return h.children }, 3, 2},
	}
}

// watch scrapes about once a second, and looks at the process beside.
func (s *soak) watch(ctx context.Context) {
	began := time.Now()
	for ctx.Err() == nil {
		next := time.After(time.Second)
		now, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.unanswered++
		default:
			s.answered++
			now.at = time.Since(began)
			s.curves = append(s.curves, now)
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// look scrapes, and looks at the process.
func (s *soak) look(ctx context.Context) (held, error) {
	text, err := s.scrape(ctx)
	if err != nil {
		return held{}, err
	}
	pid := s.process.Process.Pid
	now := held{memory: resident(pid)}
	if m := regexp.MustCompile(`(?m)^go_goroutines (\d+)$`).FindStringSubmatch(text); m != nil {
		now.goroutines, _ = strconv.ParseFloat(m[1], 64)
	}
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
		now.files = float64(len(files))
	}
	if all, err := process.FS("/proc").Processes(); err == nil {
		mine := map[int]bool{pid: true}
		process.AddDescendants(mine, all)
		now.children = float64(len(mine) - 1)
	}
	return now, nil
}

// asBefore returns an error for what the program still holds beyond what it held before.
func (s *soak) asBefore(ctx context.Context, before held) error {
	now, err := s.look(ctx)
	if err != nil {
		return err
	}
	for _, f := range figures() {
		if f.of(now) > f.of(before)+f.stays {
			return fmt.Errorf("%s: %.0f before and %.0f now", f.name, f.of(before), f.of(now))
		}
	}
	return nil
}

// resident is the memory of a process in MiB.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := strings.Fields(string(text))
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseFloat(f[1], 64)
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// sixth returns the median and the most of a figure in one sixth of the time, 0 to 5.
func (c curves) sixth(i int, of func(held) float64) (median, most float64) {
	part := c[i*len(c)/6 : (i+1)*len(c)/6]
	values := make([]float64, 0, len(part))
	for _, h := range part {
		values = append(values, of(h))
	}
	slices.Sort(values)
	return values[len(values)/2], values[len(values)-1]
}

// String is a table with a row for each sixth of the time.
func (c curves) String() string {
	var b strings.Builder
	b.WriteString("until")
	for _, f := range figures() {
		fmt.Fprintf(&b, "  %s (most)", f.name)
	}
	for i := range 6 {
		fmt.Fprintf(&b, "\n%5s", c[(i+1)*len(c)/6-1].at.Round(time.Second))
		for _, f := range figures() {
			median, most := c.sixth(i, f.of)
			fmt.Fprintf(&b, "  %*.0f %*s", len(f.name), median, len("(most)"), fmt.Sprintf("(%.0f)", most))
		}
	}
	return b.String()
}

// checkCurves fails for what grew, and for scrapes that got no answer.
func (s *soak) checkCurves(t *testing.T) {
	t.Helper()
	if len(s.curves) < 6 {
		t.Fatalf("only %d scrapes were answered", len(s.curves))
	}
	t.Logf("%d scrapes were answered and %d were not\n%s", s.answered, s.unanswered, s.curves)
	for _, f := range figures() {
		early, _ := s.curves.sixth(1, f.of)
		late, _ := s.curves.sixth(5, f.of)
		if late > early+f.grows {
			t.Errorf("%s grew from %.0f to %.0f", f.name, early, late)
		}
	}
	if s.unanswered > s.answered/20 {
		t.Errorf("%d of %d scrapes were not answered", s.unanswered, s.answered+s.unanswered)
	}
}
