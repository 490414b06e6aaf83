package telemetry

import (
	"bytes"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// lastPoll is when accelerator_exporter last asked a vendor's tool: what it shows of
// that vendor's cards is of then.
const lastPoll = "accelerator_collector_last_success_timestamp_seconds"

// choice says which series of a source a report needs.
type choice struct {
	keeps func(name []byte) bool
	known func(name []byte) bool // a name that only this kind of source has
	// labels says which are kept; longest is how many bytes one may have, and most how
	// many series there may be.
	labels        func(name string) bool
	longest, most int
}

func choiceOf(source runlog.Source) choice {
	if source == runlog.SourceExporter {
		return choice{
			keeps: isExporterSeries,
			known: isExporters, labels: isReportLabel, longest: maxLabel, most: maxSeries,
		}
	}
	return choice{keeps: isServerSeries, known: isServerSeries, labels: isReportLabel, longest: maxLabel, most: maxSeries}
}

// placementChoice is what says where cards and processes are. Links are pairs of cards,
// and a list of CPUs is as long as the machine is large.
func placementChoice() choice {
	return choice{
		keeps: isPlacementSeries, known: isExporters, labels: isPlacementLabel,
		longest: 4096, most: 1 << 16,
	}
}

func isExporters(name []byte) bool { return bytes.HasPrefix(name, []byte("accelerator_")) }

// isReportLabel reports whether a report reads a label.
func isReportLabel(name string) bool {
	switch name {
	case "le", "engine", "model_name", "vendor", "device", "name", "sensor", "type", "target", "collector":
		return true
	}
	return false
}

// isPlacementSeries reports whether a series of accelerator_exporter says where its
// cards and their processes are.
func isPlacementSeries(name []byte) bool {
	switch string(name) {
	case "accelerator_info",
		"accelerator_numa_node",
		"accelerator_numa_node_conflict",
		"accelerator_numa_cpus",
		"accelerator_numa_cpu_list_info",
		"accelerator_numa_memory_total_bytes",
		"accelerator_numa_memory_free_bytes",
		"accelerator_numa_distance",
		"accelerator_link_info",
		"accelerator_process_memory_used_bytes",
		"accelerator_process_near_cpus_ratio",
		"accelerator_process_near_memory_allowed",
		"accelerator_process_cpus_info",
		"accelerator_process_node_memory_bytes",
		"accelerator_process_placement_unknown",
		"accelerator_probe_target_device_info":
		return true
	}
	return false
}

func isPlacementLabel(name string) bool {
	switch name {
	case "vendor", "device", "node", "peer", "link", "pid", "process", "cpus", "mems", "target":
		return true
	}
	return false
}

// isExporterSeries reports whether a series of accelerator_exporter is kept.
func isExporterSeries(name []byte) bool {
	switch string(name) {
	case "accelerator_info",
		"accelerator_healthy",
		"accelerator_utilization_ratio",
		"accelerator_power_watts",
		"accelerator_temperature_celsius",
		"accelerator_memory_used_bytes",
		"accelerator_memory_total_bytes",
		"accelerator_numa_node",
		"accelerator_probe_target_device_info",
		lastPoll:
		return true
	}
	return false
}

// isServerSeries reports whether a series of a model server is kept. It knows the names
// of vLLM, old and new, and those of servers that use the same without vLLM's prefix,
// such as MindIE. A counter is spelt with and without _total.
func isServerSeries(name []byte) bool {
	name = bytes.TrimPrefix(name, []byte("vllm:"))
	switch string(bytes.TrimSuffix(name, []byte("_total"))) {
	case "num_requests_running",
		"num_requests_waiting",
		"kv_cache_usage_perc",
		"gpu_cache_usage_perc",
		"npu_cache_usage_perc",
		"prefix_cache_queries", "prefix_cache_hits",
		"gpu_prefix_cache_queries", "gpu_prefix_cache_hits", "gpu_prefix_cache_hit_rate",
		"npu_prefix_cache_hit_rate",
		"num_preemptions",
		"prompt_tokens",
		"generation_tokens",
		"time_to_first_token_seconds_bucket",
		"time_to_first_token_seconds_sum", "time_to_first_token_seconds_count",
		"inter_token_latency_seconds_sum", "inter_token_latency_seconds_count",
		"time_per_output_token_seconds_sum", "time_per_output_token_seconds_count",
		"request_time_per_output_token_seconds_sum", "request_time_per_output_token_seconds_count",
		"request_queue_time_seconds_sum", "request_queue_time_seconds_count":
		return true
	}
	return false
}
