package container

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// start runs the entry point of an image that is unpacked at root.
func start(t *testing.T, i image, root string, mounts []programtest.Mount, entrypoint []string, args ...string) *programtest.Process {
	t.Helper()
	if len(entrypoint) == 0 {
		entrypoint = i.Config.Entrypoint
	}
	line := programtest.Chroot(t, root, i.Config.User, mounts, slices.Concat(entrypoint, args)...)
	cmd := exec.Command(line[0], line[1:]...)
	for _, v := range i.Config.Env {
		// The programs on the way into the container are this machine's.
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			v = "PATH=" + path + ":/usr/sbin:/sbin"
		}
		cmd.Env = append(cmd.Env, v)
	}
	return programtest.Start(t, "the container", cmd)
}

// stop wants the clean end that docker stop waits for.
func stop(t *testing.T, c *programtest.Process) {
	t.Helper()
	if err := c.End(t); err != nil {
		t.Error(err)
	}
}

// testRunning starts the image with nothing mounted.
func testRunning(t *testing.T, i image, root string) {
	address := programtest.FreeAddress(t)
	c := start(t, i, root, nil, nil, "--web.listen-address="+address,
		"--collector.metax.command=/usr/local/bin/fake/mx-smi", "--collector.interval=200ms")
	programtest.Eventually(t, patience, "the exporter's page", contains(t, "http://"+address+"/metrics",
		`accelerator_devices{vendor="metax"} 8`,
		`accelerator_collector_success{collector="metax"} 1`,
		`accelerator_collector_success{collector="numa"} 1`,
		`accelerator_numa_memory_total_bytes{node="0"}`,
		`accelerator_exporter_build_info{`,
	))
	if err := contains(t, "http://"+address+"/-/ready", "ready")(); err != nil {
		t.Error(err)
	}
	confined(t, c.Pid)
	stop(t, c)
}

// confined reads from the kernel what a process may do.
func confined(t *testing.T, pid int) {
	t.Helper()
	status := programtest.Read(t, fmt.Sprintf("/proc/%d/status", pid))
	for _, want := range []string{
		`(?m)^Uid:\s65532\s65532\s65532\s65532$`, `(?m)^Gid:\s65532\s65532\s65532\s65532$`,
		`(?m)^Groups:\s*$`, `(?m)^CapEff:\s0+$`, `(?m)^CapPrm:\s0+$`, `(?m)^NoNewPrivs:\s1$`,
	} {
		if !regexp.MustCompile(want).MatchString(status) {
			t.Errorf("no %s in\n%s", want, status)
		}
	}
	mounts := programtest.Read(t, fmt.Sprintf("/proc/%d/mountinfo", pid))
	if !regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / ro[ ,]`).MatchString(mounts) {
		t.Errorf("the root is not read-only:\n%s", mounts)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	programtest.Write(t, to, programtest.Read(t, from))
}

// firstMatch is the first group of a pattern that must be in a text.
func firstMatch(t *testing.T, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("no %s", pattern)
	}
	return match[1]
}
