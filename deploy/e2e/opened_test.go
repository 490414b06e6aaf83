//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// filesOpened looks by strace at what the exporter and its tools name to the kernel: every path, and every address
// that they connect to.
func filesOpened(t *testing.T, p programs) {
	strace := programtest.Find(t, "strace")
	n := startNode(t, p)
	n.kubelet.SetPods(n.given()...)
	// Nobody's business, whatever is asked of the exporter.
	never := []string{
		`/environ`, `serviceaccount`, `\.kube\b`, `docker`, `containerd`, `crio\b`, `cri-dockerd`, `isulad`, `podman`, `device-plugins`, `kubelet_internal_checkpoint`,
		`\d/cmdline`, `\d/root\b`, `\d/mountinfo`, `0\.log`,
	}
	sources := map[string]string{
		"a process's cgroup": regexp.QuoteMeta(n.path("proc")) + `/\d+/cgroup"`,
		"the pods' logs":     regexp.QuoteMeta(n.path("logs")) + `"`,
		"a pod's folder":     `team-a_llm-0_` + podUID + `"`,
		"the socket":         regexp.QuoteMeta(n.kubelet.Socket) + `"`,
	}
	t.Run("off", func(t *testing.T) {
		trace := n.traced(t, strace, []string{"--no-collector.containers"}, `accelerator_process_memory_used_bytes{`)
		for what, source := range sources {
			named(t, trace, false, what, source)
		}
		for _, pattern := range append(never, `pod-resources`, `/var/log`, `connect\(`, `\d/cgroup"`, `team-a`) {
			named(t, trace, false, pattern, pattern)
		}
	})
	t.Run("on", func(t *testing.T) {
		trace := n.traced(t, strace, []string{"--kubernetes.pod-resources=" + n.kubelet.Socket}, `accelerator_process_container_info{`, `accelerator_device_allocation_info{`)
		for what, source := range sources {
			named(t, trace, true, what, source)
		}
		for _, pattern := range never {
			named(t, trace, false, pattern, pattern)
		}
		toSocket := regexp.MustCompile(`connect\(\d+, \{sa_family=AF_UNIX, sun_path="` + regexp.QuoteMeta(n.kubelet.Socket) + `"\}`)
		for line := range strings.Lines(trace) {
			if strings.Contains(line, "connect(") && !toSocket.MatchString(line) {
				t.Errorf("it connects elsewhere: %s", line)
			}
		}
	})
}

// named fails the test where the kernel was told a name and should not have been, or the other way round.
func named(t *testing.T, trace string, want bool, what, pattern string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^.*` + pattern + `.*$`).FindString(trace)
	if (line != "") != want {
		t.Errorf("%s: named %v, want %v: %s", what, line != "", want, line)
	}
}

// traced runs another exporter of the node under strace until it was scraped ten times with series of these beginnings,
// and returns what it and its tools asked the kernel for.
func (n *node) traced(t *testing.T, strace string, flags []string, wanted ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	// -D makes the exporter the process that we started, which signals reach.
	line := append([]string{"-D", "-f", "-s", "4096", "-e", "trace=%file,connect,sendto,sendmsg", "-o", file, n.programs.path("accelerator_exporter")}, n.flags()...)
	daemon := programtest.Run(t, "exporter", []string{
		"FAKEHOST_STATE=" + n.path("state"), "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=6443", "DOCKER_HOST=unix:///run/docker.sock",
	}, strace, append(line, flags...)...)
	exporter := served(t, daemon)
	scrapes := 0
	programtest.Eventually(t, patience, fmt.Sprintf("ten scrapes with %q", wanted), func() error {
		page, err := programtest.Get(t, "http://"+exporter+"/metrics")
		if err != nil {
			return err
		}
		for _, w := range wanted {
			if !strings.Contains(page, "\n"+w) {
				return errors.New("no " + w)
			}
		}
		if scrapes++; scrapes < 10 {
			return fmt.Errorf("%d scrapes", scrapes)
		}
		return nil
	})
	programtest.NoError(t, daemon.End(t))
	var trace string
	over := regexp.MustCompile(fmt.Sprintf(`(?m)^%d +\+\+\+ exited with 0 \+\+\+$`, daemon.Pid)) // strace fills short numbers up
	programtest.Eventually(t, patience, "strace has written all", func() error {
		text, err := os.ReadFile(file)
		if trace = string(text); err == nil && !over.MatchString(trace) {
			err = fmt.Errorf("no %s", over)
		}
		return err
	})
	// Flags are no access. Go and the exporter read their own cgroup, which is nobody else's.
	trace = regexp.MustCompile(`execve\(("[^"]*").*`).ReplaceAllString(trace, "execve($1)")
	return strings.ReplaceAll(trace, fmt.Sprintf(`"/proc/%d/`, daemon.Pid), `"/proc/self/`)
}
