package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// parseMeminfo reads the memory of a node, in bytes; nothing for a node without any. A line
// looks like
//
//	Node 0 MemTotal:       65536000 kB
func parseMeminfo(text string) (model.Readings, error) {
	bytes := map[string]float64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] != "Node" || f[4] != "kB" {
			continue
		}
		n, err := strconv.ParseUint(f[3], 10, 53) // which a float64 holds exactly
		if err != nil {
			return nil, fmt.Errorf("%.60q is no size", f[2]+" "+f[3])
		}
		bytes[f[2]] = float64(n) * 1024
	}
	total, hasTotal := bytes["MemTotal:"]
	free, hasFree := bytes["MemFree:"]
	switch {
	case !hasTotal || !hasFree || free > total:
		return nil, errors.New("no MemTotal with MemFree")
	case total == 0:
		return nil, nil
	}
	return model.Readings{
		{Metric: "numa_memory_total_bytes", Value: total},
		{Metric: "numa_memory_free_bytes", Value: free},
		{Metric: "numa_memory_used_bytes", Value: total - free},
	}, nil
}

// parseDistances reads one figure for each of the nodes in all, in that order: 10
// is local, 255 unreachable.
func parseDistances(text string, all []int) (model.Readings, error) {
	f := strings.Fields(text)
	if len(f) != len(all) {
		return nil, fmt.Errorf("%d figures for %d nodes", len(f), len(all))
	}
	var rs model.Readings
	for i, id := range all {
		d, err := strconv.ParseUint(f[i], 10, 8)
		if err != nil || d == 0 {
			return nil, fmt.Errorf("%.60q is no distance", f[i])
		}
		rs = append(rs, model.Reading{Metric: "numa_distance", Labels: []string{strconv.Itoa(id)}, Value: float64(d)})
	}
	return rs, nil
}

// allocationResults are what numastat counts, and the label that each is exported with.
var allocationResults = map[string]string{
	"numa_hit": "hit", "numa_miss": "miss", "numa_foreign": "foreign",
	"interleave_hit": "interleave_hit", "local_node": "local_node", "other_node": "other_node",
}

// parseNumastat reads lines of a name and a count of pages since boot.
func parseNumastat(text string) (model.Readings, error) {
	var rs model.Readings
	for line := range strings.Lines(text) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		result := allocationResults[name]
		if result == "" {
			continue
		}
		n, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.60q is no count of pages", line)
		}
		rs.Add(model.Reading{Metric: "numa_allocations_total", Labels: []string{result}, Value: float64(n)})
	}
	if len(rs) == 0 {
		return nil, errors.New("no counts")
	}
	return rs, nil
}
