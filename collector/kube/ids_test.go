package kube

import (
	"strings"
	"testing"
)

const (
	uuid0 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604a9"
	uuid1 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604aa"
	vdie0 = "185011D4-21104518-A0C4ED94-14CC040A-56102003"
)

// Each kind of id that a plugin is known to make, and what is like it.
func TestReadID(t *testing.T) {
	const noCard, unknown = "such ids name no card", "of no known form"
	for _, c := range []struct {
		resource, id string
		card         string // "" for none
		shared       bool
		problem      string // a part of it
	}{
		{"metax-tech.com/gpu", uuid0, uuid0, false, ""},
		{"metax-tech.com/gpu", uuid0 + "::3", uuid0, true, ""},
		{"metax-tech.com/gpu", uuid0 + "::", "", false, unknown},
		{"metax-tech.com/gpu", uuid0 + "\n", "", false, unknown},
		{"metax-tech.com/gpu", "0", "", false, unknown},
		{"metax-tech.com/gpu", "", "", false, unknown},
		{"metax-tech.com/gpu", strings.Repeat("x", 10_000), "", false, unknown},
		{"metax-tech.com/sgpu", "0f3a", "", false, noCard},
		{"metax-tech.com/sgpu", uuid0, "", false, noCard},
		{"metax-tech.com/vcore", "1", "", false, noCard},
		{"metax-tech.com/vmemory", "1", "", false, noCard},
		{"metax-tech.com/new", uuid0, "", false, unknown},

		{"nvidia.com/gpu", uuid0, uuid0, false, ""},
		{"nvidia.com/gpu", uuid0 + "::3", uuid0, true, ""},
		{"nvidia.com/gpu.shared", uuid0 + "::0", uuid0, true, ""},
		{"nvidia.com/gpu.shared", uuid0, "", false, unknown},
		{"nvidia.com/mig-1g.10gb", "MIG-" + uuid0[4:], "MIG-" + uuid0[4:], true, ""},
		{"nvidia.com/mig-1g.10gb.shared", "MIG-" + uuid0[4:] + "::1", "MIG-" + uuid0[4:], true, ""},
		{"nvidia.com/gpu", "0", "", false, unknown},
		{"hygon.com/dcu", "0000:9f:00.0", "0000:9f:00.0", false, ""},
		{"hygon.com/hcu", "0000:09:00.0", "0000:09:00.0", false, ""},
		{"hygon.com/dcu", "3", "", false, noCard},
		{"hygon.com/hcu-share-1", "0000:09:00.0", "", false, noCard},
		{"hygon.com/dcunum", "DCU-3", "", false, noCard},

		{"huawei.com/Ascend910", "Ascend910-3", "3", false, ""},
		{"huawei.com/Ascend910", "Ascend910-12", "12", false, ""},
		{"huawei.com/Ascend310", "Ascend310-0", "0", false, ""},
		{"huawei.com/Ascend310B", "Ascend310B-0", "0", false, ""},
		{"huawei.com/Ascend310P", "Ascend310P-5", "5", false, ""},
		{"huawei.com/Ascend310P-V", "Ascend310P-V-1", "1", false, ""},
		{"huawei.com/Ascend310P-VPro", "Ascend310P-VPro-0", "0", false, ""},
		{"huawei.com/Ascend310P-IPro", "Ascend310P-IPro-2", "2", false, ""},
		{"huawei.com/npu", "npu-0", "0", false, ""},
		{"huawei.com/Ascend310P", "Ascend310P-0-99", "0", true, ""},
		{"huawei.com/Ascend310P", "Ascend310P-1-99-4", "1", true, ""},
		{"huawei.com/Ascend910-2c", "Ascend910-2c-111-0", "0", true, ""},
		{"huawei.com/Ascend310P-4c.3cpu", "Ascend310P-4c.3cpu-100-7", "7", true, ""},
		{"huawei.com/Ascend310P-4c.4cpu.dvpp", "Ascend310P-4c.4cpu.dvpp-101-1", "1", true, ""},
		{"huawei.com/npu-core", "npu-core-7", "", false, noCard},
		{"huawei.com/Ascend910B4", vdie0 + "-0", "", false, noCard},
		{"huawei.com/Ascend310P", vdie0 + "-3", "", false, noCard},
		{"npu.huawei.com", "Ascend910-3", "3", false, ""},
		{"npu.huawei.com", "ascend910-3", "3", false, ""},
		{"npu.huawei.com", "npu-11", "11", false, ""},

		{"huawei.com/Ascend910", "Ascend910-03", "", false, unknown},
		{"huawei.com/Ascend910", "Ascend910-", "", false, unknown},
		{"huawei.com/Ascend910", "Ascend910-3-99", "", false, unknown}, // only a 310P is shared so
		{"huawei.com/Ascend910", "Ascend310P-3", "", false, unknown},
		{"huawei.com/Ascend910", "3", "", false, unknown},
		{"huawei.com/Ascend910", "Ascend910-3 ", "", false, unknown},
		{"huawei.com/Ascend910-2c", "Ascend910-2c-99-0", "", false, unknown}, // vNPUs begin at 100
		{"huawei.com/Ascend910-2c", "Ascend910-4c-111-0", "", false, unknown},
		{"huawei.com/Ascend310P-V", "Ascend310P-0", "", false, unknown},
		{"huawei.com/Ascend910B4-memory", "17", "", false, unknown},
		{"npu.huawei.com", "npu-core-1", "", false, unknown},
	} {
		card, shared, problem := readID(c.resource, c.id, true)
		if card != c.card || shared != c.shared || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s %q: card %q, shared %v, %q; want %q, %v, %q", c.resource, c.id, card, shared, problem, c.card, c.shared, c.problem)
		}
		if len(problem) > 300 || strings.Contains(problem, "\n") {
			t.Errorf("%s: no short line: %q", c.resource, problem)
		}
	}
}

// Under volcano and HAMi a kubelet's ids are well formed and wrong.
func TestAscendIDsAreNotTrustedUnasked(t *testing.T) {
	const notTrusted = "--kubernetes.trust-device-ids"
	for _, c := range []struct{ resource, id, problem string }{
		{"huawei.com/Ascend910", "Ascend910-3", notTrusted},
		{"huawei.com/Ascend910-2c", "Ascend910-2c-111-0", notTrusted},
		{"huawei.com/npu-core", "npu-core-1", "name no card"},
		{"npu.huawei.com", "npu-1", ""},
		{"metax-tech.com/gpu", uuid0, ""},
	} {
		card, _, problem := readID(c.resource, c.id, false)
		if (card == "") != (c.problem != "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s %q: card %q, %q; want %q", c.resource, c.id, card, problem, c.problem)
		}
	}
}
