package load

import "strings"

// reportNames are the series that a report needs: of accelerator_exporter, and of vLLM,
// old and new, and servers that use its names without the prefix, such as MindIE.
var reportNames = newNames(
	"accelerator_info",
	"accelerator_utilization_ratio",
	"accelerator_power_watts",
	"accelerator_temperature_celsius",
	"accelerator_memory_used_bytes",
	"accelerator_memory_total_bytes",
	"accelerator_probe_target_device_info",
	"accelerator_collector_last_success_timestamp_seconds",

	"num_requests_running",
	"num_requests_waiting",
	"kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc",
	"prefix_cache_queries", "gpu_prefix_cache_queries",
	"prefix_cache_hits", "gpu_prefix_cache_hits",
	"time_to_first_token_seconds_sum", "time_to_first_token_seconds_count",
)

// placementNames are the series of accelerator_exporter that say where cards and their
// processes are.
var placementNames = newNames(
	"accelerator_info",
	"accelerator_numa_node",
	"accelerator_numa_cpu_list_info",
	"accelerator_numa_memory_total_bytes",
	"accelerator_numa_memory_free_bytes",
	"accelerator_numa_distance",
	"accelerator_process_memory_used_bytes",
	"accelerator_process_cpus_info",
	"accelerator_probe_target_device_info",
)

// keptLabels are those that somebody reads: what else a server exports must not fill
// the log.
var keptLabels = newNames(
	"engine", "model_name", "vendor", "device", "name", "sensor", "type", "target", "collector",
	"node", "peer", "pid", "process", "cpus", "mems",
)

func newNames(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// baseName is a series' name without vLLM's prefix and without _total, which old
// versions of prometheus_client leave out.
func baseName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "vllm:"), "_total")
}
