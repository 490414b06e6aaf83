package numa

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// maxMaps is the most that is read of a process's numa_maps, in bytes: some 100,000
// mappings, and the kernel's usual limit is 65,530. A line is a path and a few counts.
const (
	maxMaps     = 16 << 20
	maxMapsLine = 64 << 10
)

// SumMaps reads a process's numa_maps and returns how many bytes lie on each node. A line
// looks like
//
//	7f2c4a000000 default anon=512 dirty=512 N0=300 N1=212 kernelpagesize_kB=4
//
// and counts pages of the size at its end. More than 16 MiB, a line that is cut or has no
// size is an error: a part of the sum would look like all of it.
func SumMaps(r io.Reader) (map[int]int64, error) {
	limited := &io.LimitedReader{R: r, N: maxMaps + 1}
	lines := bufio.NewReaderSize(limited, maxMapsLine)
	sum := map[int]int64{}
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("more than %d bytes", maxMaps)
		case errors.Is(err, io.EOF) && len(line) == 0:
			return sum, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("the last line is cut")
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("a line of more than %d bytes", maxMapsLine)
		case err != nil:
			return nil, failure.Cause(err)
		}
		if err := addMapping(sum, string(line)); err != nil {
			return nil, err
		}
	}
}

// nodePages is how many pages of a mapping are on a node.
type nodePages struct {
	node  int
	count int64
}

// addMapping adds the pages of one line. Paths have their blanks and = escaped, so no
// file's name is taken for a count.
func addMapping(sum map[int]int64, line string) error {
	var pages []nodePages
	size := int64(0)
	for field := range strings.FieldsSeq(line) {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			continue
		}
		digits, isNode := strings.CutPrefix(key, "N")
		if !isNode && key != "kernelpagesize_kB" {
			continue
		}
		// No figure that can be right is near these, so no product or sum of them overflows.
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return fmt.Errorf("%s is no count", quote(field))
		}
		if !isNode {
			size = n
			continue
		}
		node, ok := parseID(digits)
		if !ok {
			return fmt.Errorf("%s is no node", quote(field))
		}
		pages = append(pages, nodePages{node, n})
	}
	if len(pages) > 0 && (size < 1 || size > 64<<20) {
		return fmt.Errorf("%s has no page size", quote(strings.TrimSpace(line)))
	}
	for _, p := range pages {
		bytes := float64(p.count) * float64(size) * 1024
		if float64(sum[p.node])+bytes > math.MaxInt64/2 {
			return fmt.Errorf("%s is more than any memory", quote(strings.TrimSpace(line)))
		}
		sum[p.node] += p.count * size * 1024
	}
	return nil
}
