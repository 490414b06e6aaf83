package load

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/side"
)

// serveEnv makes the test binary a side's server at that address.
const serveEnv = "LOAD_TEST_SERVE"

func serveSide(address string) {
	server, err := fakevllm.New(fakevllm.Config{Speed: 200, MeanOutputTokens: 8})
	if err == nil {
		go func() { _ = server.Run(context.Background()) }()
		err = http.ListenAndServe(address, server.Handler())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// sidesAt is a comparison of two sides whose servers are this test binary.
func sidesAt(t *testing.T, address string) *Sides {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := plan(t, "http://"+address)
	cfg.Steps = cfg.Steps[:1]
	s := &Sides{Config: cfg, Repeats: 2, Ready: 30 * time.Second}
	for _, name := range []string{"one", "two"} {
		s.Sides = append(s.Sides, side.Side{Name: name, Argv: []string{"env", serveEnv + "=" + address, self}})
	}
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestSidesTakeTurns(t *testing.T) {
	address := freeAddress(t)
	s := sidesAt(t, address)
	var turns []string
	s.Turn = func(one side.Side, repeat int) { turns = append(turns, fmt.Sprintf("%s %d", one.Name, repeat)) }
	result, err := s.Run(t.Context())
	if err != nil || result.Succeeded != 40 {
		t.Fatalf("%+v %v", result, err)
	}
	if diff := gocmp.Diff([]string{"one 0", "two 0", "two 1", "one 1"}, turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	for _, one := range s.Sides {
		logs, err := runlog.Find(SideFolder(s.Config.Folder, one))
		if err != nil || len(logs) != 2 {
			t.Fatalf("logs of %s: %v %v", one.Name, logs, err)
		}
		run, _, requests := kinds(t, filepath.Dir(logs[0]))
		if run.Side != one.Name || run.Server == nil || run.Server.CPUs == "" || len(requests) != 10 {
			t.Errorf("%s: %+v, %d requests", one.Name, run, len(requests))
		}
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a side's server is still there")
	}
}

// A server that was there before would be measured for the side's.
func TestSideOfAnotherServer(t *testing.T) {
	s := sidesAt(t, strings.TrimPrefix(endpoint(t, nil), "http://"))
	s.Sides[0].Argv, s.Ready = []string{"sleep", "60"}, time.Second
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "answered before its command was started") {
		t.Errorf("%v", err)
	}
}

// A command that ends well has switched a server that is not its own, at once or
// after a while.
func TestSideThatSwitchesAServer(t *testing.T) {
	s := sidesAt(t, strings.TrimPrefix(endpoint(t, nil), "http://"))
	s.Sides[0].Argv, s.Sides[1].Argv = []string{"true"}, []string{"sleep", "1"}
	if result, err := s.Run(t.Context()); err != nil || result.Succeeded != 40 {
		t.Errorf("%+v %v", result, err)
	}
}

func TestSideThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		argv []string
		want string
	}{
		"ends":       {[]string{"false"}, "side one"},
		"not there":  {[]string{"no-such-program-here"}, "no-such-program-here"},
		"not served": {[]string{"sleep", "60"}, "no list of models"},
		"silent":     {[]string{"sleep", "60"}, "it printed nothing to "},
		"says why":   {[]string{"sh", "-c", "echo loading; echo out of memory; exec sleep 60"}, filepath.Join("one", "1.log") + ":\n  out of memory"},
	} {
		s := sidesAt(t, freeAddress(t))
		s.Sides[0].Argv, s.Ready = tc.argv, time.Second
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// threeSides is a comparison on a server that is always there, but for the side that is
// named off. The sides' commands only switch it.
func threeSides(t *testing.T, off string) *Sides {
	t.Helper()
	var now atomic.Value // the side of this turn
	now.Store("")
	url := endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if now.Load() == off {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	s := &Sides{Config: plan(t, url), Repeats: 2, Ready: 20 * time.Second, Turn: func(one side.Side, _ int) { now.Store(one.Name) }}
	s.Config.Steps = s.Config.Steps[:1]
	for _, name := range []string{"one", "two", "three"} {
		s.Sides = append(s.Sides, side.Side{Name: name, Argv: []string{"true"}, Binding: "binding " + name})
	}
	return s
}

// A side whose server cannot be started is given up, in whatever repeat that is, and the
// others are measured. What it printed may hold keys, so it is told and not kept.
func TestSideThatIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "no-interpreter")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		argv      []string
		ready     time.Duration
		runs      int // of the side
		told, why string
	}{
		"ends": {
			argv: []string{"sh", "-c", "echo node 1 is out of range; exit 3"},
			told: "\n  node 1 is out of range", why: "repeat 1: its command ended with exit status 3; what it printed is in two/1.log",
		},
		"is killed": {
			argv: []string{"sh", "-c", "kill -9 $$"},
			told: "ended with signal: killed", why: "repeat 1: its command ended with signal: killed; what it printed is in two/1.log",
		},
		"not served": {
			argv: []string{"sleep", "60"}, ready: 2 * time.Second,
			told: "it printed nothing to ", why: "repeat 1: no list of models within 2s of its start (--ready-timeout); what it printed is in two/1.log",
		},
		"not run": {argv: []string{script}, told: "no such file", why: "repeat 1: it could not be run; what it printed is in two/1.log"},
		"ends later": {
			argv: []string{"sh", "-c", `[ ! -e "$0" ] || exit 1; touch "$0"`, filepath.Join(dir, "was-here")}, runs: 1,
			told: "ended with exit status 1", why: "repeat 2: its command ended with exit status 1; what it printed is in two/2.log",
		},
	} {
		t.Run(name, func(t *testing.T) {
			off := "none"
			if tc.ready > 0 {
				off = "two"
			}
			s := threeSides(t, off)
			s.Sides[1].Argv, s.Ready = tc.argv, cmp.Or(tc.ready, s.Ready)
			var told []string
			s.GivenUp = func(one side.Side, why error) { told = append(told, one.Name+" "+why.Error()) }
			result, err := s.Run(t.Context())
			if err != nil || result.Succeeded != 40+10*tc.runs {
				t.Fatalf("%+v %v", result, err)
			}
			if diff := gocmp.Diff([]string{"two"}, result.NotStarted); diff != "" {
				t.Errorf("not started (-want +got):\n%s", diff)
			}
			if len(told) != 1 || !strings.HasPrefix(told[0], "two side two: ") || !strings.Contains(told[0], tc.told) {
				t.Errorf("told %q", told)
			}
			logs, err := runlog.Find(SideFolder(s.Config.Folder, s.Sides[1]))
			if err != nil || len(logs) != tc.runs+1 {
				t.Fatalf("logs %v %v", logs, err)
			}
			run, records, _ := kinds(t, filepath.Dir(logs[tc.runs]))
			want := &runlog.Server{Command: s.Sides[1].String(), Binding: "binding two", NotStarted: tc.why}
			if diff := gocmp.Diff(want, run.Server); diff != "" || run.Side != "two" || len(records) > 0 {
				t.Errorf("side %q, %v, server (-want +got):\n%s", run.Side, records, diff)
			}
		})
	}
}

// Where nothing would be left to compare, or nothing to hold it against, it ends.
func TestLastSidesAreNotGivenUp(t *testing.T) {
	for name, tc := range map[string]struct {
		failing []int
		runs    int
		givenUp []string
		want    string
	}{
		"the first":        {[]int{0}, 0, nil, "side one: its command ended with exit status 1"},
		"all but the base": {[]int{1, 2}, 1, []string{"two"}, "side three: its command ended with exit status 1"},
	} {
		s := threeSides(t, "none")
		for _, i := range tc.failing {
			s.Sides[i].Argv = []string{"false"}
		}
		result, err := s.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) || result.Succeeded != 10*tc.runs {
			t.Errorf("%s: %+v %v", name, result, err)
		}
		if diff := gocmp.Diff(tc.givenUp, result.NotStarted); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A comparison that is stopped while a side's server starts is stopped, also where that
// has failed by then.
func TestStoppedSideIsNotGivenUp(t *testing.T) {
	for _, argv := range [][]string{{"sleep", "60"}, {"false"}} {
		s := threeSides(t, "none")
		s.Sides[1].Argv = argv
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.Turn
		s.Turn = func(one side.Side, repeat int) {
			turn(one, repeat)
			if one.Name == "two" {
				cancel()
			}
		}
		if result, err := s.Run(ctx); err == nil || result.NotStarted != nil {
			t.Errorf("%s: %+v %v", argv, result, err)
		}
		cancel()
	}
}

// A user who stops a comparison twice leaves no server that holds the cards.
func TestSidesKill(t *testing.T) {
	s := sidesAt(t, freeAddress(t))
	file := filepath.Join(t.TempDir(), "pid")
	s.Sides[0].Argv = []string{"sh", "-c", `trap "" TERM; echo $$ > "$0.new"; mv "$0.new" "$0"; while :; do sleep 1; done`, file}
	s.Ready = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := s.Run(ctx)
		ended <- err
	}()
	var pid int
	for until := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}
	if pid == 0 {
		t.Fatal("the side's command did not start")
	}
	s.Kill()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the side's command is still there")
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the comparison went on")
	}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped in a hurry") {
		t.Errorf("another turn: %v", err)
	}
}

// The CPUs and nodes of a container engine's client are not those of the server in
// the container.
func TestSideInContainerHasNoBinding(t *testing.T) {
	s := sidesAt(t, freeAddress(t))
	docker := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(docker, []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Sides[0].Argv, s.Repeats = append([]string{docker}, s.Sides[0].Argv...), 1
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, bound := range []bool{false, true} {
		logs, err := runlog.Find(SideFolder(s.Config.Folder, s.Sides[i]))
		if err != nil || len(logs) != 1 {
			t.Fatalf("logs: %v %v", logs, err)
		}
		if run, _, _ := kinds(t, filepath.Dir(logs[0])); run.Server == nil || run.Server.Command == "" || (run.Server.CPUs != "") != bound {
			t.Errorf("%s: %+v", run.Side, run.Server)
		}
	}
}
