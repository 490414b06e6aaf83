// Package kubetest stands in for a kubelet's PodResources API in tests.
package kubetest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet answers at a socket. What it answers can be changed at any time.
type Kubelet struct {
	v1.UnimplementedPodResourcesListerServer
	Socket string
	mu     sync.Mutex
	answer func(ctx context.Context) ([]*v1.PodResources, error)
}

// New returns a kubelet without pods, which is not started. Its socket has a folder of its own: the name of a
// test's folder can be too long for one.
func New(t testing.TB) *Kubelet {
	t.Helper()
	folder, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	k := &Kubelet{Socket: filepath.Join(folder, "kubelet.sock")}
	k.SetPods()
	return k
}

// Start serves until the test ends, or stop is called. It makes another socket each time, which stays, as a kubelet does.
func (k *Kubelet) Start(t testing.TB) (stop func()) {
	t.Helper()
	listener, server := k.Listen(t), grpc.NewServer()
	v1.RegisterPodResourcesListerServer(server, k)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	stop = sync.OnceFunc(func() { server.Stop(); <-done })
	t.Cleanup(stop)
	return stop
}

// Listen makes the socket, in the place of one that was there. It stays when the listener is closed.
func (k *Kubelet) Listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: k.Socket + ".new"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(k.Socket+".new", k.Socket); err != nil {
		t.Fatal(err)
	}
	return listener
}

// SetPods has it answer with these pods.
func (k *Kubelet) SetPods(pods ...*v1.PodResources) {
	k.SetAnswer(func(context.Context) ([]*v1.PodResources, error) { return pods, nil })
}

// SetAnswer has it call answer for each question.
func (k *Kubelet) SetAnswer(answer func(ctx context.Context) ([]*v1.PodResources, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = answer
}

// List is of the API.
func (k *Kubelet) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	k.mu.Lock()
	answer := k.answer
	k.mu.Unlock()
	pods, err := answer(ctx)
	return &v1.ListPodResourcesResponse{PodResources: pods}, err
}

// Pod has one container with these devices of a device plugin.
func Pod(namespace, name, container, resource string, ids ...string) *v1.PodResources {
	return &v1.PodResources{Namespace: namespace, Name: name, Containers: []*v1.ContainerResources{{
		Name: container, Devices: []*v1.ContainerDevices{{ResourceName: resource, DeviceIds: ids}},
	}}}
}

// DynamicPod has one container with devices of a DRA driver, by a ResourceClaim of its namespace.
func DynamicPod(namespace, name, container, claim, driver string, devices ...string) *v1.PodResources {
	r := &v1.DynamicResource{ClaimNamespace: namespace, ClaimName: claim}
	for _, d := range devices {
		r.ClaimResources = append(r.ClaimResources, &v1.ClaimResource{DriverName: driver, PoolName: "node", DeviceName: d})
	}
	return &v1.PodResources{Namespace: namespace, Name: name, Containers: []*v1.ContainerResources{{
		Name: container, DynamicResources: []*v1.DynamicResource{r},
	}}}
}
