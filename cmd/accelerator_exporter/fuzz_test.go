package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// FuzzScrape has a tool answer one of its calls with any text, and all others well. Whatever it is, a scrape succeeds: no
// series twice, no label that is too long or no text, and no more series than Prometheus takes.
func FuzzScrape(f *testing.F) {
	m, vendors := newMachine(f, false), collector.Vendors()
	for i, v := range vendors {
		s := newStandIn(f, m)
		for _, watched := range s.vendors(v.Name) {
			for _, c := range slices.Concat([]model.Command{watched.Table}, watched.Commands) {
				c.Args(model.Device{ID: "0", NPU: "0", Chip: "0"})
			}
		}
		for _, call := range slices.Sorted(maps.Keys(s.names)) {
			words := strings.Fields(call)
			tool, _ := smi.Find(words[0])
			state, now := m.shows()
			text := string(tool.Answer(state, now, 0, words[1:]...).Text)
			f.Add(uint8(i), call, text, "0", "00")
			f.Add(uint8(i), call, text, "python", strings.Repeat("x", 400))
		}
	}
	f.Fuzz(func(t *testing.T, vendor uint8, call, text, from, to string) {
		if from != "" && len(to) < 1000 {
			text = strings.Replace(text, from, to, 100)
		}
		synctest.Test(t, func(t *testing.T) {
			s := newStandIn(t, m)
			s.says = map[string]string{call: text}
			o := s.options(vendors[int(vendor)%len(vendors)].Name)
			o.NUMA, o.Containers = false, false
			s.collect(o, func(scrape func() map[string]float64) {
				time.Sleep(10 * time.Second)
				scrape()
			})
		})
	})
}
