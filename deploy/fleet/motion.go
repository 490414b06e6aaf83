package main

import (
	"math"
	"strings"
)

// gauge is what a gauge shows at a moment: near what was captured, as far from
// it and as coarse as the real one. What is not named here stands still, as
// most of a host does: identities, totals, limits, states.
func (h *host) gauge(name string, base, at float64, seed uint64) float64 {
	poll := at / pollEvery
	busy := 2*h.load(math.Floor(poll)*pollEvery) - 1 // what the tools saw last
	switch name {
	case "accelerator_utilization_ratio":
		return math.Round(100*min(1, max(0, 0.5+0.45*busy+0.05*noise(seed, poll)))) / 100
	case "accelerator_power_watts":
		return math.Round(base * (1 + 0.4*busy + 0.02*noise(seed, poll)))
	case "accelerator_temperature_celsius":
		return math.Round(base * (1 + 0.2*busy + 0.01*noise(seed, poll)))
	case "accelerator_memory_used_bytes": // an engine holds nearly the same all day
		return base + math.Round(4*noise(seed, poll/12))*(1<<20)
	case "accelerator_numa_memory_free_bytes", "accelerator_numa_memory_used_bytes":
		return 4096 * math.Round(base/4096*(1+0.01*noise(seed, poll)))
	case "accelerator_collector_duration_seconds":
		return base * (1 + 0.3*noise(seed, poll))
	case "accelerator_collector_last_success_timestamp_seconds":
		return h.since(math.Floor(poll)*pollEvery + 0.1*noise(seed, poll))
	case "accelerator_probe_last_success_timestamp_seconds":
		return h.since(math.Floor(at/probeEvery)*probeEvery + noise(seed, at/probeEvery))
	case "accelerator_probe_phase_seconds":
		return base * (1 + 0.3*noise(seed, at/probeEvery))
	case "go_goroutines", "go_memstats_alloc_bytes", "go_memstats_heap_alloc_bytes", "go_memstats_heap_objects",
		"go_memstats_heap_idle_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_stack_inuse_bytes",
		"go_memstats_next_gc_bytes", "process_resident_memory_bytes":
		return math.Round(base * (1 + 0.2*noise(seed, at)))
	case "go_memstats_last_gc_time_seconds":
		return h.since(math.Floor(at/20) * 20)
	default:
		return base
	}
}

// since turns a host's seconds into a time stamp.
func (h *host) since(seconds float64) float64 {
	return float64(h.start.UnixMilli())/1000 + seconds
}

// counter is what a counter has come to: steps of the size and rhythm that the
// real ones have, and never back. Counters of failures stand still.
func (h *host) counter(name string, base, at float64, seed uint64) float64 {
	probes := float64(h.probes)
	up := h.age + at
	grown := func(rate float64) float64 { // each second's growth differs, the sum never falls
		whole := math.Floor(up)
		return math.Floor(rate * (whole + 0.4*(1+noise(seed, whole))))
	}
	switch {
	case base == 0:
		return 0
	case name == "accelerator_numa_allocations_total":
		polls := math.Floor(up / pollEvery)
		return base + math.Floor(50_000*(polls+0.4*(1+noise(seed, polls))))
	case name == "accelerator_probe_requests_total":
		return probes
	case name == "accelerator_probe_output_tokens_total":
		return probes * tokens
	case name == "accelerator_probe_prompt_tokens_total":
		return probes * 31
	case name == "process_cpu_seconds_total":
		return grown(1.6) / 100
	case strings.HasPrefix(name, "go_memstats_"):
		return grown(40_000)
	case strings.HasPrefix(name, "process_network_"):
		return grown(3_000)
	case name == "promhttp_metric_handler_requests_total":
		return math.Floor(up / 15)
	default:
		return base
	}
}
