package allocation

import (
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
)

// Ascend is the vendor whose device ids name a card only where nobody but the kubelet hands cards out.
const Ascend = "ascend"

const metax = "metax"

// by is how an id names a card.
type by int

const (
	byNothing by = iota // the id is known, and tells no card
	byUUID
	byNumber // the number of the driver, which is the label "device"
)

// rule is one kind of device id: the resource and the id have to match as a whole.
type rule struct {
	vendor       string
	resource, id string // patterns; the id's first group is the card
	// behind says that the id begins with the resource's name behind its slash and a hyphen, and the pattern is of the rest.
	behind  bool
	by      by
	shared  bool // several pods may hold the card
	dynamic bool // of a DRA driver, which says itself what it allocated
}

const (
	uuid   = `GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	vdie   = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{8}){4}`
	number = `0|[1-9][0-9]{0,3}`
)

// rules are the kinds of device ids that are known. No two match the same id.
func rules() []rule {
	return []rule{
		{vendor: metax, resource: `metax-tech\.com/gpu`, id: `(` + uuid + `)`, by: byUUID},
		{vendor: metax, resource: `metax-tech\.com/gpu`, id: `(` + uuid + `)::[0-9]+`, by: byUUID, shared: true},
		// The driver's register of sGPUs, which mx-smi does not print.
		{vendor: metax, resource: `metax-tech\.com/(?:sgpu|vcore|vmemory)`, id: `.*`},

		// Whole cards, by type; -V, -VPro and -IPro where a host mixes 310P boards.
		{vendor: Ascend, resource: `huawei\.com/(?:Ascend910|Ascend310|Ascend310B|Ascend310P(?:-V|-VPro|-IPro)?|npu)`, behind: true, id: `(` + number + `)`, by: byNumber},
		// A shared 310P: <card>-<share>, and one more number where the share is soft.
		{vendor: Ascend, resource: `huawei\.com/Ascend310P`, behind: true, id: `(` + number + `)-[0-9]+(?:-[0-9]+)?`, by: byNumber, shared: true},
		// A static vNPU: <vdev, from 100>-<card>; the resource ends with its template.
		{vendor: Ascend, resource: `huawei\.com/(?:Ascend910|Ascend310P)-[0-9]+c(?:\.[0-9a-z]+)*`, behind: true, id: `[1-9][0-9]{2,}-(` + number + `)`, by: byNumber, shared: true},
		// A dynamic vNPU: the number is of the slot.
		{vendor: Ascend, resource: `huawei\.com/npu-core`, behind: true, id: `[0-9]+`},
		// HAMi: <VDie id>-<index>, which its plugin ignores.
		{vendor: Ascend, resource: `huawei\.com/Ascend.+`, id: vdie + `-[0-9]+`},

		{vendor: Ascend, resource: `npu\.huawei\.com`, id: `(?i:ascend910|npu)-(` + number + `)`, by: byNumber, dynamic: true},
	}
}

// IDs is the table of device ids, and which vendors' are trusted.
type IDs struct {
	rules []compiled
}

type compiled struct {
	rule
	resourceRE, idRE *regexp.Regexp
	trusted          bool
}

// NewIDs returns the table. MetaX's ids name cards themselves; trust has the vendors whose plugins' ids do only where the
// kubelet alone hands out cards: neither volcano nor HAMi.
func NewIDs(trust []string) *IDs {
	t := &IDs{}
	for _, r := range rules() {
		c := compiled{rule: r, resourceRE: regexp.MustCompile(`^(?:` + r.resource + `)$`), idRE: regexp.MustCompile(`(?s)^(?:` + r.id + `)$`)}
		c.trusted = r.vendor == metax || r.dynamic
		for _, vendor := range trust {
			c.trusted = c.trusted || vendor == r.vendor
		}
		t.rules = append(t.rules, c)
	}
	return t
}

// Wanted reports whether a resource, or a DRA driver, is one of a known vendor.
func Wanted(resource string, dynamic bool) bool {
	_, ok := vendorOf(resource, dynamic)
	return ok
}

func vendorOf(resource string, dynamic bool) (vendor string, ok bool) {
	switch {
	case dynamic:
		return Ascend, resource == "npu.huawei.com"
	case strings.HasPrefix(resource, "metax-tech.com/"):
		return metax, true
	}
	return Ascend, strings.HasPrefix(resource, "huawei.com/")
}

// named is what an id says.
type named struct {
	vendor string
	by     by
	card   string
	shared bool
	why    string // there is no card, "" where there is one
}

// find reads a claim's id.
func (t *IDs) find(c kubelet.Claim) named {
	for i := range t.rules {
		r := &t.rules[i]
		if r.dynamic != c.Dynamic || !r.resourceRE.MatchString(c.Resource) {
			continue
		}
		id, ok := c.ID, true
		if r.behind {
			_, kind, _ := strings.Cut(c.Resource, "/")
			id, ok = strings.CutPrefix(id, kind+"-")
		}
		m := r.idRE.FindStringSubmatch(id)
		switch {
		case !ok || m == nil:
			continue
		case r.by == byNothing:
			return named{vendor: r.vendor, why: whyNoCard}
		case !r.trusted:
			return named{vendor: r.vendor, why: whyNotTrusted}
		}
		return named{vendor: r.vendor, by: r.by, card: m[1], shared: r.shared}
	}
	vendor, _ := vendorOf(c.Resource, c.Dynamic)
	return named{vendor: vendor, why: whyUnknown}
}
