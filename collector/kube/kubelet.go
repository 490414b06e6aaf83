// Package kube asks the kubelet which devices it allocated to which container, and
// joins them with the cards that the vendors' tools show.
package kube

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const (
	// maxTimeout bounds one question: a kubelet answers from memory.
	maxTimeout = 5 * time.Second
	// maxAnswer is the most bytes of an answer. A usual one has less than 100 KiB.
	maxAnswer = 16 << 20
)

// Kubelet is the PodResources API of a kubelet.
type Kubelet struct {
	Socket  string        // path of a unix socket
	Timeout time.Duration // of one question, 5 s at most
	// TrustAscend says that the ids of Ascend's device plugin name cards: neither volcano nor HAMi hands them out.
	TrustAscend bool
}

// Pod is a pod's name in its namespace.
type Pod struct {
	Namespace, Name string
}

func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Claim is one device that the kubelet allocated to a container.
type Claim struct {
	Pod       Pod
	Container string
	Vendor    string
	// Resource is a device plugin's resource, or the name of a DRA driver.
	Resource string
	// ResourceClaim is "namespace/name" of DRA's claim, "" for a device plugin's device. Pods that share a claim share its devices.
	ResourceClaim string
	// Card is the card's UUID, bus id or number, "" where the id of the device names none: then Problem says why.
	Card    string
	Problem string
	// Shared says that the device is a part of the card, so that other pods may have other parts.
	Shared bool
}

// Claims returns the allocated devices of the known vendors, each at least once. The error is a *failure.Error.
func (k Kubelet) Claims(ctx context.Context) ([]Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, min(k.Timeout, maxTimeout))
	defer cancel()
	answer, err := k.list(ctx)
	if err != nil {
		return nil, failure.Errorf(reasonOf(err), "asking the kubelet at %q: %s", k.Socket, smitext.Excerpt([]byte(err.Error())))
	}
	var claims []Claim
	add := func(pod *v1.PodResources, container, resource, id, resourceClaim string) {
		if vendor := vendorOf(resource); vendor != "" {
			c := Claim{
				Pod: Pod{pod.GetNamespace(), pod.GetName()}, Container: container,
				Vendor: vendor, Resource: resource, ResourceClaim: resourceClaim,
			}
			c.Card, c.Shared, c.Problem = readID(resource, id, k.TrustAscend)
			claims = append(claims, c)
		}
	}
	for _, pod := range answer.GetPodResources() {
		for _, c := range pod.GetContainers() {
			for _, d := range c.GetDevices() {
				for _, id := range d.GetDeviceIds() {
					add(pod, c.GetName(), d.GetResourceName(), id, "")
				}
			}
			for _, r := range c.GetDynamicResources() {
				for _, d := range r.GetClaimResources() {
					add(pod, c.GetName(), d.GetDriverName(), d.GetDeviceName(), r.GetClaimNamespace()+"/"+r.GetClaimName())
				}
			}
		}
	}
	return slices.Compact(claims), nil // a resource with an id for each MiB has one claim here
}

// list asks over a connection of its own: a kubelet that starts again makes another socket.
func (k Kubelet) list(ctx context.Context) (*v1.ListPodResourcesResponse, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", k.Socket) // not by gRPC, whose error would not say what failed
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	client, err := grpc.NewClient("passthrough:///kubelet",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn, nil }))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return v1.NewPodResourcesListerClient(client).List(ctx, &v1.ListPodResourcesRequest{}, grpc.MaxCallRecvMsgSize(maxAnswer))
}

// reasonOf is the class of an error of dialing or of gRPC.
func reasonOf(err error) failure.Reason {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.NotFound
	case errors.Is(err, fs.ErrPermission):
		return failure.Permission
	}
	if opErr := (*net.OpError)(nil); errors.As(err, &opErr) {
		if errors.Is(err, context.DeadlineExceeded) {
			return failure.Timeout
		}
		return failure.Driver
	}
	switch s := status.Convert(err); s.Code() {
	case codes.DeadlineExceeded:
		return failure.Timeout
	case codes.PermissionDenied, codes.Unauthenticated:
		return failure.Permission
	case codes.ResourceExhausted: // gRPC's own bound, or the kubelet's rate limit
		if strings.Contains(s.Message(), "larger than max") {
			return failure.OutputTooLarge
		}
		return failure.Busy
	case codes.Unimplemented:
		return failure.Unsupported
	case codes.Unavailable:
		return failure.Driver
	}
	return failure.Exit
}
