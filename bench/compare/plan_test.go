//go:build linux

package compare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// recorded is a plan, the measurements of which and the lines on which are kept.
type recorded struct {
	Plan
	turns []string
	lines []string
}

// newPlan compares two servers that are this test binary.
func newPlan(t *testing.T, address string) *recorded {
	t.Helper()
	r := &recorded{}
	r.Plan = Plan{
		Repeats: 2, Folder: t.TempDir(), Ready: 30 * time.Second,
		Endpoint: openai.Config{BaseURL: "http://" + address},
		Measure: func(_ context.Context, turn Turn) (bool, error) {
			r.turns = append(r.turns, fmt.Sprintf("%s %d", turn.Side.Name, turn.Repeat))
			if filepath.Base(turn.Folder) != fmt.Sprint(turn.Repeat+1) {
				t.Errorf("folder %s", turn.Folder)
			}
			return true, nil
		},
		Log: func(format string, args ...any) { r.lines = append(r.lines, fmt.Sprintf(format, args...)) },
	}
	for _, name := range []string{"one", "two"} {
		r.Sides = append(r.Sides, PlannedSide{Name: name, Command: program("models", address)})
	}
	return r
}

func TestTurnsInterleave(t *testing.T) {
	p := Plan{Repeats: 3, Sides: []PlannedSide{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	var got []string
	for _, turn := range p.turns() {
		got = append(got, turn.Folder)
	}
	want := []string{"a/1", "b/1", "c/1", "c/2", "b/2", "a/2", "a/3", "b/3", "c/3"}
	equal(t, "turns", want, got)
}

// The prefix goes where the mark stands, and nowhere else.
func TestCommand(t *testing.T) {
	for text, want := range map[string]string{
		"{} vllm serve m":                     "P Q vllm serve m",
		"env A=1 {} vllm serve m --opt='{}x'": "env A=1 P Q vllm serve m --opt={}x",
		`{} vllm serve "my model" $HOME`:      "P Q vllm serve my model $HOME",
		"vllm serve m":                        "reading the server's command: it must have {} where the binding goes",
		"env {}":                              "reading the server's command: it must have {} where the binding goes",
		"{} 'vllm":                            "reading the server's command: Unterminated",
		" ":                                   "reading the server's command: it is empty",
	} {
		command, err := ParseBound(text, []string{"P", "Q"})
		if got := strings.Join(command, " "); err == nil && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestSidesTakeTurns(t *testing.T) {
	address := freeAddress(t)
	p := newPlan(t, address)
	if notes, err := p.Run(t.Context()); err != nil || notes != nil {
		t.Fatal(notes, err)
	}
	equal(t, "turns", []string{"one 0", "two 0", "two 1", "one 1"}, p.turns)
	if last := p.lines[len(p.lines)-1]; !strings.HasPrefix(last, "about ") || !strings.HasSuffix(last, " left") {
		t.Errorf("the last line is %q", last)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a side's server is still there")
	}
}

func TestMeasureEndsThePlan(t *testing.T) {
	p := newPlan(t, freeAddress(t))
	p.Measure = func(context.Context, Turn) (bool, error) { return false, nil }
	if _, err := p.Run(t.Context()); err != nil || len(p.lines) != 1 {
		t.Errorf("%v, lines %q", err, p.lines)
	}
	p.Measure = func(context.Context, Turn) (bool, error) { return true, errors.New("no disk") }
	if _, err := p.Run(t.Context()); err == nil || err.Error() != "side one: no disk" {
		t.Error(err)
	}
}

// A side under which the server does not start is given up where the first and another
// are left.
func TestSideThatFails(t *testing.T) {
	never := program("say", "3", "loading", "out of memory")
	const givenUp = "Side two was given up in repeat 1: the server did not start."
	for name, tt := range map[string]struct {
		failing []int
		command []string
		notes   []string
		line    string // of those on what goes on
		err     string
	}{
		"one of three":      {[]int{1}, never, []string{givenUp}, "without side two: the server did not start: its command ended with exit status 3; the end of ", ""},
		"not served":        {[]int{1}, []string{"sh", "-c", "sleep 60"}, []string{givenUp}, "no list of models within 2s (--ready-timeout)", ""},
		"the first":         {[]int{0}, never, nil, "", "side one: the server did not start: its command ended with exit status 3; the end of "},
		"all but the first": {[]int{1, 2}, never, []string{givenUp}, "", "side three: the server did not start"},
		"not there":         {[]int{1}, []string{"no-such-program-here"}, nil, "", "looking up no-such-program-here: executable file not found in $PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlan(t, freeAddress(t))
			p.Repeats = 1
			p.Sides = append(p.Sides, PlannedSide{Name: "three", Command: p.Sides[0].Command})
			for _, i := range tt.failing {
				p.Sides[i].Command = tt.command
			}
			if tt.command[0] == "sh" {
				p.Ready = 2 * time.Second
			}
			notes, err := p.Run(t.Context())
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" || !strings.Contains(strings.Join(p.lines, "\n"), tt.line) {
				t.Errorf("lines %q, notes (-want +got):\n%s", p.lines, diff)
			}
		})
	}
}

// A user who stops a comparison while a server starts is left without it.
func TestInterrupted(t *testing.T) {
	p := newPlan(t, freeAddress(t))
	file := filepath.Join(t.TempDir(), "pid")
	p.Sides[0].Command, p.Ready = program("serve", file), time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := p.Run(ctx)
		ended <- err
	}()
	pid := waitFor(file)
	cancel()
	if err := <-ended; err == nil || lives(pid) {
		t.Errorf("%v, the command lives: %t", err, lives(pid))
	}
}
