package allocation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
)

const (
	uuid0 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604a9"
	uuid1 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604aa"
	vdie0 = "185011D4-21104518-A0C4ED94-14CC040A-56102003"
)

// Each kind of id that a plugin is known to make, and what is near to it.
func TestIDs(t *testing.T) {
	whole := func(vendor string, by by, card string) named { return named{vendor: vendor, by: by, card: card} }
	share := func(vendor string, by by, card string) named {
		return named{vendor: vendor, by: by, card: card, shared: true}
	}
	none := func(vendor, why string) named { return named{vendor: vendor, why: why} }
	for _, c := range []struct {
		resource, id string
		dynamic      bool
		want         named
	}{
		{"metax-tech.com/gpu", uuid0, false, whole("metax", byUUID, uuid0)},
		{"metax-tech.com/gpu", uuid0 + "::3", false, share("metax", byUUID, uuid0)},
		{"metax-tech.com/gpu", uuid0 + "::", false, none("metax", whyUnknown)},
		{"metax-tech.com/gpu", uuid0 + "\n", false, none("metax", whyUnknown)},
		{"metax-tech.com/gpu", "node-metax-0", false, none("metax", whyUnknown)},
		{"metax-tech.com/gpu", "0", false, none("metax", whyUnknown)},
		{"metax-tech.com/sgpu", "0f3a", false, none("metax", whyNoCard)},
		{"metax-tech.com/sgpu", uuid0, false, none("metax", whyNoCard)},
		{"metax-tech.com/vcore", "1", false, none("metax", whyNoCard)},
		{"metax-tech.com/vmemory", "1", false, none("metax", whyNoCard)},
		{"metax-tech.com/new", uuid0, false, none("metax", whyUnknown)},

		{"huawei.com/Ascend910", "Ascend910-3", false, whole("ascend", byNumber, "3")},
		{"huawei.com/Ascend910", "Ascend910-12", false, whole("ascend", byNumber, "12")},
		{"huawei.com/Ascend310", "Ascend310-0", false, whole("ascend", byNumber, "0")},
		{"huawei.com/Ascend310B", "Ascend310B-0", false, whole("ascend", byNumber, "0")},
		{"huawei.com/Ascend310P", "Ascend310P-5", false, whole("ascend", byNumber, "5")},
		{"huawei.com/Ascend310P-V", "Ascend310P-V-1", false, whole("ascend", byNumber, "1")},
		{"huawei.com/Ascend310P-VPro", "Ascend310P-VPro-0", false, whole("ascend", byNumber, "0")},
		{"huawei.com/Ascend310P-IPro", "Ascend310P-IPro-2", false, whole("ascend", byNumber, "2")},
		{"huawei.com/npu", "npu-0", false, whole("ascend", byNumber, "0")},
		{"huawei.com/Ascend310P", "Ascend310P-0-99", false, share("ascend", byNumber, "0")},
		{"huawei.com/Ascend310P", "Ascend310P-1-99-4", false, share("ascend", byNumber, "1")},
		{"huawei.com/Ascend910-2c", "Ascend910-2c-111-0", false, share("ascend", byNumber, "0")},
		{"huawei.com/Ascend310P-4c.3cpu", "Ascend310P-4c.3cpu-100-7", false, share("ascend", byNumber, "7")},
		{"huawei.com/Ascend310P-4c.4cpu.dvpp", "Ascend310P-4c.4cpu.dvpp-101-1", false, share("ascend", byNumber, "1")},
		{"huawei.com/npu-core", "npu-core-7", false, none("ascend", whyNoCard)},
		{"huawei.com/Ascend910B4", vdie0 + "-0", false, none("ascend", whyNoCard)},
		{"huawei.com/Ascend310P", vdie0 + "-3", false, none("ascend", whyNoCard)},
		{"npu.huawei.com", "Ascend910-3", true, whole("ascend", byNumber, "3")},
		{"npu.huawei.com", "ascend910-3", true, whole("ascend", byNumber, "3")},
		{"npu.huawei.com", "npu-11", true, whole("ascend", byNumber, "11")},

		{"huawei.com/Ascend910", "Ascend910-03", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910", "Ascend910-", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910", "Ascend910-3-99", false, none("ascend", whyUnknown)}, // only a 310P is shared so
		{"huawei.com/Ascend910", "Ascend310P-3", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910", "Renamed-3", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910", "Ascend910-3 ", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910-2c", "Ascend910-2c-99-0", false, none("ascend", whyUnknown)}, // vNPUs begin at 100
		{"huawei.com/Ascend910-2c", "Ascend910-4c-111-0", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend310P-V", "Ascend310P-0", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend310P-V", "Ascend310P-V-0-99", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910B4-memory", "17", false, none("ascend", whyUnknown)},
		{"npu.huawei.com", "Ascend910-3", false, none("ascend", whyUnknown)},
		{"huawei.com/Ascend910", "Ascend910-3", true, none("ascend", whyUnknown)},
		{"npu.huawei.com", "npu-core-1", true, none("ascend", whyUnknown)},
	} {
		got := NewIDs([]string{Ascend}).find(kubelet.Claim{Resource: c.resource, ID: c.id, Dynamic: c.dynamic})
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(named{})); diff != "" {
			t.Errorf("%s %q: want (-) and got (+) differ:\n%s", c.resource, c.id, diff)
		}
	}
}

// Under volcano and HAMi a kubelet's ids are well formed and wrong.
func TestAscendIDsAreNotTrustedUnasked(t *testing.T) {
	for _, c := range []struct {
		claim kubelet.Claim
		want  string
	}{
		{kubelet.Claim{Resource: "huawei.com/Ascend910", ID: "Ascend910-3"}, whyNotTrusted},
		{kubelet.Claim{Resource: "huawei.com/Ascend910-2c", ID: "Ascend910-2c-111-0"}, whyNotTrusted},
		{kubelet.Claim{Resource: "huawei.com/npu-core", ID: "npu-core-1"}, whyNoCard},
		{kubelet.Claim{Resource: "npu.huawei.com", ID: "npu-1", Dynamic: true}, ""},
		{kubelet.Claim{Resource: "metax-tech.com/gpu", ID: uuid0}, ""},
	} {
		if got := NewIDs(nil).find(c.claim); got.why != c.want {
			t.Errorf("%v: %q, want %q", c.claim, got.why, c.want)
		}
	}
}

// No two rules mean the same id, so that their order says nothing.
func TestRulesAreApart(t *testing.T) {
	for _, id := range []string{
		"Ascend910-3", "Ascend310P-0-99", "Ascend310P-0-99-1", "Ascend910-2c-111-0", "npu-0", "npu-core-7", "Ascend310P-V-1", vdie0 + "-0", uuid0, uuid0 + "::1",
	} {
		for _, resource := range []string{"metax-tech.com/gpu", "huawei.com/Ascend910", "huawei.com/Ascend310P", "huawei.com/Ascend310P-V", "huawei.com/Ascend910-2c", "huawei.com/npu", "huawei.com/npu-core"} {
			all, n := NewIDs(nil), 0
			for _, r := range all.rules {
				one := IDs{rules: []compiled{r}}
				if one.find(kubelet.Claim{Resource: resource, ID: id}).why != whyUnknown {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%d rules match %q of %s", n, id, resource)
			}
		}
	}
}

func TestWanted(t *testing.T) {
	for resource, want := range map[string]bool{
		"metax-tech.com/gpu": true, "huawei.com/Ascend910": true, "nvidia.com/gpu": false, "cpu": false, "": false, "npu.huawei.com": false, "xhuawei.com/npu": false,
	} {
		if Wanted(resource, false) != want {
			t.Errorf("the resource %q is wanted: %v, want %v", resource, !want, want)
		}
	}
	if !Wanted("npu.huawei.com", true) || Wanted("huawei.com/Ascend910", true) || Wanted("gpu.nvidia.com", true) {
		t.Error("the wrong DRA drivers are wanted")
	}
}

// Whatever an id is, the card that it names stands in it, and the id in no text unquoted.
func FuzzIDs(f *testing.F) {
	for _, id := range []string{uuid0, uuid0 + "::1", "Ascend910-3", "Ascend310P-0-99-1", "Ascend910-2c-111-0", "npu-core-7", vdie0 + "-1", "\xff\n"} {
		for _, resource := range []string{"metax-tech.com/gpu", "huawei.com/Ascend910", "huawei.com/Ascend310P", "huawei.com/Ascend910-2c", "npu.huawei.com"} {
			f.Add(resource, id, resource == "npu.huawei.com", true)
		}
	}
	ids := [2]*IDs{NewIDs(nil), NewIDs([]string{Ascend})}
	f.Fuzz(func(t *testing.T, resource, id string, dynamic, trust bool) {
		if !Wanted(resource, dynamic) {
			t.Skip()
		}
		table := ids[0]
		if trust {
			table = ids[1]
		}
		n := table.find(kubelet.Claim{Resource: resource, ID: id, Dynamic: dynamic})
		if (n.why == "") != (n.card != "") || n.vendor == "" {
			t.Fatalf("%+v", n)
		}
		if n.card == "" {
			if text := n.sentence(kubelet.Claim{Resource: resource, ID: id}); strings.ContainsAny(text, "\n\r\x1b") {
				t.Fatalf("%q", text)
			}
			return
		}
		if n.vendor == Ascend && !trust && !dynamic {
			t.Fatalf("%q of %q is trusted", id, resource)
		}
		isPart := strings.HasPrefix(id, n.card) || slices.Contains(strings.Split(id, "-"), n.card)
		if !isPart || n.by == byNumber && strings.Trim(n.card, "0123456789") != "" {
			t.Fatalf("%q of %q means card %q", id, resource, n.card)
		}
	})
}
