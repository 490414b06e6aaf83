package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// opened watches folders, and returns what tells which entries of them were opened since.
func opened(t *testing.T, dirs ...string) func() map[string]bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip("no inotify:", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	watched := map[int32]string{}
	for _, dir := range dirs {
		wd, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
		if err != nil {
			t.Skip("no inotify:", err)
		}
		watched[int32(wd)] = filepath.Base(dir)
	}
	all := map[string]bool{}
	return func() map[string]bool {
		var buf [64 << 10]byte
		for {
			n, err := unix.Read(fd, buf[:])
			if err != nil {
				return all
			}
			for at := 0; at < n; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
				at += unix.SizeofInotifyEvent
				name := strings.TrimRight(string(buf[at:at+int(event.Len)]), "\x00")
				at += int(event.Len)
				all[filepath.Join(watched[event.Wd], name)] = true
			}
		}
	}
}

// Off is off: neither the processes nor the pods' folders are opened, which the same
// machine shows when it is on; so it is where nothing is told by process. A process's environment is never opened.
func TestContainersOff(t *testing.T) {
	for flag, want := range map[string]bool{"--collector.containers": true, "--no-collector.containers": false, "--no-collector.processes": false} {
		procfs, logs := processes(t), podLogs(t)
		secrets := []string{"4242/environ", "4242/cmdline"}
		for _, secret := range secrets {
			procfs.Write(t, secret, "TOKEN=x")
		}
		files := opened(t, procfs.Path("1"), procfs.Path("2"), procfs.Path("4242"), logs)
		p := start(t, "--collector.metax.command="+busyCards(t, "4242"), "--no-collector.ascend", "--no-collector.numa",
			"--collector.interval=20ms", "--path.procfs="+string(procfs), "--kubernetes.pod-logs="+logs, flag)
		polls := 0
		waitFor(t, "polls", func() bool {
			_, body := p.get(t, "/metrics")
			if strings.Contains(body, `accelerator_devices{`) {
				polls++
			}
			if strings.Contains(body, `accelerator_process_container_info{`) != want || strings.Contains(body, `collector="containers"`) != want {
				polls = 0
			}
			return polls > 10
		})
		seen := files()
		if want != seen["4242/cgroup"] || want != seen["4242/stat"] || want != seen[filepath.Base(logs)] || !want && len(seen) > 0 {
			t.Errorf("%s: opened %v", flag, seen)
		}
		for _, secret := range secrets {
			if seen[secret] {
				t.Errorf("%s: opened %s", flag, secret)
			}
		}
	}
}
