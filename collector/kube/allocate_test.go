package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// claim is a device of pod "ns/<pod>".
func claim(pod, resource, id string) Claim {
	c := Claim{Pod: Pod{"ns", pod}, Container: "c", Vendor: vendorOf(resource), Resource: resource}
	c.Card, c.Shared, c.Problem = readID(resource, id, true)
	return c
}

func gpu(pod, id string) Claim { return claim(pod, "metax-tech.com/gpu", id) }

func npu(pod, id string) Claim { return claim(pod, "huawei.com/Ascend910", id) }

// dra is a card that a pod has by a ResourceClaim.
func dra(pod, resourceClaim, id string) Claim {
	c := claim(pod, "npu.huawei.com", id)
	c.ResourceClaim = "ns/" + resourceClaim
	return c
}

func TestAllocate(t *testing.T) {
	// Two cards of each vendor, with three processes.
	vendors := func(pods map[string]string) []Vendor {
		metax := model.Snapshot{
			Devices:   []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}},
			Processes: []model.Process{{Device: "0", PID: "10"}, {Device: "1", PID: "11"}},
		}
		ascend := model.Snapshot{Devices: []model.Device{{ID: "0"}, {ID: "3"}}, Processes: []model.Process{{Device: "3", PID: "33"}, {Device: "0", PID: "33"}}}
		for pid, pod := range pods {
			placement := model.Placement{PID: pid, Container: model.Container{Namespace: "ns", Pod: pod}}
			metax.Placements, ascend.Placements = append(metax.Placements, placement), append(ascend.Placements, placement)
		}
		return []Vendor{{"metax", &metax}, {"ascend", &ascend}}
	}
	type want struct {
		Series        []string // vendor, device and pod
		Metax, Ascend []string // conflicts
		Warnings      []string
	}
	const doubled = "is allocated to 2 pods, and to one of them as a whole: no allocation of"
	for name, c := range map[string]struct {
		claims []Claim
		pods   map[string]string
		want   want
	}{
		"nothing":      {},
		"an idle card": {claims: []Claim{gpu("a", uuid0)}, want: want{Series: []string{"metax 0 a"}}},
		"an id for each NUMA node": {
			claims: []Claim{gpu("a", uuid0), gpu("a", uuid0)}, want: want{Series: []string{"metax 0 a"}},
		},
		"shares of one card": {
			claims: []Claim{gpu("a", uuid0+"::0"), gpu("a", uuid0+"::1"), gpu("b", uuid0+"::2")}, want: want{Series: []string{"metax 0 a", "metax 0 b"}},
		},
		"one whole card of two pods": {
			claims: []Claim{gpu("a", uuid0), gpu("ended", uuid0), gpu("b", uuid1), npu("n", "Ascend910-0")},
			want:   want{Series: []string{"ascend 0 n"}, Metax: []string{"metax card 0 " + doubled + " metax is exported"}},
		},
		"a whole card, and a share of it": {
			claims: []Claim{gpu("a", uuid0), gpu("b", uuid0+"::1")}, want: want{Metax: []string{"metax card 0 " + doubled + " metax is exported"}},
		},
		"one ResourceClaim of two pods": {
			claims: []Claim{dra("a", "shared", "npu-0"), dra("b", "shared", "npu-0"), dra("b", "own", "npu-3")},
			pods:   map[string]string{"33": "b"}, want: want{Series: []string{"ascend 0 a", "ascend 0 b", "ascend 3 b"}},
		},
		"two ResourceClaims on one card": {
			claims: []Claim{dra("a", "first", "npu-0"), dra("b", "second", "npu-0")},
			want:   want{Ascend: []string{"ascend card 0 " + doubled + " ascend is exported"}},
		},
		"a ResourceClaim, and a device plugin's": {
			claims: []Claim{dra("a", "shared", "npu-0"), npu("b", "Ascend910-0")},
			want:   want{Ascend: []string{"ascend card 0 " + doubled + " ascend is exported"}},
		},
		"ids without a card": {
			claims: []Claim{gpu("a", "GPU-00000000-0000-0000-0000-000000000000"), claim("a", "metax-tech.com/sgpu", "1"), claim("b", "metax-tech.com/sgpu", "2"), gpu("c", ""), gpu("d", uuid1)},
			want: want{Series: []string{"metax 1 d"}, Warnings: []string{
				`allocated card "GPU-00000000-0000-0000-0000-000000000000" of "metax-tech.com/gpu": the tool shows no such card`,
				`allocated device "" of "metax-tech.com/gpu": of no known form`,
				`allocated devices of "metax-tech.com/sgpu": such ids name no card`,
			}},
		},
		"processes where they belong": {
			claims: []Claim{gpu("a", uuid0), gpu("b", uuid1), npu("n", "Ascend910-0"), npu("n", "Ascend910-3")},
			pods:   map[string]string{"10": "a", "11": "b", "33": "n"},
			want:   want{Series: []string{"metax 0 a", "metax 1 b", "ascend 0 n", "ascend 3 n"}},
		},
		"a process on another pod's card": {
			claims: []Claim{gpu("a", uuid1), gpu("b", uuid0), npu("n", "Ascend910-0")}, pods: map[string]string{"10": "a"},
			want: want{Series: []string{"ascend 0 n"}, Metax: []string{
				"process 10 on metax card 0 runs in pod ns/a, which was allocated other cards: no allocation of metax is exported",
			}},
		},
		"a process of a pod without a claim": {
			claims: []Claim{gpu("a", uuid1)}, pods: map[string]string{"10": "monitor"}, want: want{Series: []string{"metax 1 a"}},
		},
		"a process of a pod with a claim of the other vendor": {
			claims: []Claim{npu("a", "Ascend910-3"), gpu("b", uuid0)}, pods: map[string]string{"10": "a"},
			want: want{Series: []string{"metax 0 b", "ascend 3 a"}},
		},
		"a process of a pod with a slice of some card": {
			claims: []Claim{gpu("a", uuid1), claim("a", "metax-tech.com/sgpu", "x")}, pods: map[string]string{"10": "a"},
			want: want{Series: []string{"metax 1 a"}, Warnings: []string{`allocated devices of "metax-tech.com/sgpu": such ids name no card`}},
		},
	} {
		r := Allocate(c.claims, vendors(c.pods))
		got := want{Metax: r.Conflicts["metax"], Ascend: r.Conflicts["ascend"], Warnings: r.Warnings.Texts}
		for _, a := range r.Allocations {
			got.Series = append(got.Series, a.Vendor+" "+a.Device+" "+a.Pod.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

// A vendor that shows nothing now has neither claims nor conflicts, not even 0.
func TestAllocateWithoutATable(t *testing.T) {
	r := Allocate([]Claim{gpu("a", uuid0), npu("n", "Ascend910-3")}, []Vendor{{"ascend", &model.Snapshot{Devices: []model.Device{{ID: "3"}}}}})
	want := Result{
		Allocations: []Allocation{{Vendor: "ascend", Device: "3", Resource: "huawei.com/Ascend910", Pod: Pod{"ns", "n"}, Container: "c"}},
		Conflicts:   map[string][]string{"ascend": nil},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}
