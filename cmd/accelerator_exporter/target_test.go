package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// serveModel serves a model server at an address until stop is called, or the test ends.
func serveModel(t *testing.T, address string, cfg fakevllm.Config) (s *fakevllm.Server, url string, stop func()) {
	t.Helper()
	s, err := fakevllm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(s.Handler())
	web.Listener.Close()
	if web.Listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	web.Start()
	ctx, cancel := context.WithCancel(context.Background())
	var engine sync.WaitGroup
	engine.Go(func() { s.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); web.CloseClientConnections(); web.Close(); engine.Wait() })
	t.Cleanup(stop)
	return s, web.URL, stop
}

// What a kubelet and a load balancer are told of servers that fail in ways of their own, while /health of each says that
// all is well.
func TestStatesOfTargets(t *testing.T) {
	quick := fakevllm.Config{Speed: 20}
	moody, moodyURL, _ := serveModel(t, "127.0.0.1:0", quick)
	_, otherURL, restart := serveModel(t, "127.0.0.1:0", quick)
	_, silentURL, _ := serveModel(t, "127.0.0.1:0", quick)
	_, queueURL, _ := serveModel(t, "127.0.0.1:0", fakevllm.Config{Speed: 20, MaxNumSeqs: 1})
	config := "probes:\n"
	for name, url := range map[string]string{
		"moody": moodyURL, "other": otherURL, "queue": queueURL,
		"broken": moodyURL + "/fault/degenerate", "dark": moodyURL + "/fault/no_metrics", "team/silent": silentURL + "/fault/hang",
	} {
		config += fmt.Sprintf("  - {name: %s, url: %q, model: qwen2.5, interval: 500ms, timeout: 900ms, max_tokens: 20}\n", name, url)
	}
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--config.file="+writeFile(t, "probes.yml", config, 0o644))
	becomes := func(name, state string, status int) {
		t.Helper()
		waitFor(t, name+" is "+state, func() bool {
			got, body := p.get(t, "/-/target/"+name)
			return got == status && strings.HasPrefix(body, state+": ")
		})
	}
	becomes("moody", "ok", 200)
	becomes("other", "ok", 200)
	becomes("queue", "ok", 200)
	becomes("broken", "failing", 503)
	becomes("dark", "failing", 503)
	becomes("team%2Fsilent", "stalled", 503)

	moody.SetFault(fakevllm.FaultFreeze)
	becomes("moody", "stalled", 503)
	moody.SetFault("http_500")
	becomes("moody", "failing", 503)
	moody.SetFault(fakevllm.FaultNone)
	becomes("moody", "ok", 200)

	restart()
	becomes("other", "failing", 503)
	serveModel(t, strings.TrimPrefix(otherURL, "http://"), quick)
	becomes("other", "ok", 200)

	hold, release := context.WithCancel(t.Context())
	defer release()
	go ask(hold, queueURL) // the one place of the batch is taken for long
	becomes("queue", "busy", 200)
	var metrics string
	waitFor(t, "the queue lasts", func() bool {
		if status, body := p.get(t, "/-/target/queue"); status != 200 {
			t.Errorf("a queue is no failure: %s", body)
		}
		_, metrics = p.get(t, "/metrics")
		return regexp.MustCompile(`accelerator_probe_skipped_total{model="qwen2.5",target="queue"} ([6-9]|\d\d)`).MatchString(metrics)
	})
	if status, _ := p.get(t, "/-/target/queue?busy=503"); status != 503 {
		t.Errorf("queue?busy=503: %d", status)
	}
	for _, want := range []string{
		`accelerator_probe_state{model="qwen2.5",state="busy",target="queue"} 1`,
		`accelerator_probe_state{model="qwen2.5",state="ok",target="queue"} 0`,
		`accelerator_probe_state{model="qwen2.5",state="stalled",target="team/silent"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(metrics, `accelerator_probe_failures_total{model="qwen2.5",reason="degenerate",target="broken"} 0`) {
		t.Error("no broken answer was counted")
	}
}

// ask takes a place of a server's batch.
func ask(ctx context.Context, url string) {
	body := strings.NewReader(`{"prompt":"a","max_tokens":30000,"ignore_eos":true,"stream":true}`)
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", body)
	if response, err := http.DefaultClient.Do(request); err == nil {
		<-ctx.Done()
		response.Body.Close()
	}
}

// The page before the first outcome, of the one target, of a name that is none, and as JSON.
func TestTargetPage(t *testing.T) {
	config := writeFile(t, "probes.yml", "probes: [{name: a, url: 'http://127.0.0.1:9', interval: 1h}, {name: b, url: 'http://127.0.0.1:9', model: m, interval: 1h}]", 0o644)
	one := start(t, "--no-collector.metax", "--no-collector.ascend", "--probe.target="+server(t), "--probe.interval=100ms")
	two := start(t, "--no-collector.metax", "--no-collector.ascend", "--config.file="+config)
	for path, want := range map[string]string{
		"/-/target/b":             "200 unknown: no success and no failure yet\n",
		"/-/target/b?unknown=503": "503 unknown: no success and no failure yet\n",
		"/-/target/b?ok=503":      "200 unknown: no success and no failure yet\n",
		"/-/target":               "404 no target \"\"; known: a, b\n",
		"/-/target/c":             "404 no target \"c\"; known: a, b\n",
	} {
		status, body := two.get(t, path)
		if diff := cmp.Diff(want, fmt.Sprintf("%d %s", status, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	var got map[string]any
	waitFor(t, "a success", func() bool {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, one.url+"/-/target", nil)
		request.Header.Set("Accept", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		return got["last_success"] != nil
	})
	for _, name := range []string{"since", "last_success"} {
		if _, err := time.Parse(time.RFC3339, got[name].(string)); err != nil {
			t.Error(err)
		}
		delete(got, name)
	}
	got["target"] = strings.HasPrefix(got["target"].(string), "127.0.0.1:")
	if diff := cmp.Diff(map[string]any{"target": true, "model": "qwen2.5", "state": "ok", "detail": "last success 0 s ago"}, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// The program is ready when each collector has been polled once, also where the poll failed.
func TestReady(t *testing.T) {
	release := filepath.Join(t.TempDir(), "now")
	slow := writeFile(t, "mx-smi", "#!/bin/sh\nwhile ! [ -e "+release+" ]; do sleep 0.01; done; exit 1\n", 0o755)
	p := start(t, "--collector.metax.command="+slow, "--no-collector.ascend")
	waitFor(t, "the NUMA nodes are polled, and the cards are not", func() bool {
		status, body := p.get(t, "/-/ready")
		return status == 503 && strings.Contains(body, "metax") && strings.Contains(p.log.String(), "Listening")
	})
	if status, _ := p.get(t, "/-/healthy"); status != 200 {
		t.Errorf("healthy: %d", status)
	}
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is ready", func() bool {
		status, _ := p.get(t, "/-/ready")
		return status == 200
	})
}
