// Package kubelet stands in for a kubelet's PodResources API in tests, with the real
// gRPC library and the real generated code. Its own tests hold the exporter's client
// against both.
package kubelet

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Answer is what a kubelet does about one List.
type Answer func(ctx context.Context) (*v1.ListPodResourcesResponse, error)

// Server answers as a test tells it. It can be told anew at any time.
type Server struct {
	v1.UnimplementedPodResourcesListerServer
	mu     sync.Mutex
	answer Answer
}

// List is of the API.
func (s *Server) List(ctx context.Context, _ *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	return answer(ctx)
}

// Says has it answer with these pods.
func (s *Server) Says(pods ...*v1.PodResources) {
	s.Does(func(context.Context) (*v1.ListPodResourcesResponse, error) {
		return &v1.ListPodResourcesResponse{PodResources: pods}, nil
	})
}

// Does has it answer so.
func (s *Server) Does(answer Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Register makes it a service of a gRPC server.
func (s *Server) Register(to *grpc.Server) { v1.RegisterPodResourcesListerServer(to, s) }

// Refusal is an error as a kubelet sends it.
func Refusal(code codes.Code, text string) Answer {
	return func(context.Context) (*v1.ListPodResourcesResponse, error) { return nil, status.Error(code, text) }
}

// Serve serves at a socket until the test ends, or stop is called.
func Serve(t testing.TB, socket string, register func(*grpc.Server)) (stop func()) {
	t.Helper()
	listener := Listen(t, socket)
	server := grpc.NewServer()
	register(server)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	stop = sync.OnceFunc(func() { server.Stop(); <-done })
	t.Cleanup(stop)
	return stop
}

// Listen makes a socket as a kubelet does when it starts: under another name first, which then takes the place of what
// was there. Closing the listener leaves the socket, as a kubelet that ends does.
func Listen(t testing.TB, socket string) net.Listener {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket + ".new"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(socket+".new", socket); err != nil {
		t.Fatal(err)
	}
	return listener
}

// Pod has one container with these devices, in two NUMA nodes as a kubelet tells it: an entry for each id and node.
func Pod(namespace, name, container, resource string, ids ...string) *v1.PodResources {
	var devices []*v1.ContainerDevices
	for _, id := range ids {
		for node := range int64(2) {
			devices = append(devices, &v1.ContainerDevices{
				ResourceName: resource, DeviceIds: []string{id}, Topology: &v1.TopologyInfo{Nodes: []*v1.NUMANode{{ID: node}}},
			})
		}
	}
	return &v1.PodResources{Name: name, Namespace: namespace, Containers: []*v1.ContainerResources{{
		Name: container, Devices: devices, CpuIds: []int64{1, 2, 300}, Memory: []*v1.ContainerMemory{{MemoryType: "memory", Size: 1 << 40}},
	}}}
}

// Huge is a pod with so many bytes of ids of a resource.
func Huge(resource string, size int) *v1.PodResources {
	const each = 128
	ids := make([]string, size/each)
	for i := range ids {
		ids[i] = fmt.Sprintf("%0*d", each-2, i)
	}
	return &v1.PodResources{Name: "huge", Namespace: "ns", Containers: []*v1.ContainerResources{{
		Name: "c", Devices: []*v1.ContainerDevices{{ResourceName: resource, DeviceIds: ids}},
	}}}
}
