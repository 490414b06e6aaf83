package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/internal/certtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"accelbench": main, "model-server": serveModel})
}

// serveModel is a program that is a stand-in server at the address of its argument, with the speed of a second one.
func serveModel() {
	speed, _ := strconv.ParseFloat(append(os.Args, "200")[2], 64)
	server, err := fakevllm.New(fakevllm.Config{Speed: speed, MeanOutputTokens: 8})
	if err != nil {
		log.Fatal(err)
	}
	go server.Run(context.Background())
	log.Fatal(http.ListenAndServe(os.Args[1], server.Handler()))
}

// freeAddress is an address of the loopback that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// The scripts read as a user's terminal does. $URL is a server, $TLSURL one with a certificate that nobody vouches for;
// $EXPORTER is an exporter with TLS and basic auth; $PAGES serves the script's own folder. At $FREE nobody listens.
func TestScripts(t *testing.T) {
	quick := fakevllm.Config{Speed: 20, MeanOutputTokens: 8}
	url := serve(t, httptest.NewServer, quick)
	tlsURL := serve(t, httptest.NewTLSServer, quick)
	exporter, files := serveExporter(t)
	files["lead.pem"], files["lead.key"] = certtest.New(t, "lead")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("URL", url)
			env.Setenv("FREE", freeAddress(t))
			env.Setenv("TLSURL", tlsURL)
			env.Setenv("EXPORTER", exporter)
			for name, text := range files {
				noError(t, os.WriteFile(filepath.Join(env.WorkDir, name), []byte(text), 0o600))
			}
			pages := httptest.NewServer(http.FileServer(http.Dir(env.WorkDir)))
			env.Defer(pages.Close)
			env.Setenv("PAGES", pages.URL)
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("BIN", bin)
			env.Setenv("DOCS", filepath.Join(os.Getenv("PWD"), "../../docs"))
			env.Setenv("GOMAXPROCS", "1") // the scripts run side by side
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "lines": lines, "newest": newest},
	})
}

// serve starts a stand-in server.
func serve(t *testing.T, start func(h http.Handler) *httptest.Server, cfg fakevllm.Config) string {
	t.Helper()
	server, err := fakevllm.New(cfg)
	noError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	web := start(server.Handler())
	t.Cleanup(func() {
		cancel()
		web.CloseClientConnections()
		web.Close()
		running.Wait()
	})
	return web.URL
}

// exits CODE COMMAND... wants that exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// lines FILE COUNT wants that many lines in a file, stdout or stderr.
func lines(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d:\n%s", args[0], got, want, ts.ReadFile(args[0]))
	}
}

// newest NAME PATTERN sets a variable to the one file that fits.
func newest(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s fits %d files: %v", args[1], len(found), found)
	}
	ts.Setenv(args[0], found[0])
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
