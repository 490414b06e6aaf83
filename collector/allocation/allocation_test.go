package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

func claim(pod, resource, id string) kubelet.Claim {
	return kubelet.Claim{Namespace: "ns", Pod: pod, Container: "c", Resource: resource, ID: id}
}

func card(pod, id string) kubelet.Claim { return claim(pod, "metax-tech.com/gpu", id) }

func npu(pod, id string) kubelet.Claim { return claim(pod, "huawei.com/Ascend910", id) }

// dra is a card that a pod has by a ResourceClaim.
func dra(pod, resourceClaim, id string) kubelet.Claim {
	c := claim(pod, "npu.huawei.com", id)
	c.Dynamic, c.ResourceClaim = true, kubelet.ResourceClaim{Namespace: "ns", Name: resourceClaim}
	return c
}

func runs(vendor, pid, pod string) container.Process {
	return container.Process{Vendor: vendor, PID: pid, Place: container.Place{Namespace: "ns", Pod: pod}}
}

// host has two cards of each vendor, and these processes.
func host(processes map[string][]model.Process) []Vendor {
	return []Vendor{
		{Name: "metax", Fresh: true, Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}, Processes: processes["metax"]},
		{Name: "ascend", Fresh: true, Devices: []model.Device{{ID: "0"}, {ID: "3"}}, Processes: processes["ascend"]},
	}
}

// told is what a user sees: vendor, device and pod of each series, and vendor and key of each conflict.
func told(r Result) (series, conflicts, unmatched []string) {
	for _, a := range r.Allocations {
		series = append(series, a.Vendor+" "+a.Device+" "+a.Pod)
	}
	for _, c := range r.Conflicts {
		conflicts = append(conflicts, c.Key)
	}
	for _, u := range r.Unmatched {
		unmatched = append(unmatched, u.Text)
	}
	return series, conflicts, unmatched
}

