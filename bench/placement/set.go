package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// maxNumber is above the number of every CPU and node: what Linux can be built for.
const maxNumber = 8192

// set is numbers of CPUs or nodes, ascending and each once.
type set []int

// parseSet reads a list as the kernel writes it.
func parseSet(text string) (set, error) { return cpulist.Parse(text, maxNumber) }

func parseNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n >= maxNumber {
		return 0, fmt.Errorf("%.40q is no number of a CPU or node", text)
	}
	return int(n), nil
}

func newSet(numbers ...int) set {
	s := slices.Clone(numbers)
	slices.Sort(s)
	return slices.Compact(s)
}

func (s set) has(n int) bool {
	_, found := slices.BinarySearch(s, n)
	return found
}

// within reports whether all of s are in other.
func (s set) within(other set) bool {
	return !slices.ContainsFunc(s, func(n int) bool { return !other.has(n) })
}

// meets reports whether some of s are in other.
func (s set) meets(other set) bool { return slices.ContainsFunc(s, other.has) }

// String is the list as the kernel writes it.
func (s set) String() string { return cpulist.Format(s) }

// blank is the numbers with blanks between.
func (s set) blank() string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// words is the set as nodes in a sentence: node 0, nodes 0 and 1, nodes 0-3.
func (s set) words() string {
	switch len(s) {
	case 0:
		return "no node"
	case 1:
		return "node " + s.String()
	case 2:
		return fmt.Sprintf("nodes %d and %d", s[0], s[1])
	}
	return "nodes " + s.String()
}
