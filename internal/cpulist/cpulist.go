// Package cpulist reads and writes lists of CPUs and of NUMA nodes as the kernel does in
// sysfs and in a process's status: the list format of cpuset(7).
package cpulist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a list such as 0-31,64-95 into ascending numbers without duplicates. An empty
// list is no numbers. Numbers of most and more are an error, so that the result is of
// bounded size; so is a list that was cut behind a comma or a dash.
func Parse(list string, most int) ([]int, error) {
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
		first, err1 := strconv.ParseUint(from, 10, 32)
		last, err2 := strconv.ParseUint(to, 10, 32)
		if err1 != nil || err2 != nil || first > last || last >= uint64(most) {
			return nil, fmt.Errorf("%.40q is no range of CPUs or nodes", item)
		}
		spans = append(spans, span{int(first), int(last)})
	}
	// In order, so that overlapping ranges cost no more than their union.
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	numbers, next := []int{}, 0
	for _, s := range spans {
		from := max(s.first, next)
		numbers = slices.Grow(numbers, max(0, s.last+1-from))
		for n := from; n <= s.last; n++ {
			numbers = append(numbers, n)
		}
		next = max(next, s.last+1)
	}
	return numbers, nil
}

// Format writes ascending numbers without duplicates as such a list.
func Format(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); i++ {
		from := i
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[from]))
		if i > from {
			b.WriteString("-" + strconv.Itoa(numbers[i]))
		}
	}
	return b.String()
}