func TestEvaluate(t *testing.T) {
	processes := map[string][]model.Process{
		"metax":  {{Device: "0", PID: "10"}, {Device: "1", PID: "11"}},
		"ascend": {{Device: "3", PID: "33"}, {Device: "0", PID: "33"}},
	}
	for _, c := range []struct {
		name      string
		claims    []kubelet.Claim
		places    []container.Process
		before    []Conflict
		series    []string
		conflicts []string
		unmatched []string
	}{
		{name: "nothing"},
		{name: "an idle card", claims: []kubelet.Claim{card("a", uuid0)}, series: []string{"metax 0 a"}},
		{
			name: "shares of one card", claims: []kubelet.Claim{card("a", uuid0+"::0"), card("a", uuid0+"::1"), card("b", uuid0+"::2")},
			series: []string{"metax 0 a", "metax 0 b"},
		},
		{
			name: "one whole card of two pods", claims: []kubelet.Claim{card("a", uuid0), card("ended", uuid0), card("b", uuid1)},
			series: []string{"metax 1 b"}, conflicts: []string{"card metax " + uuid0},
		},
		{
			name: "a whole card, and a share of it", claims: []kubelet.Claim{card("a", uuid0), card("b", uuid0+"::1")},
			conflicts: []string{"card metax " + uuid0},
		},
		{
			name: "one ResourceClaim of two pods", claims: []kubelet.Claim{dra("a", "shared", "npu-0"), dra("b", "shared", "npu-0"), dra("b", "own", "npu-3")},
			places: []container.Process{runs("ascend", "33", "b")}, series: []string{"ascend 0 a", "ascend 0 b", "ascend 3 b"},
		},
		{
			name: "two ResourceClaims on one card", claims: []kubelet.Claim{dra("a", "first", "npu-0"), dra("b", "second", "npu-0")},
			conflicts: []string{"card ascend 0"},
		},
		{
			name: "a third pod's ResourceClaim beside one of two", claims: []kubelet.Claim{dra("a", "shared", "npu-0"), dra("b", "shared", "npu-0"), dra("c", "own", "npu-0"), dra("c", "own", "npu-3")},
			series: []string{"ascend 3 c"}, conflicts: []string{"card ascend 0"},
		},
		{
			name: "one pod by two ResourceClaims", claims: []kubelet.Claim{dra("a", "first", "npu-0"), dra("a", "second", "npu-0")},
			series: []string{"ascend 0 a"},
		},
		{
			name: "a ResourceClaim, and a device plugin's", claims: []kubelet.Claim{dra("a", "shared", "npu-0"), npu("b", "Ascend910-0")},
			conflicts: []string{"card ascend 0"},
		},
		{
			name: "ResourceClaims of one name in two namespaces", claims: []kubelet.Claim{dra("a", "shared", "npu-0"), {
				Namespace: "other", Pod: "b", Container: "c", Resource: "npu.huawei.com", ID: "npu-0", Dynamic: true, ResourceClaim: kubelet.ResourceClaim{Namespace: "other", Name: "shared"},
			}},
			conflicts: []string{"card ascend 0"},
		},
		{name: "a card that is not there", claims: []kubelet.Claim{card("a", "GPU-00000000-0000-0000-0000-000000000000")}, unmatched: []string{
			`allocated device "GPU-00000000-0000-0000-0000-000000000000" of "metax-tech.com/gpu": the tool shows no such card`,
		}},
		{name: "a UUID in other letters", claims: []kubelet.Claim{card("a", "GPU-A16AC188-0592-5c8f-2b6e-8bd8e7a604a9")}, unmatched: []string{
			`allocated device "GPU-A16AC188-0592-5c8f-2b6e-8bd8e7a604a9" of "metax-tech.com/gpu": the tool shows no such card`,
		}},
		{name: "an unknown id", claims: []kubelet.Claim{card("a", "x\ny")}, unmatched: []string{
			`allocated device "x\ny" of "metax-tech.com/gpu": of no known form`,
		}},
		{name: "two ids that name no card", claims: []kubelet.Claim{claim("a", "metax-tech.com/sgpu", "1"), claim("b", "metax-tech.com/sgpu", "2")}, unmatched: []string{
			`allocated devices of "metax-tech.com/sgpu": such ids name no card`, `allocated devices of "metax-tech.com/sgpu": such ids name no card`,
		}},
		{
			name: "processes where they belong", claims: []kubelet.Claim{card("a", uuid0), card("b", uuid1), npu("n", "Ascend910-0"), npu("n", "Ascend910-3")},
			places: []container.Process{runs("metax", "10", "a"), runs("metax", "11", "b"), runs("ascend", "33", "n")},
			series: []string{"ascend 0 n", "ascend 3 n", "metax 0 a", "metax 1 b"},
		},
		{
			name: "a process on another pod's card", claims: []kubelet.Claim{card("a", uuid1), card("b", uuid0), npu("n", "Ascend910-0")},
			places: []container.Process{runs("metax", "10", "a")},
			series: []string{"ascend 0 n"}, conflicts: []string{"process metax 10"},
		},
		{
			name: "a process on two wrong cards counts once", claims: []kubelet.Claim{npu("n", "Ascend910-5"), npu("n", "Ascend910-0"), npu("m", "Ascend910-3")},
			places: []container.Process{runs("ascend", "33", "m")}, conflicts: []string{"process ascend 33"},
			unmatched: []string{`allocated device "Ascend910-5" of "huawei.com/Ascend910": the tool shows no such card`},
		},
		{
			name: "a process of a pod without a claim", claims: []kubelet.Claim{card("a", uuid1)}, places: []container.Process{runs("metax", "10", "monitor")},
			series: []string{"metax 1 a"},
		},
		{
			name: "a process of a pod with a claim of the other vendor", claims: []kubelet.Claim{npu("a", "Ascend910-3"), card("b", uuid0)}, places: []container.Process{runs("metax", "10", "a")},
			series: []string{"ascend 3 a", "metax 0 b"},
		},
		{
			name: "a process of a pod with a slice of some card", claims: []kubelet.Claim{card("a", uuid1), claim("a", "metax-tech.com/sgpu", "x")}, places: []container.Process{runs("metax", "10", "a")},
			series: []string{"metax 1 a"}, unmatched: []string{`allocated devices of "metax-tech.com/sgpu": such ids name no card`},
		},
		{
			name: "a process whose pod has no name", claims: []kubelet.Claim{card("a", uuid1)}, places: []container.Process{{Vendor: "metax", PID: "10", Place: container.Place{PodUID: "u"}}},
			series: []string{"metax 1 a"},
		},
		{
			name: "a conflict lasts while nobody knows where processes run", claims: []kubelet.Claim{card("a", uuid1)},
			before: []Conflict{{Vendor: "metax", Key: "process metax 10", Device: "0", PID: "10"}}, conflicts: []string{"process metax 10"},
		},
		{
			name: "or while its pod has no name", claims: []kubelet.Claim{card("a", uuid1)}, places: []container.Process{{Vendor: "metax", PID: "10", Place: container.Place{PodUID: "u"}}},
			before: []Conflict{{Vendor: "metax", Key: "process metax 10", Device: "0", PID: "10"}}, conflicts: []string{"process metax 10"},
		},
		{
			name: "and ends with the process", claims: []kubelet.Claim{card("a", uuid1)},
			before: []Conflict{{Vendor: "metax", Key: "process metax 12", Device: "0", PID: "12"}}, series: []string{"metax 1 a"},
		},
	} {
		r := NewIDs([]string{Ascend}).Evaluate(c.claims, host(processes), c.places, c.before)
		series, conflicts, unmatched := told(r)
		for what, of := range map[string][2][]string{"series": {c.series, series}, "conflicts": {c.conflicts, conflicts}, "unmatched": {c.unmatched, unmatched}} {
			if diff := cmp.Diff(of[0], of[1]); diff != "" {
				t.Errorf("%s: %s: want (-) and got (+) differ:\n%s", c.name, what, diff)
			}
		}
	}
}

