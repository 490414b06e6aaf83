package kubelet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	ours "github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
)

// expected is what the real code reads in an answer, and whether ours may refuse it: for a name that cannot be a
// label, or for its size.
func expected(r *v1.ListPodResourcesResponse) (claims []ours.Claim, mayRefuse bool) {
	const longest, pods, devices = 253, 8192, 4096
	n := 0
	add := func(p *v1.PodResources, c *v1.ContainerResources, resource, id string, of *v1.DynamicResource) {
		if !wanted(resource, of != nil) {
			return
		}
		n++
		claim := ours.Claim{Namespace: p.Namespace, Pod: p.Name, Container: c.Name, Resource: resource, ID: id}
		texts := []string{claim.Namespace, claim.Pod, claim.Container, claim.Resource, claim.ID}
		if of != nil {
			claim.Dynamic, claim.ResourceClaim = true, ours.ResourceClaim{Namespace: of.ClaimNamespace, Name: of.ClaimName}
			texts = append(texts, of.ClaimNamespace, of.ClaimName)
		}
		for _, text := range texts {
			mayRefuse = mayRefuse || text == "" || len(text) > longest
		}
		if !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	for _, p := range r.PodResources {
		for _, c := range p.Containers {
			for _, d := range c.Devices {
				for _, id := range d.DeviceIds {
					add(p, c, d.ResourceName, id, nil)
				}
			}
			for _, d := range c.DynamicResources {
				for _, device := range d.ClaimResources {
					add(p, c, device.DriverName, device.DeviceName, d)
				}
			}
		}
	}
	return claims, mayRefuse || len(r.PodResources) > pods || n > devices
}

// agree fails where the real code reads an answer and ours reads another, or refuses it for no reason.
func agree(t *testing.T, answer []byte) {
	t.Helper()
	var read v1.ListPodResourcesResponse
	if proto.Unmarshal(answer, &read) != nil {
		_, _ = ours.Decode(answer, wanted) // must not panic
		return
	}
	want, mayRefuse := expected(&read)
	got, err := ours.Decode(answer, wanted)
	switch {
	case err == nil && mayRefuse:
		t.Errorf("%q is read as %v", answer, got)
	case err != nil && !mayRefuse:
		t.Errorf("%q is refused: %v", answer, err)
	case err == nil:
		slices.SortFunc(want, byText)
		slices.SortFunc(got, byText)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: real (-) and ours (+) differ:\n%s", answer, diff)
		}
	}
}

func byText(a, b ours.Claim) int {
	text := func(c ours.Claim) string {
		dynamic := "device"
		if c.Dynamic {
			dynamic = "dynamic"
		}
		return strings.Join([]string{c.Namespace, c.Pod, c.Container, c.Resource, c.ID, dynamic, c.ResourceClaim.Namespace, c.ResourceClaim.Name}, "\x00")
	}
	return strings.Compare(text(a), text(b))
}

// seeds are answers of every kind that the real code makes.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, r := range []*v1.ListPodResourcesResponse{
		{},
		response(pod("a", "metax-tech.com/gpu", "GPU-1", "GPU-1::2"), pod("b", "cpu", "0"), claimed("d", "shared", "npu.huawei.com", "npu-1")),
		response(claimed("d", "shared", "npu.huawei.com", "npu-1"), claimed("e", "shared", "npu.huawei.com", "npu-1"), claimed("e", "own", "gpu.example.com", "npu-1")),
		response(claimed("d", "", "npu.huawei.com", "npu-1")),
		response(pod("", "metax-tech.com/gpu", "1")),
		response(pod("a", "metax-tech.com/gpu", "")),
		response(pod(strings.Repeat("a", 254), "metax-tech.com/gpu", "1")),
		response(pod("ü", "metax-tech.com/sgpu", "1"), pod("ü", "metax-tech.com/sgpu", "1")),
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// Ours reads what the real code reads, of whole answers, of answers one behind the other, which is one message, and of
// every cut and every changed byte of them.
func TestDecodersAgree(t *testing.T) {
	all := seeds(t)
	for _, one := range slices.Clone(all) {
		all = append(all, slices.Concat(one, all[1]))
	}
	for _, answer := range all {
		agree(t, answer)
		for i := range answer {
			agree(t, answer[:i])
			for _, to := range []byte{0, 1, 0x0a, 0x12, 0x7f, 0x80, 0xff, answer[i] ^ 1, answer[i] + 8} {
				changed := slices.Clone(answer)
				changed[i] = to
				agree(t, changed)
			}
		}
	}
}

func FuzzDecodersAgree(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add([]byte("\x0a\x09\x0a\x01a\x13\x12\x00\x14\x08\x01"))
	f.Fuzz(agree)
}
