// Package allocation joins the devices that the kubelet allocated with the cards
// that the vendors' tools print, and holds what it gets against where processes
// run. It is a function of what others have read.
package allocation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Vendor is what a vendor's tool tells now.
type Vendor struct {
	Name string
	// Fresh is false while nothing fresh is known: then there are no cards.
	Fresh     bool
	Devices   []model.Device
	Processes []model.Process
}

// Allocation says that the kubelet allocated a card to a container.
type Allocation struct {
	Vendor, Device            string
	UUID                      string // the card's, by which it is known when numbers move
	Resource                  string
	Namespace, Pod, Container string
}

// Unmatched is a claim that gives no allocation.
type Unmatched struct {
	Claim kubelet.Claim
	Text  string // one sentence, the same for all claims that nobody needs apart
}

// Conflict is something that cannot be true together with a claim.
type Conflict struct {
	Vendor string
	// Key is the same as long as the conflict lasts, and no other's.
	Key  string
	Text string // one sentence
	// Device and PID are the process's, "" where two pods claim one card.
	Device, PID string
}

// Result is what one answer of the kubelet means.
type Result struct {
	Allocations []Allocation // each once
	Unmatched   []Unmatched
	Conflicts   []Conflict
}

// Why there is no card.
const (
	whyNoCard     = "such ids name no card"
	whyNotTrusted = "such ids name a card only where neither volcano nor HAMi hands out cards: --kubernetes.trust-device-ids"
	whyUnknown    = "of no known form"
	whyAbsent     = "the tool shows no such card"
)

// pod is a pod's name in its namespace.
type pod struct{ namespace, name string }

func (p pod) String() string { return p.namespace + "/" + p.name }

// held is a claim with its card, nil where it has none.
type held struct {
	claim  kubelet.Claim
	vendor string
	card   *model.Device
	shared bool
}

// Evaluate joins claims with cards, and leaves out what cannot be true:
//
//   - A card of which a pod has the whole and another pod something too belongs to neither: one of them has ended. Pods
//     that have it by the same ResourceClaim share it.
//   - A process on a card in a pod that was allocated other cards of that vendor shows that the ids mean something else
//     than we think: nothing of the vendor is told. A pod with a claim whose card is not known shows nothing.
//
// places are where processes run, as far as that is known. before are the last conflicts: while the pod of its process is
// not known, one lasts until the tool's list lacks the process.
func (t *IDs) Evaluate(claims []kubelet.Claim, vendors []Vendor, places []container.Process, before []Conflict) Result {
	var r Result
	for i := range vendors {
		v := &vendors[i]
		if !v.Fresh {
			r.Conflicts = append(r.Conflicts, of(v.Name, before)...)
			continue
		}
		all := t.held(v, claims, &r)
		doubtful := r.twoPods(v, all)
		if r.strangers(v, all, places, before) {
			continue
		}
		for _, h := range all {
			if h.card != nil && !doubtful[h.card.ID] {
				r.Allocations = append(r.Allocations, Allocation{
					Vendor: v.Name, Device: h.card.ID, UUID: h.card.UUID, Resource: h.claim.Resource,
					Namespace: h.claim.Namespace, Pod: h.claim.Pod, Container: h.claim.Container,
				})
			}
		}
	}
	// A container may have several shares of a card.
	slices.SortFunc(r.Allocations, compare)
	r.Allocations = slices.Compact(r.Allocations)
	return r
}

