package numa

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// parseMeminfo reads a node's meminfo, in bytes. A line looks like
//
//	Node 0 MemTotal:       65536000 kB
func parseMeminfo(text string, id int) (rs model.Readings, problems []error) {
	const total, free, used = "numa_memory_total_bytes", "numa_memory_free_bytes", "numa_memory_used_bytes"
	metrics := map[string]model.Metric{"MemTotal:": total, "MemFree:": free, "MemUsed:": used}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "Node" || metrics[f[2]] == "" {
			continue
		}
		metric := metrics[f[2]]
		bytes, ok := parseKilobytes(f[3:])
		if _, twice := rs.Get(metric); !ok || twice || f[1] != strconv.Itoa(id) {
			problems = append(problems, fmt.Errorf("%s is no reading of node %d", quote(strings.TrimSpace(line)), id))
			continue
		}
		rs.Add(model.Reading{Metric: metric, Value: bytes})
	}
	all, ok := rs.Get(total)
	switch {
	case !ok && len(problems) == 0:
		problems = append(problems, errors.New("no MemTotal"))
	case ok && all == 0: // a node without memory has nothing that is free either
		return nil, problems
	case ok:
		if rest, ok := rs.Get(free); ok && rest <= all {
			rs.Add(model.Reading{Metric: used, Value: all - rest})
		}
	}
	return rs, problems
}

func parseKilobytes(f []string) (bytes float64, ok bool) {
	if len(f) != 2 || f[1] != "kB" {
		return 0, false
	}
	n, err := strconv.ParseUint(f[0], 10, 53) // which a float64 holds exactly
	return float64(n) * 1024, err == nil
}

// parseDistances reads one figure for each of the nodes in all, in that order: 10
// is local, 255 unreachable.
func parseDistances(text string, all []int) (rs model.Readings, problems []error) {
	f := strings.Fields(text)
	if len(f) != len(all) {
		return nil, []error{fmt.Errorf("%d figures for %d nodes", len(f), len(all))}
	}
	for i, id := range all {
		d, err := strconv.ParseUint(f[i], 10, 8)
		if err != nil || d == 0 {
			return nil, []error{fmt.Errorf("%s is no distance", quote(f[i]))}
		}
		rs = append(rs, model.Reading{Metric: "numa_distance", Labels: []string{strconv.Itoa(id)}, Value: float64(d)})
	}
	return rs, nil
}

// parseNumastat reads lines of a name and a count of pages since boot.
func parseNumastat(text string) (rs model.Readings, problems []error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || !slices.Contains([]string{"numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"}, f[0]) {
			continue
		}
		r := model.Reading{Metric: "numa_allocations_total", Labels: []string{strings.TrimPrefix(f[0], "numa_")}}
		_, twice := rs.Get(r.Metric, r.Labels...)
		var n uint64
		err := errors.New("not two words")
		if len(f) == 2 {
			n, err = strconv.ParseUint(f[1], 10, 64)
		}
		if err != nil || twice {
			problems = append(problems, fmt.Errorf("%s is no count of pages", quote(strings.TrimSpace(line))))
			continue
		}
		r.Value = float64(n)
		rs = append(rs, r)
	}
	if len(rs)+len(problems) == 0 {
		problems = append(problems, errors.New("no counts"))
	}
	return rs, problems
}

// pciName returns the name of a PCI device in sysfs: the address in lower case
// with a domain of no more digits than it needs, four at least.
func pciName(address string) (string, bool) {
	if !printed.PCIAddress(address) {
		return "", false // also for what could leave the folder of devices
	}
	name := strings.ToLower(strings.TrimSpace(address))
	for name[0] == '0' && strings.IndexByte(name, ':') > 4 {
		name = name[1:]
	}
	return name, true
}

// parseID reads the number of a CPU or node: digits only, below maxID.
func parseID(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n < maxID
}

// quote makes a foreign text fit for a one-line message.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
