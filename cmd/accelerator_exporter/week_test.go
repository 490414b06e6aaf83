//go:build e2e

package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed of TestSimulation")
	seeds     = flag.Uint64("seeds", 1, "how many seeds TestSimulation tries")
)

// TestSimulation lets everything around the exporter misbehave at random, for a week of virtual time. Whatever happens,
// what it shows is true and not old, and when all behaves again it is as before: no series less or more, no goroutine and
// no memory more. A host has the cards of four vendors, which the seed draws as it draws the faults; it draws as well how
// often is polled, and every fifth seed polls each minute for some hours beside.
func TestSimulation(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		simulateSeed(t, seed, []time.Duration{2 * time.Hour, time.Hour, 30 * time.Minute}[seed%3], 7*24*time.Hour)
		if seed%5 == 0 {
			simulateSeed(t, seed, time.Minute, 3*time.Hour)
		}
	}
}

func simulateSeed(t *testing.T, seed uint64, interval, length time.Duration) {
	t.Run(fmt.Sprintf("%d every %v", seed, interval), func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		var vendors []string
		for _, i := range random.Perm(len(collector.Vendors()))[:4] {
			vendors = append(vendors, collector.Vendors()[i].Name)
		}
		simulate(t, interval, vendors, io.Discard, func(s *simulation) { s.misbehave(random, length) })
		if t.Failed() {
			t.Logf("to see it again: make simulate SEED=%d SEEDS=1", seed)
		}
	})
}

// misbehave is a span of faults of that length between two times of rest.
func (s *simulation) misbehave(random *rand.Rand, length time.Duration) {
	rest := max(14*s.interval, 90*time.Minute) // three rounds, and what was refused is asked again after an hour
	type trouble struct {
		until time.Time
		end   func()
	}
	var all []trouble
	endBefore := func(t time.Time) {
		all = slices.DeleteFunc(all, func(one trouble) bool {
			over := one.until.Before(t)
			if over {
				one.end()
			}
			return over
		})
	}
	before, goroutines, heap := s.rest(rest)
	for last := time.Now().Add(length); time.Now().Before(last) && !s.t.Failed(); {
		time.Sleep(time.Duration(random.Int64N(int64(3 * s.interval))))
		s.check()
		endBefore(time.Now())
		what, end := s.disturb(random)
		until := time.Now().Add(time.Duration(random.ExpFloat64() * float64(5*s.interval)))
		s.t.Logf("%s until %s: %s", time.Now().Format(time.DateTime), until.Format(time.DateTime), what)
		all = append(all, trouble{until, end})
	}
	endBefore(time.Now().Add(365 * 24 * time.Hour))
	after, goroutinesNow, heapNow := s.rest(rest)
	if diff := cmp.Diff(before, after); diff != "" {
		s.t.Errorf("series before (-) and after it all (+):\n%s", diff)
	}
	if goroutinesNow > goroutines+2 || heapNow > heap+8<<20 {
		s.t.Errorf("from %d goroutines and %d bytes to %d and %d", goroutines, heap, goroutinesNow, heapNow)
	}
}

// rest lets time pass without a fault, and returns the series and what the program holds then.
func (s *simulation) rest(length time.Duration) (names []string, goroutines int, heap uint64) {
	time.Sleep(length)
	synctest.Wait()
	for name := range maps.Keys(s.check()) {
		if strings.HasPrefix(name, "accelerator_") && !strings.Contains(name, `{model=""}`) { // attempts without a model stay counted
			names = append(names, name)
		}
	}
	slices.Sort(names)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return names, runtime.NumGoroutine(), m.HeapAlloc
}

// disturb begins a fault, and returns which and what ends it.
func (s *simulation) disturb(random *rand.Rand) (what string, end func()) {
	tool := oneOf(random, s.tools...)
	order := func(name, text string) (string, func()) {
		s.order(name, text)
		return name + ": " + text, func() { s.order(name, "") }
	}
	misdo := func(where string, f fault) (string, func()) {
		s.set(where, f)
		return where + ": " + string(f), func() { s.set(where, "") }
	}
	switch random.IntN(8) {
	case 0:
		return misdo(oneOf(random, tool, "hccn_tool"), stuck)
	case 1:
		return order(tool+".fault", "card_lost")
	case 2:
		return order(tool+".card", fmt.Sprintf("%d %s", random.IntN(8), oneOf(random, "unhealthy", "hot", "memory_full")))
	case 3:
		f := fakevllm.Faults()[random.IntN(len(fakevllm.Faults()))]
		s.server.SetFault(f)
		return "model server: " + string(f), func() { s.server.SetFault(fakevllm.FaultNone) }
	case 4:
		if random.IntN(2) == 0 {
			s.down.Store(true)
			return "no model server", func() { s.down.Store(false) }
		}
		_ = os.Rename(s.kubelet, s.kubelet+".away")
		return "no kubelet", func() { _ = os.Rename(s.kubelet+".away", s.kubelet) }
	}
	s.at.Store(random.Int64N(1000))
	return misdo(oneOf(random, s.commands()...), fault(oneOf(random, string(hang), string(halfway), string(slow), string(refusal), string(cut), string(torn), string(exit), string(flaky))))
}

func oneOf(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }
