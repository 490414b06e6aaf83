package kubelet_test

import (
	"context"

	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/kubelet"
)

// old is a kubelet that knows the old version of the API alone.
type old struct {
	v1alpha1.UnimplementedPodResourcesListerServer
	pods []*v1alpha1.PodResources
}

func (o *old) List(context.Context, *v1alpha1.ListPodResourcesRequest) (*v1alpha1.ListPodResourcesResponse, error) {
	return &v1alpha1.ListPodResourcesResponse{PodResources: o.pods}, nil
}

// pod is one of the namespace ns, whose container is c.
func pod(name, resource string, ids ...string) *v1.PodResources {
	return kubelet.Pod("ns", name, "c", resource, ids...)
}

// claimed is a pod with devices of a DRA driver, by a ResourceClaim.
func claimed(name, claim, driver string, devices ...string) *v1.PodResources {
	var claims []*v1.ClaimResource
	for _, d := range devices {
		claims = append(claims, &v1.ClaimResource{DriverName: driver, PoolName: "node", DeviceName: d, CdiDevices: []*v1.CDIDevice{{Name: driver + "/kind=" + d}}})
	}
	return &v1.PodResources{Name: name, Namespace: "ns", Containers: []*v1.ContainerResources{{
		Name: "c", DynamicResources: []*v1.DynamicResource{{ClaimName: claim, ClaimNamespace: "ns", ClaimResources: claims}},
	}}}
}
