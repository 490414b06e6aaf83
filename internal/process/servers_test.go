package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("no procfs here:", err)
	}
}

func listen(t *testing.T, network, address string) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// startFamily starts a shell and below it a sleeper, and returns both PIDs.
func startFamily(t *testing.T, files ...*os.File) []int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.ExtraFiles = files
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	sleeper, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(sleeper, syscall.SIGKILL)
		_ = cmd.Wait() // the shell waits for the sleeper
	})
	pids := []int{cmd.Process.Pid, sleeper}
	slices.Sort(pids)
	return pids
}

func TestFindOnThisMachine(t *testing.T) {
	needProc(t)
	_, ours := listen(t, "tcp4", "127.0.0.1:0")
	family := startFamily(t)

	// The second one listens on a socket that only the family still holds.
	l, theirs := listen(t, "tcp4", "127.0.0.1:0")
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	others := startFamily(t, f)
	f.Close()
	l.Close()

	closed, nobodys := listen(t, "tcp4", "127.0.0.1:0")
	closed.Close()

	got, err := (&ServerFinder{FS: "/proc"}).Find([]int{ours, theirs, nobodys, 0, -1, 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(slices.Concat([]int{os.Getpid()}, family, others)))
	want := map[int]Server{ours: {[]int{os.Getpid()}, all}, theirs: {others, others}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func socket(port int, state string, inode int) string {
	return fmt.Sprintf("   0: 0100007F:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %d 1 0000000000000000 100 0 0 10 0\n", port, state, inode)
}

// withSockets is a proc file system with these processes and socket tables.
func withSockets(t *testing.T, all map[int]processtest.Process, tables map[string]string) FS {
	t.Helper()
	procfs := processtest.Host(t, all)
	for name, text := range tables {
		procfs.Write(t, "net/"+name, text)
	}
	return FS(procfs)
}

func TestFindInTree(t *testing.T) {
	procs := map[int]processtest.Process{
		1:   {Name: "init", Files: []string{"/dev/null", "socket:[900]"}},
		100: {Name: "vllm serve", Parent: 1, Files: []string{"/dev/null", "pipe:[5]", "socket:[501]", "socket:[777]"}},
		110: {Name: "odd) S 1 (name", Parent: 100, Files: []string{"/dev/null"}},
		120: {Name: "worker", Parent: 110},
		130: {Name: "worker", Parent: 110},
		200: {Name: "other", Parent: 1, Files: []string{"socket:[602]", "socket:[x]", "socket:[602"}},
		210: {Name: "its child", Parent: 200},
		// Its own ancestor in a torn reading.
		220: {Name: "a", Parent: 230, Files: []string{"socket:[602]"}},
		230: {Name: "b", Parent: 220},
		300: {Name: "two ports", Parent: 1, Files: []string{"socket:[502]", "socket:[603]"}},
	}
	root := withSockets(t, procs, map[string]string{
		"tcp": header + socket(8000, "01", 777) + socket(8000, "0A", 501) + socket(9999, "0A", 900) +
			socket(8001, "0A", 602),
		"tcp6": header + socket(8000, "0A", 502) + socket(8001, "0A", 0) + socket(8002, "0A", 603),
	})
	// Gone between the listing and the look, as processes are.
	if err := os.Mkdir(filepath.Join(string(root), "400"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := (&ServerFinder{FS: root}).Find([]int{8000, 8001, 8002, 8003})
	want := map[int]Server{
		8000: {[]int{100, 300}, []int{100, 110, 120, 130, 300}},
		8001: {[]int{200, 220}, []int{200, 210, 220, 230}},
		8002: {[]int{300}, []int{300}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestFindFails(t *testing.T) {
	if got, err := (&ServerFinder{FS: FS(t.TempDir())}).Find([]int{8000}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without socket tables: %v, %v", got, err)
	}
}

// The descriptors of all processes of a large host would be read at each poll. They are when
// something shows that others may hold the sockets, and now and then.
func TestWhenDescriptorsAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		procfs := processtest.Host(t, map[int]processtest.Process{7: {Parent: 1, Files: []string{"socket:[501]"}}})
		procfs.Write(t, "net/tcp", header+socket(8000, "0A", 501))
		f := ServerFinder{FS: FS(procfs)}
		expect := func(when string, listeners ...int) {
			t.Helper()
			servers, err := f.Find([]int{8000})
			if diff := cmp.Diff(listeners, servers[8000].Listeners); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", when, err, diff)
			}
		}
		expect("at first", 7)
		procfs.Add(t, 8, processtest.Process{Parent: 1, Files: []string{"socket:[501]", "socket:[502]"}})
		expect("nothing changed", 7)
		procfs.Write(t, "net/tcp", header+socket(8000, "0A", 501)+socket(8001, "0A", 502))
		expect("another port listens", 7)
		procfs.Write(t, "net/tcp", header+socket(8000, "0A", 502))
		expect("another socket listens", 8)
		procfs.Add(t, 9, processtest.Process{Parent: 1, Files: []string{"socket:[502]"}})
		procfs.Add(t, 8, processtest.Process{Parent: 1, Start: 1})
		expect("the holder's number is another process's", 9)
		procfs.Add(t, 10, processtest.Process{Parent: 1, Files: []string{"socket:[502]"}})
		procfs.End(t, 9)
		expect("the holder has ended", 10)
		procfs.Add(t, 11, processtest.Process{Parent: 1, Files: []string{"socket:[502]"}})
		time.Sleep(searchAgain)
		expect("not for long", 10)
		time.Sleep(time.Second)
		expect("after five minutes", 10, 11)
	})
}

// No name server is asked for an address, nor for localhost: the context has ended.
func TestLocalHostsOnThisMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := map[string]bool{"": true, "localhost": true, "a.localhost": true, "127.0.0.1": true, "::1": true, "192.0.2.1": false, "2001:db8::1": false}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		want[a.(*net.IPNet).IP.String()] = true
	}
	l := LocalHosts{Lookup: net.DefaultResolver.LookupNetIP}
	if diff := cmp.Diff(want, l.Among(ctx, slices.Collect(maps.Keys(want)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A name server that is slow or gone would keep the cards behind all targets from being found
// for as long as all names together take, at each poll.
func TestNamesAreLookedUpSideBySideAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		l := LocalHosts{Lookup: func(ctx context.Context, _, host string) ([]netip.Addr, error) {
			mu.Lock()
			asked[host]++
			mu.Unlock()
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(map[string]time.Duration{"gone": time.Hour}[host] + time.Second):
			}
			return map[string][]netip.Addr{
				"here":  {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")},
				"there": {netip.MustParseAddr("192.0.2.1")},
				"both":  {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1")},
			}[host], nil
		}}
		began := time.Now()
		for time.Since(began) < time.Hour-10*time.Second {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			got := l.Among(ctx, []string{"here", "there", "both", "here", "gone", "none"})
			cancel()
			want := map[string]bool{"here": true, "there": false, "both": false, "gone": false, "none": false}
			if diff := cmp.Diff(want, got); diff != "" || time.Since(start) > 2*time.Second {
				t.Fatalf("after %s (-want +got):\n%s", time.Since(start), diff)
			}
			time.Sleep(time.Until(start.Add(10 * time.Second)))
		}
		// Each five minutes, and each half minute what fails, to the poll behind that.
		if diff := cmp.Diff(map[string]int{"here": 12, "there": 12, "both": 12, "none": 12, "gone": 90}, asked); diff != "" {
			t.Errorf("lookups in an hour (-want +got):\n%s", diff)
		}
	})
}
