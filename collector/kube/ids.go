package kube

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// The vendors whose devices are known.
const (
	metax  = "metax"
	nvidia = "nvidia"
	hygon  = "hygon"
	// Ascend is the vendor whose device ids name cards only where nobody but the kubelet hands them out.
	Ascend = "ascend"
)

// vendorOf returns the vendor of a resource or DRA driver, "" for others.
func vendorOf(resource string) string {
	switch {
	case strings.HasPrefix(resource, "metax-tech.com/"):
		return metax
	case strings.HasPrefix(resource, "nvidia.com/gpu"), strings.HasPrefix(resource, "nvidia.com/mig-"):
		return nvidia
	case strings.HasPrefix(resource, "hygon.com/"):
		return hygon
	case strings.HasPrefix(resource, "huawei.com/"), resource == draDriver:
		return Ascend
	}
	return ""
}

const draDriver = "npu.huawei.com"

// idForm is one kind of device id. Its first group is the card; without a group such ids name none.
type idForm struct {
	resource, id *regexp.Regexp
	shared       bool // several pods may have parts of the card
	needsTrust   bool
}

const (
	uuid   = `(GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})`
	vdie   = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{8}){4}`
	number = `(0|[1-9][0-9]{0,3})`
)

// idForms are the known kinds. "@" in an id stands for the resource's name behind its slash.
var idForms = []idForm{
	{resource: whole(`metax-tech\.com/gpu`), id: whole(uuid)},
	{resource: whole(`metax-tech\.com/gpu`), id: whole(uuid + `::[0-9]+`), shared: true},
	// The driver's register of sGPUs, which mx-smi does not print.
	{resource: whole(`metax-tech\.com/(?:sgpu|vcore|vmemory)`), id: whole(`.*`)},

	// A shared GPU may keep the resource's name. A MIG instance is a slice, and names its card through the list.
	{resource: whole(`nvidia\.com/gpu`), id: whole(uuid)},
	{resource: whole(`nvidia\.com/gpu(?:\.shared)?`), id: whole(uuid + `::[0-9]+`), shared: true},
	{resource: whole(`nvidia\.com/(?:gpu|mig-[0-9a-z.+-]+)(?:\.shared)?`), id: whole(`(MIG-[0-9a-fA-F-]{36})(?:::[0-9]+)?`), shared: true},
	// Whole cards, by their bus. Parts of cards, and what HAMi hands out, have numbers or serial numbers that hy-smi's
	// tables lack.
	{resource: whole(`hygon\.com/[dh]cu`), id: whole(`([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])`)},
	{resource: whole(`hygon\.com/.+`), id: whole(`.*`)},

	// Whole cards, by type; -V, -VPro and -IPro where a host mixes 310P boards.
	{
		resource: whole(`huawei\.com/(?:Ascend910|Ascend310|Ascend310B|Ascend310P(?:-V|-VPro|-IPro)?|npu)`),
		id:       whole(`@-` + number), needsTrust: true,
	},
	// A shared 310P: <card>-<share>, and one more number where the share is soft.
	{resource: whole(`huawei\.com/Ascend310P`), id: whole(`@-` + number + `-[0-9]+(?:-[0-9]+)?`), shared: true, needsTrust: true},
	// A static vNPU: <vdev, from 100>-<card>; the resource ends with its template.
	{
		resource: whole(`huawei\.com/(?:Ascend910|Ascend310P)-[0-9]+c(?:\.[0-9a-z]+)*`),
		id:       whole(`@-[1-9][0-9]{2,}-` + number), shared: true, needsTrust: true,
	},
	// A dynamic vNPU: the number is of the slot.
	{resource: whole(`huawei\.com/npu-core`), id: whole(`@-[0-9]+`)},
	// HAMi: <VDie id>-<index>, which its plugin ignores.
	{resource: whole(`huawei\.com/Ascend.+`), id: whole(vdie + `-[0-9]+`)},
	// A DRA driver says itself what it allocated.
	{resource: whole(regexp.QuoteMeta(draDriver)), id: whole(`(?i:ascend910|npu)-` + number)},
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?s)^(?:` + pattern + `)$`) }

// readID returns the card's UUID, bus id or number that a device id names, or why it names none.
func readID(resource, id string, trustAscend bool) (card string, shared bool, problem string) {
	_, name, _ := strings.Cut(resource, "/")
	text := id
	if rest, ok := strings.CutPrefix(id, name+"-"); ok {
		text = "@-" + rest
	}
	for _, f := range idForms {
		m := f.id.FindStringSubmatch(text)
		switch {
		case m == nil || !f.resource.MatchString(resource):
			continue
		case len(m) == 1:
			return "", false, fmt.Sprintf("allocated devices of %q: such ids name no card", resource)
		case f.needsTrust && !trustAscend:
			return "", false, fmt.Sprintf("allocated devices of %q: such ids name cards only if neither volcano nor HAMi "+
				"hands them out; then set --kubernetes.trust-device-ids=ascend", resource)
		}
		return m[1], f.shared, ""
	}
	return "", false, fmt.Sprintf("allocated device %q of %q: of no known form", smitext.Excerpt([]byte(id)), resource)
}
