package model

import (
	"cmp"
	"slices"
)

// The most that one command's output may hold: far more than any host has, and together fewer series than a scrape may
// have (sample_limit in deploy/prometheus).
const (
	MaxDevices   = 128  // the largest hosts met have 32 chips
	MaxSlices    = 512  // 16 a card, on 32 cards
	MaxProcesses = 1024 // one a card and process
	MaxLinks     = 4096 // 64 cards with each other
)

// Limit leaves out what is more than a host can have, with a warning for each kind. Of the processes the largest stay,
// of all else the first.
func (r *Report) Limit() {
	r.Devices = first(r, r.Devices, MaxDevices, "cards")
	r.Listed = first(r, r.Listed, MaxDevices, "listed cards")
	r.Slices = first(r, r.Slices, MaxSlices, "slices")
	r.Affinities = first(r, r.Affinities, MaxDevices, "rows of the topology")
	r.Links = first(r, r.Links, MaxLinks, "links")
	if len(r.Processes) > MaxProcesses {
		r.Processes = slices.Clone(r.Processes)
		slices.SortFunc(r.Processes, func(a, b Process) int {
			return cmp.Or(cmp.Compare(b.UsedBytes, a.UsedBytes), cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID))
		})
		r.Processes = first(r, r.Processes, MaxProcesses, "processes")
	}
}

func first[T any](r *Report, all []T, most int, what string) []T {
	if len(all) <= most {
		return all
	}
	r.Warn("%d %s are left out: more than %d", len(all)-most, what, most)
	return slices.Clip(all[:most])
}
