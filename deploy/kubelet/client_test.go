package kubelet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"

	ours "github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/kubelet"
)

// wanted are the resources of these tests.
func wanted(resource string, dynamic bool) bool {
	return strings.HasPrefix(resource, "metax-tech.com/") && !dynamic || resource == "npu.huawei.com" && dynamic
}

const patience = 30 * time.Second

// list asks, and returns the claims as "pod resource id".
func list(t *testing.T, c *ours.Client) ([]string, error) {
	t.Helper()
	claims, err := c.List(t.Context(), wanted)
	var told []string
	for _, c := range claims {
		told = append(told, c.Namespace+"/"+c.Pod+"/"+c.Container+" "+c.Resource+" "+c.ID)
	}
	return told, err
}

func TestListOfARealServer(t *testing.T) {
	path, k := kubelettest.Socket(t), &kubelet.Server{}
	kubelet.Serve(t, path, k.Register)
	k.Says(pod("b", "metax-tech.com/gpu", "GPU-2"), pod("idle", "cpu"), claimed("d", "claim", "npu.huawei.com", "npu-1", "npu-0"), claimed("x", "claim", "gpu.example.com", "0"),
		pod("a", "metax-tech.com/gpu", "GPU-1::1", "GPU-1::0"), pod("n", "example.com/nic", "eth0"))
	got, err := list(t, ours.New(path, patience))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"ns/a/c metax-tech.com/gpu GPU-1::0", "ns/a/c metax-tech.com/gpu GPU-1::1", "ns/b/c metax-tech.com/gpu GPU-2",
		"ns/d/c npu.huawei.com npu-0", "ns/d/c npu.huawei.com npu-1",
	}, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

// A kubelet that starts again makes another socket; the next question finds it.
func TestRestart(t *testing.T) {
	path, k := kubelettest.Socket(t), &kubelet.Server{}
	c := ours.New(path, patience)
	stop := kubelet.Serve(t, path, k.Register)
	k.Says(pod("a", "metax-tech.com/gpu", "GPU-1"))
	if got, err := list(t, c); err != nil || len(got) != 1 {
		t.Fatalf("got %v and %v", got, err)
	}
	stop()
	if _, err := list(t, c); err == nil || !strings.Contains(err.Error(), "nobody listens at the socket") {
		t.Errorf("while no kubelet runs: %v", err)
	}
	kubelet.Serve(t, path, k.Register)
	if got, err := list(t, c); err != nil || len(got) != 1 {
		t.Errorf("after the start: %v and %v", got, err)
	}
}

func TestAnswersOfARealServer(t *testing.T) {
	path, k := kubelettest.Socket(t), &kubelet.Server{}
	kubelet.Serve(t, path, k.Register)
	of := func(pods ...*v1.PodResources) kubelet.Answer { // made before the kubelet is asked, which has 5 s
		answer := response(pods...)
		return func(context.Context) (*v1.ListPodResourcesResponse, error) { return answer, nil }
	}
	for name, c := range map[string]struct {
		answer kubelet.Answer
		want   string // of the error, "" for none
	}{
		"an idle node": {of(), ""},
		"15 MiB":       {of(kubelet.Huge("example.com/memory", 15<<20)), ""},
		"17 MiB":       {of(kubelet.Huge("example.com/memory", 17<<20)), "more than 16777216"},
		"a rate limit": {kubelet.Refusal(codes.ResourceExhausted, "rejected by rate limit"), "status 8: rejected by rate limit"},
		"an error":     {kubelet.Refusal(codes.Internal, "100% \"ünglück\"\nand more"), "status 13: 100% \"ünglück\" and more"},
		"forbidden":    {kubelet.Refusal(codes.PermissionDenied, ""), "status 7"},
	} {
		k.Does(c.answer)
		_, err := ours.New(path, patience).List(t.Context(), wanted)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func response(pods ...*v1.PodResources) *v1.ListPodResourcesResponse {
	return &v1.ListPodResourcesResponse{PodResources: pods}
}

func TestHang(t *testing.T) {
	path, k := kubelettest.Socket(t), &kubelet.Server{}
	kubelet.Serve(t, path, k.Register)
	left := make(chan struct{})
	k.Does(func(ctx context.Context) (*v1.ListPodResourcesResponse, error) {
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	})
	if _, err := ours.New(path, 100*time.Millisecond).List(t.Context(), wanted); err == nil || !strings.Contains(err.Error(), "no whole answer within 100ms") {
		t.Errorf("got %v", err)
	}
	select { // the kubelet's side ends too
	case <-left:
	case <-time.After(patience):
		t.Error("the kubelet is still at work for a question that nobody waits for")
	}
}

func TestOldKubelet(t *testing.T) {
	path := kubelettest.Socket(t)
	kubelet.Serve(t, path, func(s *grpc.Server) {
		v1alpha1.RegisterPodResourcesListerServer(s, &old{pods: []*v1alpha1.PodResources{{Name: "a", Namespace: "ns", Containers: []*v1alpha1.ContainerResources{{
			Name: "c", Devices: []*v1alpha1.ContainerDevices{{ResourceName: "metax-tech.com/gpu", DeviceIds: []string{"GPU-1"}}},
		}}}}})
	})
	got, err := list(t, ours.New(path, patience))
	if diff := cmp.Diff([]string{"ns/a/c metax-tech.com/gpu GPU-1"}, got); diff != "" || err != nil {
		t.Errorf("%v; want (-) and got (+) differ:\n%s", err, diff)
	}
}

func TestServerOfAnotherAPI(t *testing.T) {
	path := kubelettest.Socket(t)
	kubelet.Serve(t, path, func(*grpc.Server) {})
	if _, err := list(t, ours.New(path, patience)); err == nil || !strings.Contains(err.Error(), "status 12: unknown service v1alpha1.PodResourcesLister") {
		t.Errorf("got %v", err)
	}
}