func compare(a, b Allocation) int {
	return cmp.Or(strings.Compare(a.Vendor, b.Vendor), strings.Compare(a.Device, b.Device), strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
}

// of are the conflicts of one vendor.
func of(vendor string, all []Conflict) []Conflict {
	return slices.DeleteFunc(slices.Clone(all), func(c Conflict) bool { return c.Vendor != vendor })
}

// held finds the cards of a vendor's claims.
func (t *IDs) held(v *Vendor, claims []kubelet.Claim, r *Result) []held {
	var all []held
	for _, c := range claims {
		n := t.find(c)
		if n.vendor != v.Name {
			continue
		}
		h := held{claim: c, vendor: v.Name, shared: n.shared}
		if n.why == "" {
			if h.card = find(v.Devices, n); h.card == nil {
				n.why = whyAbsent
			}
		}
		if n.why != "" {
			r.Unmatched = append(r.Unmatched, Unmatched{c, n.sentence(c)})
		}
		all = append(all, h)
	}
	return all
}

// sentence tells why a claim has no card. Where that holds for every id of the resource, one sentence does for all.
func (n named) sentence(c kubelet.Claim) string {
	if n.why == whyNoCard || n.why == whyNotTrusted {
		return fmt.Sprintf("allocated devices of %q: %s", c.Resource, n.why)
	}
	return fmt.Sprintf("allocated device %q of %q: %s", c.ID, c.Resource, n.why)
}

// find returns the one card that an id names, nil for none.
func find(devices []model.Device, n named) *model.Device {
	var found *model.Device
	for i := range devices {
		d := &devices[i]
		if n.by == byUUID && d.UUID == n.card || n.by == byNumber && d.ID == n.card {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

// holder is a pod, and the ResourceClaim by which it has something of a card, if it is one.
type holder struct {
	pod pod
	by  kubelet.ResourceClaim
}

// twoPods finds the cards of which a pod has the whole and another pod something too. Pods that have it by one
// ResourceClaim share what that has: DRA lets several reserve it.
func (r *Result) twoPods(v *Vendor, all []held) map[string]bool {
	whole, holders := map[string]bool{}, map[string][]holder{}
	for _, h := range all {
		if h.card == nil {
			continue
		}
		one := holder{pod{h.claim.Namespace, h.claim.Pod}, h.claim.ResourceClaim}
		whole[h.card.ID] = whole[h.card.ID] || !h.shared
		if !slices.Contains(holders[h.card.ID], one) {
			holders[h.card.ID] = append(holders[h.card.ID], one)
		}
	}
	doubtful := map[string]bool{}
	for i := range v.Devices {
		d := &v.Devices[i]
		if !whole[d.ID] || doubtful[d.ID] {
			continue
		}
		if a, b, ok := apart(holders[d.ID]); ok {
			doubtful[d.ID] = true
			r.Conflicts = append(r.Conflicts, Conflict{
				Vendor: v.Name, Key: "card " + v.Name + " " + cmp.Or(d.UUID, d.ID),
				Text: fmt.Sprintf("%s card %s is allocated to %d pods, %s and %s among them, and to one of them as a whole: it is told of none", v.Name, d.ID, pods(holders[d.ID]), a, b),
			})
		}
	}
	return doubtful
}

// apart finds two pods that do not share.
func apart(all []holder) (a, b pod, ok bool) {
	for i, one := range all {
		for _, other := range all[i+1:] {
			isShared := one.by == other.by && one.by != (kubelet.ResourceClaim{})
			if one.pod != other.pod && !isShared {
				return one.pod, other.pod, true
			}
		}
	}
	return pod{}, pod{}, false
}

// pods is how many hold something.
func pods(all []holder) int {
	distinct := map[pod]bool{}
	for _, h := range all {
		distinct[h.pod] = true
	}
	return len(distinct)
}

// strangers finds the processes on cards that their pods were not allocated, and reports whether there is one.
func (r *Result) strangers(v *Vendor, all []held, places []container.Process, before []Conflict) bool {
	runsIn := map[string]pod{}
	for _, p := range places {
		if p.Vendor == v.Name && p.Place.Namespace != "" && p.Place.Pod != "" {
			runsIn[p.PID] = pod{p.Place.Namespace, p.Place.Pod}
		}
	}
	cards := map[pod]map[string]bool{} // of each pod; "" for a claim whose card is not known
	for _, h := range all {
		p, id := pod{h.claim.Namespace, h.claim.Pod}, ""
		if h.card != nil {
			id = h.card.ID
		}
		if cards[p] == nil {
			cards[p] = map[string]bool{}
		}
		cards[p][id] = true
	}
	told := map[string]bool{}
	for _, p := range v.Processes {
		key := "process " + v.Name + " " + p.PID
		in, isKnown := runsIn[p.PID]
		its := cards[in]
		c := Conflict{
			Vendor: v.Name, Key: key, Device: p.Device, PID: p.PID,
			Text: fmt.Sprintf("process %s on %s card %s runs in pod %s, which was allocated other cards: no allocation of %s is told while it does", p.PID, v.Name, p.Device, in, v.Name),
		}
		isStranger := isKnown && len(its) > 0 && !its[""] && !its[p.Device]
		if i := slices.IndexFunc(before, func(b Conflict) bool { return b.Key == key && b.Device == p.Device }); i >= 0 && !isKnown {
			isStranger, c = true, before[i]
		}
		if isStranger && !told[key] {
			told[key] = true
			r.Conflicts = append(r.Conflicts, c)
		}
	}
	return len(told) > 0
}
