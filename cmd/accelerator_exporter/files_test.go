package main

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// asProgram makes the test's binary be the program.
const asProgram = "ACCELERATOR_EXPORTER_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// Clients that are connected and say nothing, or half of a request, take the files
// neither of scrapes nor of tools and probes, however few there are.
func TestFewFiles(t *testing.T) {
	var log logBuffer
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 64 && exec "$0" "$@"`, os.Args[0],
		"--web.listen-address=127.0.0.1:0", "--no-collector.ascend", "--collector.interval=100ms", "--collector.timeout=20s",
		"--collector.metax.command="+tool(t, "mx-smi", metaxAnswers(t)),
		"--probe.interval=100ms", "--probe.model=qwen2.5", "--probe.target="+server(t))
	cmd.Env, cmd.Stderr = append(os.Environ(), asProgram+"=1"), &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &log)
		}
	}()
	p := program{log: &log}
	p.awaitURL(t)
	for i := range 150 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 > 0 {
			conn.Write([]byte("POST /-/healthy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"))
		}
	}
	var before string
	waitFor(t, "tools and probes go on", func() bool {
		_, body := p.get(t, "/metrics")
		now := strings.Join(regexp.MustCompile(`(?m)^accelerator_(collector_last_success_timestamp_seconds.*metax|probe_requests_total).*$`).FindAllString(body, -1), "\n")
		if before == "" {
			before = now
		}
		was, is := strings.Split(before, "\n"), strings.Split(now, "\n")
		return len(was) == 2 && len(is) == 2 && is[0] != was[0] && is[1] != was[1]
	})
	_, body := p.get(t, "/metrics")
	for _, failed := range regexp.MustCompile(`(?m)^accelerator_(collector|probe)_failures_total.* [1-9].*$`).FindAllString(body, -1) {
		t.Error(failed)
	}
	if log := log.String(); strings.Contains(log, "too many open files") {
		t.Error(log)
	}
}
