package kube

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube/kubetest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const gpuResource = "metax-tech.com/gpu"

func ask(t testing.TB, socket string) ([]Claim, error) {
	t.Helper()
	return Kubelet{Socket: socket, Timeout: time.Minute}.Claims(t.Context())
}

// An id that no plugin makes costs its own claim alone.
func TestClaims(t *testing.T) {
	k := kubetest.New(t)
	k.Start(t)
	k.SetPods(
		kubetest.Pod("ns", "idle", "c", "cpu", "1"),
		kubetest.Pod("ns", "a", "vllm", gpuResource, uuid0, "", strings.Repeat("x", 100_000), uuid1+"::7"),
		kubetest.Pod("ns", "vm", "c", "metax-tech.com/vmemory", strings.Split(strings.Repeat("1,", 65_536), ",")...),
		kubetest.DynamicPod("ns", "d", "c", "claim", "npu.huawei.com", "npu-1"),
		kubetest.DynamicPod("ns", "x", "c", "claim", "gpu.example.com", "0"),
	)
	got, err := ask(t, k.Socket)
	if err != nil {
		t.Fatal(err)
	}
	in := Claim{Pod: Pod{Namespace: "ns", Name: "a"}, Container: "vllm", Vendor: "metax", Resource: gpuResource}
	whole, share, empty, long := in, in, in, in
	whole.Card = uuid0
	share.Card, share.Shared = uuid1, true
	empty.Problem = `allocated device "" of "metax-tech.com/gpu": of no known form`
	long.Problem = `allocated device "` + strings.Repeat("x", 160) + `" of "metax-tech.com/gpu": of no known form`
	want := []Claim{
		whole, empty, long, share,
		{
			Pod: Pod{Namespace: "ns", Name: "vm"}, Container: "c", Vendor: "metax", Resource: "metax-tech.com/vmemory",
			Problem: `allocated devices of "metax-tech.com/vmemory": such ids name no card`,
		},
		{Pod: Pod{Namespace: "ns", Name: "d"}, Container: "c", Vendor: "ascend", Resource: "npu.huawei.com", ResourceClaim: "ns/claim", Card: "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	refuses := func(code codes.Code, text string) string {
		k := kubetest.New(t)
		k.Start(t)
		k.SetAnswer(func(context.Context) ([]*v1.PodResources, error) { return nil, status.Error(code, text) })
		return k.Socket
	}
	large, notServed, raw := kubetest.New(t), kubetest.New(t), kubetest.New(t)
	large.Start(t)
	large.SetPods(kubetest.Pod("ns", "a", "c", gpuResource, strings.Repeat("x", 17<<20)))
	notServed.Listen(t).Close()
	folder := t.TempDir()
	for name, c := range map[string]struct {
		socket string
		reason failure.Reason
		text   string
	}{
		"no socket":         {filepath.Join(folder, "none"), failure.NotFound, "no such file"},
		"nobody listens":    {notServed.Socket, failure.Driver, "connection refused"},
		"no socket at all":  {folder, failure.Driver, "connection refused"},
		"no gRPC":           {greets(t, raw, "SSH-2.0-OpenSSH_9.2\r\n\r\n"), failure.Driver, "Unavailable"},
		"17 MiB":            {large.Socket, failure.OutputTooLarge, "larger than max"},
		"a rate limit":      {refuses(codes.ResourceExhausted, "rejected by rate limit"), failure.Busy, "rejected by rate limit"},
		"forbidden":         {refuses(codes.PermissionDenied, "go away"), failure.Permission, "go away"},
		"no such API":       {refuses(codes.Unimplemented, "no"), failure.Unsupported, "no"},
		"starting":          {refuses(codes.Unavailable, "wait"), failure.Driver, "wait"},
		"too slow itself":   {refuses(codes.DeadlineExceeded, "late"), failure.Timeout, "late"},
		"an error":          {refuses(codes.Internal, "ünglück\n\x1b[31mand more"), failure.Exit, "ünglück  [31mand more"},
		"an endless reason": {refuses(codes.Unknown, strings.Repeat("x", 5000)), failure.Exit, "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ask(t, c.socket)
			if got != nil || failure.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 400 {
				t.Errorf("got %v and %v of the class %q, want the class %s and %q", got, err, failure.ReasonOf(err), c.reason, c.text)
			}
		})
	}
}

// greets sits at a socket and says the same to everybody.
func greets(t *testing.T, k *kubetest.Kubelet, text string) string {
	t.Helper()
	listener := k.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return k.Socket
}

func TestReasonOfDialing(t *testing.T) {
	for number, want := range map[syscall.Errno]failure.Reason{
		syscall.ENOENT: failure.NotFound, syscall.EACCES: failure.Permission, syscall.EPERM: failure.Permission, syscall.EAGAIN: failure.Driver,
	} {
		if got := reasonOf(&net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", number)}); got != want {
			t.Errorf("%v is of the class %s, want %s", number, got, want)
		}
	}
}

// A kubelet that hangs, or never says a word, is left at the deadline.
func TestTimeout(t *testing.T) {
	k, mute := kubetest.New(t), kubetest.New(t)
	k.Start(t)
	left := make(chan struct{})
	k.SetAnswer(func(ctx context.Context) ([]*v1.PodResources, error) {
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	})
	listener := mute.Listen(t)
	defer listener.Close()
	for _, socket := range []string{k.Socket, mute.Socket} {
		_, err := Kubelet{Socket: socket, Timeout: 100 * time.Millisecond}.Claims(t.Context())
		if failure.ReasonOf(err) != failure.Timeout {
			t.Errorf("%v is of the class %s", err, failure.ReasonOf(err))
		}
	}
	select {
	case <-left:
	case <-time.After(30 * time.Second):
		t.Error("the kubelet still works for a question that nobody waits for")
	}
}

// A kubelet that starts again makes another socket.
func TestRestart(t *testing.T) {
	k := kubetest.New(t)
	k.SetPods(kubetest.Pod("ns", "a", "c", gpuResource, uuid0))
	for range 2 {
		stop := k.Start(t)
		if got, err := ask(t, k.Socket); err != nil || len(got) != 1 {
			t.Errorf("got %v and %v", got, err)
		}
		stop()
		if _, err := ask(t, k.Socket); failure.ReasonOf(err) != failure.Driver {
			t.Errorf("while no kubelet runs: %v", err)
		}
	}
}

// A failing kubelet leaves no goroutine and no file behind, however often it is asked.
func TestNothingGrows(t *testing.T) {
	dead, rude := kubetest.New(t), kubetest.New(t)
	dead.Listen(t).Close()
	greets(t, rude, "")
	count := func() (goroutines, files int) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return runtime.NumGoroutine(), len(open)
	}
	round := func(n int) {
		for range n {
			for _, socket := range []string{dead.Socket, rude.Socket} {
				if _, err := ask(t, socket); failure.ReasonOf(err) != failure.Driver {
					t.Fatal(err)
				}
			}
		}
	}
	round(20)
	goroutines, files := count()
	round(300)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if g, f := count(); g <= goroutines+2 && f <= files+2 {
			return
		}
	}
	g, f := count()
	t.Errorf("from %d goroutines and %d files to %d and %d", goroutines, files, g, f)
}