// A tool that hangs takes its vendor's series away, and what is known of conflicts stays.
func TestEvaluateWithoutATable(t *testing.T) {
	vendors := host(nil)
	vendors[0].Fresh = false
	before := []Conflict{{Vendor: "metax", Key: "process metax 10"}, {Vendor: "ascend", Key: "process ascend 1"}}
	r := NewIDs([]string{Ascend}).Evaluate([]kubelet.Claim{card("a", uuid0), npu("n", "Ascend910-3")}, vendors, nil, before)
	series, conflicts, unmatched := told(r)
	if diff := cmp.Diff([][]string{{"ascend 3 n"}, {"process metax 10"}, nil}, [][]string{series, conflicts, unmatched}); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

// Two cards of one UUID are two that nobody can tell apart.
func TestEvaluateRefusesOneUUIDOfTwoCards(t *testing.T) {
	vendors := []Vendor{{Name: "metax", Fresh: true, Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid0}}}}
	if r := NewIDs(nil).Evaluate([]kubelet.Claim{card("a", uuid0)}, vendors, nil, nil); len(r.Allocations) > 0 || len(r.Unmatched) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestConflictsAreTold(t *testing.T) {
	r := NewIDs(nil).Evaluate([]kubelet.Claim{card("a", uuid1), card("b", uuid1), dra("a", "shared", "npu-0"), dra("b", "shared", "npu-0"), dra("c", "own", "npu-0")}, host(map[string][]model.Process{"metax": {{Device: "0", PID: "10"}}}),
		[]container.Process{runs("metax", "10", "a")}, nil)
	var texts []string
	for _, c := range r.Conflicts {
		texts = append(texts, c.Text)
	}
	if diff := cmp.Diff([]string{
		"metax card 1 is allocated to 2 pods, ns/a and ns/b among them, and to one of them as a whole: it is told of none",
		"process 10 on metax card 0 runs in pod ns/a, which was allocated other cards: no allocation of metax is told while it does",
		"ascend card 0 is allocated to 3 pods, ns/a and ns/c among them, and to one of them as a whole: it is told of none",
	}, texts); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}
