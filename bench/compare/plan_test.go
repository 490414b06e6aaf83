//go:build linux

package compare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
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
	if err != nil {
		t.Fatal(err)
	}
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
		Measure: func(_ context.Context, m Measurement) (bool, error) {
			r.turns = append(r.turns, fmt.Sprintf("%s %d", m.Side.Name, m.Repeat))
			if filepath.Base(m.Folder) != fmt.Sprint(m.Repeat+1) || m.Server.Command != m.Side.String() {
				t.Errorf("folder %s, server %+v", m.Folder, m.Server)
			}
			return true, nil
		},
		Log: func(format string, args ...any) { r.lines = append(r.lines, fmt.Sprintf(format, args...)) },
	}
	for _, name := range []string{"one", "two"} {
		r.Sides = append(r.Sides, Command{Name: name, Argv: program("models", address)})
	}
	return r
}

func TestSidesTakeTurns(t *testing.T) {
	address := freeAddress(t)
	p := newPlan(t, address)
	if notStarted, err := p.Run(t.Context()); err != nil || notStarted != nil {
		t.Fatal(notStarted, err)
	}
	if diff := cmp.Diff([]string{"one 0", "two 0", "two 1", "one 1"}, p.turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if last := p.lines[len(p.lines)-1]; !strings.Contains(last, "side one, repeat 2 of 2") || !strings.Contains(last, " left)") {
		t.Errorf("the last line is %q", last)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a side's server is still there")
	}
}

func TestMeasureEndsThePlan(t *testing.T) {
	p := newPlan(t, freeAddress(t))
	p.Measure = func(context.Context, Measurement) (bool, error) { return false, nil }
	if _, err := p.Run(t.Context()); err != nil || len(p.lines) != 1 {
		t.Errorf("%v, lines %q", err, p.lines)
	}
	p.Measure = func(context.Context, Measurement) (bool, error) { return true, errors.New("no disk") }
	if _, err := p.Run(t.Context()); err == nil || err.Error() != "side one: no disk" {
		t.Error(err)
	}
}

// A command that ends well has switched a server that is not its own; one that runs on
// beside a server of before would have that measured for its own.
func TestServerOfBefore(t *testing.T) {
	server := httptest.NewServer(modelsHandler())
	defer server.Close()
	p := newPlan(t, strings.TrimPrefix(server.URL, "http://"))
	p.Sides[0].Argv, p.Sides[1].Argv = []string{"true"}, []string{"sleep", "0.1"}
	if _, err := p.Run(t.Context()); err != nil || len(p.turns) != 4 {
		t.Errorf("%v %v", p.turns, err)
	}
	p.Sides[0].Argv, p.Ready = []string{"sleep", "60"}, time.Second
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "answered before its command was started") {
		t.Error(err)
	}
}

// A side whose server cannot be started is given up where the first and another are left.
func TestSideThatFails(t *testing.T) {
	never := program("say", "3", "loading", "out of memory")
	for name, tt := range map[string]struct {
		failing []int
		argv    []string
		givenUp string // the reason
		err     string
	}{
		"one of three":      {[]int{1}, never, "repeat 1: its command ended with exit status 3", ""},
		"not served":        {[]int{1}, []string{"sleep", "60"}, "repeat 1: no list of models within 2s of its start (--ready-timeout)", ""},
		"the first":         {[]int{0}, never, "", "side one: its command ended with exit status 3; the end of "},
		"all but the first": {[]int{1, 2}, never, "repeat 1: its command ended with exit status 3", "side three: its command ended"},
		"not there":         {[]int{1}, []string{"no-such-program-here"}, "", "side two: looking up no-such-program-here: executable file not found in $PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			p := newPlan(t, address)
			p.Repeats = 1
			p.Sides = append(p.Sides, Command{Name: "three", Argv: program("models", address)})
			for _, i := range tt.failing {
				p.Sides[i].Argv = tt.argv
			}
			if tt.argv[0] == "sleep" {
				p.Ready = 2 * time.Second
			}
			notStarted, err := p.Run(t.Context())
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if len(notStarted) == 1 && notStarted[0].Side == "two" && notStarted[0].Reason == tt.givenUp || len(notStarted) == 0 && tt.givenUp == "" {
				return
			}
			t.Errorf("given up: %+v", notStarted)
		})
	}
}

// A user who stops a comparison while a server starts is left without it.
func TestInterrupted(t *testing.T) {
	p := newPlan(t, freeAddress(t))
	file := filepath.Join(t.TempDir(), "pid")
	p.Sides[0].Argv, p.Ready = program("serve", file), time.Hour
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
