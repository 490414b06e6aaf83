package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
)

// ours are the resources of these tests.
func ours(resource string, dynamic bool) bool {
	return strings.HasPrefix(resource, "our.com/") && !dynamic || resource == "dra.our.com" && dynamic
}

func TestDecode(t *testing.T) {
	plain := Claim{Namespace: "ns", Pod: "a", Container: "c", Resource: "our.com/card", ID: "1"}
	with := func(change func(c *Claim)) Claim {
		c := plain
		change(&c)
		return c
	}
	dynamic := func(claim string) Claim {
		return with(func(c *Claim) {
			c.Resource, c.Dynamic, c.ResourceClaim = "dra.our.com", true, ResourceClaim{Namespace: "ns", Name: claim}
		})
	}
	for name, c := range map[string]struct {
		answer string
		want   []Claim
	}{
		"nothing":             {"", nil},
		"pods without cards":  {kubelettest.Pod("ns", "a", kubelettest.Container("c")) + kubelettest.Pod("ns", "b"), nil},
		"one":                 {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1"))), []Claim{plain}},
		"an id for each node": {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1"), kubelettest.Devices("our.com/card", "1"))), []Claim{plain}},
		"in a stable order": {
			kubelettest.Pod("ns", "b", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1"))) + kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "2", "1"))),
			[]Claim{plain, with(func(c *Claim) { c.ID = "2" }), with(func(c *Claim) { c.Pod = "b" })},
		},
		"another's devices": {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("cpu", "1"), kubelettest.Devices("our.com/card", "1"))), []Claim{plain}},
		"a name behind":     {kubelettest.Field(answerPods, kubelettest.Field(podContainers, kubelettest.Devices("our.com/card", "1"), kubelettest.Field(containerName, "c")), kubelettest.Field(podNamespace, "ns"), kubelettest.Field(podName, "a")), []Claim{plain}},
		"a resource behind": {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Field(containerDevices, kubelettest.Field(devicesIDs, "1"), kubelettest.Field(devicesResource, "our.com/card")))), []Claim{plain}},
		"DRA":               {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Dynamic("ns", "x", "dra.our.com", "1"), kubelettest.Dynamic("", "", "another", "2"))), []Claim{dynamic("x")}},
		"DRA, two claims": {
			kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Dynamic("ns", "y", "dra.our.com", "1"), kubelettest.Dynamic("ns", "x", "dra.our.com", "1"), kubelettest.Dynamic("ns", "y", "dra.our.com", "1"))),
			[]Claim{dynamic("x"), dynamic("y")},
		},
		"a claim's name behind": {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Field(containerDynamic,
			kubelettest.Field(dynamicDevices, kubelettest.Field(deviceName, "1"), kubelettest.Field(deviceDriver, "dra.our.com")), kubelettest.Field(dynamicNamespace, "ns"), kubelettest.Field(dynamicName, "x")))), []Claim{dynamic("x")}},
		"fields of the years": {kubelettest.Pod("ns", "a", kubelettest.Field(9, "new"), kubelettest.Container("c", kubelettest.Devices("our.com/card", "1"), "\x20\x05", kubelettest.Field(4, "memory"))) + "\x78\x01", []Claim{plain}},
		"a name nobody needs": {kubelettest.Pod("", "\xff", kubelettest.Container(strings.Repeat("x", 300), kubelettest.Devices("cpu", "1"))), nil},
	} {
		got, err := Decode([]byte(c.answer), ours)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", name, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	ids := make([]string, maxClaims+1)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	card := kubelettest.Devices("our.com/card", "1")
	whole := kubelettest.Pod("ns", "a", kubelettest.Container("c", card))
	for name, c := range map[string]struct {
		answer string
		want   failure.Reason
	}{
		"a cut answer":            {whole[:len(whole)-1], failure.Parse},
		"a cut message inside":    {kubelettest.Field(answerPods, kubelettest.Field(podName, "a")+"\x1a\x7f"), failure.Parse},
		"field 0":                 {"\x02\x00", failure.Parse},
		"the end of no group":     {"\x0c", failure.Parse},
		"a number too long":       {"\x08" + strings.Repeat("\xff", 11), failure.Parse},
		"text":                    {"HTTP/1.1 400 Bad Request", failure.Parse},
		"a pod without a name":    {kubelettest.Pod("ns", "", kubelettest.Container("c", card)), failure.Parse},
		"no namespace":            {kubelettest.Pod("", "a", kubelettest.Container("c", card)), failure.Parse},
		"no container's name":     {kubelettest.Pod("ns", "a", kubelettest.Container("", card)), failure.Parse},
		"an empty id":             {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", ""))), failure.Parse},
		"a long name":             {kubelettest.Pod("ns", strings.Repeat("a", maxText+1), kubelettest.Container("c", card)), failure.Parse},
		"a name of bytes":         {kubelettest.Pod("ns", "\xff\xfe", kubelettest.Container("c", card)), failure.Parse},
		"a claim without a name":  {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Dynamic("ns", "", "dra.our.com", "1"))), failure.Parse},
		"a claim of no namespace": {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Dynamic("", "x", "dra.our.com", "1"))), failure.Parse},
		"a long name of a claim":  {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Dynamic("ns", strings.Repeat("x", maxText+1), "dra.our.com", "1"))), failure.Parse},
		"an id of bytes":          {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "\xff"))), failure.Parse},
		"an id for each MiB":      {kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", ids...))), failure.OutputTooLarge},
		"a node of a data hall":   {strings.Repeat(kubelettest.Pod("ns", "a"), maxPods+1), failure.OutputTooLarge},
	} {
		got, err := Decode([]byte(c.answer), ours)
		if failure.ReasonOf(err) != c.want || got != nil {
			t.Errorf("%s: got %v and %v, want an error of the class %s", name, got, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(kubelettest.Pod("ns", "a", kubelettest.Container("c", kubelettest.Devices("our.com/card", "1", "2"), kubelettest.Dynamic("ns", "claim", "dra.our.com", "x")))))
	f.Add([]byte("\x0a\x05\x1a\x03\x12\x01\x0a"))
	f.Add([]byte("\x0b\x0b\x0b\x0c"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		claims, err := Decode(answer, ours)
		if err != nil && claims != nil {
			t.Fatalf("claims %v beside the error %v", claims, err)
		}
		if !slices.IsSortedFunc(claims, compare) || len(slices.Compact(slices.Clone(claims))) != len(claims) {
			t.Fatalf("claims out of order or twice: %v", claims)
		}
		for _, c := range claims {
			texts := []string{c.Namespace, c.Pod, c.Container, c.Resource, c.ID}
			if c.Dynamic {
				texts = append(texts, c.ResourceClaim.Namespace, c.ResourceClaim.Name)
			} else if c.ResourceClaim != (ResourceClaim{}) {
				t.Fatalf("a device plugin's device has the claim %v", c.ResourceClaim)
			}
			for _, text := range texts {
				if text == "" || len(text) > maxText || !utf8.ValidString(text) {
					t.Fatalf("%q became a label", text)
				}
			}
			if !ours(c.Resource, c.Dynamic) {
				t.Fatalf("%v was not asked for", c)
			}
		}
	})
}
