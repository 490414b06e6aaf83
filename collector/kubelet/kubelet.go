// Package kubelet asks the kubelet which devices it allocated to which
// container: List of the PodResources API, a gRPC service on a unix socket.
package kubelet

import (
	"cmp"
	"strings"
)

// compare orders claims by what they say, since a kubelet's order is another each time.
func compare(a, b Claim) int {
	dynamic := 0
	if a.Dynamic != b.Dynamic {
		dynamic = 1
		if b.Dynamic {
			dynamic = -1
		}
	}
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container),
		strings.Compare(a.Resource, b.Resource), strings.Compare(a.ID, b.ID), dynamic,
		strings.Compare(a.ResourceClaim.Namespace, b.ResourceClaim.Namespace), strings.Compare(a.ResourceClaim.Name, b.ResourceClaim.Name))
}
