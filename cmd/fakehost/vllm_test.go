package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// The server says where it listens, answers there, and ends with its context
// although a stream is under way.
func TestServes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address, ended := make(chan string, 1), make(chan error, 1)
	s := &server{listen: "127.0.0.1:0", config: fakevllm.Config{Speed: 1e-3}, numa: numa{penalty: 1}}
	go func() {
		ended <- s.serve(ctx, state(t.TempDir()), log.LoggerFunc(func(keyvals ...any) error {
			address <- keyvals[3].(string)
			return nil
		}))
	}()
	url := <-address
	resp, err := http.Get(url + "/health")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("health: %v, %v", resp, err)
	}
	resp.Body.Close()
	stream := make(chan error, 1)
	go func() {
		resp, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"hi","stream":true}`))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		stream <- err
	}()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-stream; err == nil {
		t.Error("the stream came to its end")
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("it still listens")
	}
}

// A wrong command line is said in one line.
func TestRefuses(t *testing.T) {
	t.Setenv("FAKEHOST_STATE", t.TempDir())
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"vllm --step-base=soon":       {2, "fakehost vllm: time: invalid duration \"soon\", try --help\n"},
		"vllm --listen-address=nohow": {1, "fakehost vllm: listening: listen tcp: address nohow: missing port in address\n"},
		"vllm extra":                  {2, "fakehost vllm: unexpected extra, try --help\n"},
	} {
		var stderr bytes.Buffer
		if status := run(append([]string{"fakehost"}, strings.Fields(args)...), io.Discard, &stderr); status != want.status || stderr.String() != want.says {
			t.Errorf("%s: status %d, says %q, want %d, %q", args, status, stderr.String(), want.status, want.says)
		}
	}
}
