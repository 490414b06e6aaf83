//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// stuckTool is a tool that outlives SIGKILL, as one does whose driver hangs: the
// kernel does not tell a parent of a dead child while somebody traces that child.
func stuckTool() fault {
	var release func()
	return fault{
		host: "gamma", name: "npu-smi outlives SIGKILL",
		put: func(t *testing.T, h *host) {
			h.set(t, "npu-smi.fault", "hang")
			programtest.Eventually(t, patience, "a hanging npu-smi to hold", func() error {
				pid, err := h.child("npu-smi")
				if err == nil {
					release, err = trace(pid)
				}
				return err
			})
			t.Cleanup(release)
		},
		clear: func(t *testing.T, h *host) {
			h.set(t, "npu-smi.fault")
			release()
		},
		tells: []alert{
			{name: "AcceleratorCollectorStuck", severity: "critical", labels: map[string]string{"collector": "ascend"}},
			{name: "AcceleratorCollectorFailing", severity: "warning", labels: map[string]string{"collector": "ascend"}, inhibited: true},
			{name: "AcceleratorCardsMissing", severity: "critical", labels: map[string]string{"vendor": "ascend"}},
		},
	}
}

// child finds a tool that the exporter runs.
func (h *host) child(tool string) (int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.daemon.Pid))
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(text)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			if strings.TrimSpace(string(name)) == tool {
				return strconv.Atoi(pid)
			}
		}
	}
	return 0, errors.New("no " + tool + " runs")
}

// trace attaches to a process and keeps its end to itself until release is called.
func trace(pid int) (release func(), err error) {
	const ptraceSeize, waitAll = 0x4206, 0x40000000
	attached, over, gone := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		runtime.LockOSThread() // the kernel knows one thread as the tracer
		defer runtime.UnlockOSThread()
		if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, ptraceSeize, uintptr(pid), 0, 0, 0, 0); errno != 0 {
			attached <- errno
			return
		}
		attached <- nil
		<-over
		_ = syscall.Kill(pid, syscall.SIGKILL)
		var status syscall.WaitStatus
		for {
			_, err := syscall.Wait4(pid, &status, waitAll, nil)
			if err != nil && !errors.Is(err, syscall.EINTR) || status.Exited() || status.Signaled() {
				return
			}
		}
	}()
	if err := <-attached; err != nil {
		return nil, fmt.Errorf("tracing process %d: %w", pid, err)
	}
	return sync.OnceFunc(func() { close(over); <-gone }), nil
}
