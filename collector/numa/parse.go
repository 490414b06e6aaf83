package numa

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseCPUList reads a list such as 0-31,64-95 as the kernel writes it, into
// ascending numbers without duplicates. An empty list is no CPUs. Numbers of
// 65536 and more are an error, so that the result is of bounded size.
func ParseCPUList(list string) ([]int, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return []int{}, nil
	}
	type span struct{ first, last int }
	var spans []span
	for item := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(item), "-")
		if !ranged {
			to = from
		}
		first, ok1 := parseID(from)
		last, ok2 := parseID(to)
		if !ok1 || !ok2 || first > last {
			return nil, fmt.Errorf("%s is no range of CPUs", quote(item))
		}
		spans = append(spans, span{first, last})
	}
	// In order, so that overlapping ranges cost no more than their union.
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	cpus, next := []int{}, 0
	for _, s := range spans {
		for cpu := max(s.first, next); cpu <= s.last; cpu++ {
			cpus = append(cpus, cpu)
		}
		next = max(next, s.last+1)
	}
	return cpus, nil
}

// parseMeminfo reads a node's meminfo, in bytes. A line looks like
//
//	Node 0 MemTotal:       65536000 kB
func parseMeminfo(text string, id int) (total, free, used *float64, problems []error) {
	figures := map[string]**float64{"MemTotal:": &total, "MemFree:": &free, "MemUsed:": &used}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "Node" {
			continue
		}
		figure := figures[f[2]]
		if figure == nil {
			continue
		}
		bytes, ok := parseKilobytes(f[3:])
		if !ok || f[1] != strconv.Itoa(id) || *figure != nil {
			problems = append(problems, fmt.Errorf("%s is no reading of node %d", quote(strings.TrimSpace(line)), id))
			continue
		}
		*figure = &bytes
	}
	switch {
	case total == nil:
		if len(problems) == 0 {
			problems = append(problems, errors.New("no MemTotal"))
		}
	case *total == 0: // a node without memory has nothing that is free either
		return nil, nil, nil, problems
	case used == nil && free != nil && *free <= *total:
		rest := *total - *free
		used = &rest
	}
	return total, free, used, problems
}

func parseKilobytes(f []string) (bytes float64, ok bool) {
	if len(f) != 2 || f[1] != "kB" {
		return 0, false
	}
	n, err := strconv.ParseUint(f[0], 10, 53) // which a float64 holds exactly
	return float64(n) * 1024, err == nil
}

// parseDistances reads one figure for each of the nodes in all, in that order.
func parseDistances(text string, all []int) (map[int]int, []error) {
	f := strings.Fields(text)
	if len(f) != len(all) {
		return nil, []error{fmt.Errorf("%d figures for %d nodes", len(f), len(all))}
	}
	distances := make(map[int]int, len(all))
	for i, id := range all {
		d, err := strconv.ParseUint(f[i], 10, 8)
		if err != nil || d == 0 {
			return nil, []error{fmt.Errorf("%s is no distance", quote(f[i]))}
		}
		distances[id] = int(d)
	}
	return distances, nil
}

// parseNumastat reads lines of a name and a count of pages.
func parseNumastat(text string) (map[string]uint64, []error) {
	names := map[string]string{
		"numa_hit": "hit", "numa_miss": "miss", "numa_foreign": "foreign",
		"interleave_hit": "interleave_hit", "local_node": "local_node", "other_node": "other_node",
	}
	counts := make(map[string]uint64, len(names))
	var problems []error
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || names[f[0]] == "" {
			continue
		}
		name := names[f[0]]
		_, twice := counts[name]
		var n uint64
		err := errors.New("not two words")
		if len(f) == 2 {
			n, err = strconv.ParseUint(f[1], 10, 64)
		}
		if err != nil || twice {
			problems = append(problems, fmt.Errorf("%s is no count of pages", quote(strings.TrimSpace(line))))
			continue
		}
		counts[name] = n
	}
	if len(counts) == 0 {
		if len(problems) == 0 {
			problems = append(problems, errors.New("no counts"))
		}
		return nil, problems
	}
	return counts, problems
}

// pciName returns the name of a PCI device in sysfs: the address in lower case
// with a domain of at least four digits. It returns nothing that could leave
// the folder of devices.
func pciName(address string) (string, bool) {
	rest, function, ok1 := strings.Cut(address, ".")
	f := strings.Split(rest, ":")
	if !ok1 || len(f) != 3 || len(f[0]) < 4 {
		return "", false
	}
	domain, ok1 := parseHex(f[0], 8)
	bus, ok2 := parseHex(f[1], 2)
	device, ok3 := parseHex(f[2], 2)
	slot, ok4 := parseHex(function, 1)
	if !ok1 || !ok2 || !ok3 || !ok4 || device > 0x1f || slot > 7 {
		return "", false
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, device, slot), true
}

// parseHex reads hexadecimal digits without a sign or prefix, at most as many
// as given.
func parseHex(s string, digits int) (uint64, bool) {
	if len(s) > digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return n, err == nil
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
