package kube

import (
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Vendor is what a vendor's tool shows now.
type Vendor struct {
	Name string
	*model.Snapshot
}

// Allocation says that the kubelet allocated a card to a container.
type Allocation struct {
	Vendor, Device string
	Resource       string
	Pod            Pod
	Container      string
}

// Result is what the kubelet's claims mean.
type Result struct {
	Allocations []Allocation // each once
	// Conflicts describes, for each vendor, what cannot be true together with its claims.
	Conflicts map[string][]string
	// Warnings are about claims whose cards are not known.
	Warnings model.Warnings
}

// Allocate joins claims with the cards of the vendors. Two things contradict the claims of a vendor, and then none of
// its cards is allocated:
//
//   - A card that one pod has as a whole and another pod has too. Pods that have it by the same ResourceClaim share it.
//   - A process on a card in a pod that was allocated other cards of that vendor: the ids mean something else than we think.
func Allocate(claims []Claim, vendors []Vendor) Result {
	r := Result{Conflicts: map[string][]string{}}
	for _, v := range vendors {
		matched, problems := v.match(claims)
		conflicts := slices.Concat(v.doubleClaims(matched), v.misplaced(matched))
		r.Conflicts[v.Name] = conflicts
		slices.Sort(problems)
		for _, text := range slices.Compact(problems) {
			r.Warnings.Add("%s", text)
		}
		if len(conflicts) > 0 {
			continue
		}
		known := map[Allocation]bool{} // a container may have several parts of a card
		for _, m := range matched {
			a := Allocation{Vendor: v.Name, Device: m.device, Resource: m.Resource, Pod: m.Pod, Container: m.Container}
			if m.device != "" && !known[a] {
				known[a] = true
				r.Allocations = append(r.Allocations, a)
			}
		}
	}
	return r
}

// matchedClaim is a claim with the number of its card, "" where the card is not known.
type matchedClaim struct {
	Claim
	device string
}

// match finds the cards of a vendor's claims, and says what is wrong with those that have none.
func (v Vendor) match(claims []Claim) (matched []matchedClaim, problems []string) {
	byCard := map[string]string{}
	for i := range v.Devices {
		d := &v.Devices[i]
		byCard[d.UUID], byCard[d.BusID], byCard[d.ID] = d.ID, d.ID, d.ID
	}
	for _, s := range v.Slices {
		byCard[s.ID] = s.Device
	}
	delete(byCard, "")
	for _, c := range claims {
		if c.Vendor != v.Name {
			continue
		}
		m := matchedClaim{c, byCard[c.Card]}
		switch {
		case c.Problem != "":
			problems = append(problems, c.Problem)
		case m.device == "":
			problems = append(problems, fmt.Sprintf("allocated card %q of %q: the tool shows no such card", c.Card, c.Resource))
		}
		matched = append(matched, m)
	}
	return matched, problems
}

// doubleClaims describes the cards that a pod has as a whole and another pod has too.
func (v Vendor) doubleClaims(matched []matchedClaim) (conflicts []string) {
	type holder struct {
		pod           Pod
		resourceClaim string // without a pod, since several may share it
	}
	isWhole, holders := map[string]bool{}, map[string]map[holder]bool{}
	for _, m := range matched {
		h := holder{pod: m.Pod}
		if m.ResourceClaim != "" {
			h = holder{resourceClaim: m.ResourceClaim}
		}
		if holders[m.device] == nil {
			holders[m.device] = map[holder]bool{}
		}
		holders[m.device][h] = true
		isWhole[m.device] = isWhole[m.device] || !m.Shared
	}
	for i := range v.Devices {
		id := v.Devices[i].ID
		if isWhole[id] && len(holders[id]) > 1 {
			conflicts = append(conflicts, fmt.Sprintf("%s card %s is allocated to %d pods, and to one of them as a whole: no allocation of %s is exported",
				v.Name, id, len(holders[id]), v.Name))
		}
	}
	return conflicts
}

// misplaced describes the processes on cards that their pods were not allocated. A pod without a claim says nothing, nor
// does one with a claim whose card is not known.
func (v Vendor) misplaced(matched []matchedClaim) (conflicts []string) {
	cards := map[Pod]map[string]bool{}
	for _, m := range matched {
		if cards[m.Pod] == nil {
			cards[m.Pod] = map[string]bool{}
		}
		cards[m.Pod][m.device] = true
	}
	pods := map[string]Pod{} // by PID
	for _, p := range v.Placements {
		pods[p.PID] = Pod{p.Container.Namespace, p.Container.Pod}
	}
	for _, p := range v.Processes {
		pod := pods[p.PID]
		if its := cards[pod]; len(its) > 0 && !its[""] && !its[p.Device] {
			conflicts = append(conflicts, fmt.Sprintf("process %s on %s card %s runs in pod %s, which was allocated other cards: no allocation of %s is exported",
				p.PID, v.Name, p.Device, pod, v.Name))
		}
	}
	return conflicts
}
