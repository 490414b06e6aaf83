package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// nodeMemory is on which nodes the memory of processes lies.
type nodeMemory struct {
	bytes    map[string]map[int]float64 // by PID and node
	warnings model.Warnings
}

// sumAll reads the numa_maps of one process after the other.
func (r *ProcessReader) sumAll(processes map[string]listedProcess) nodeMemory {
	memory := nodeMemory{bytes: map[string]map[int]float64{}}
	for _, pid := range slices.Sorted(maps.Keys(processes)) {
		p := processes[pid]
		var bytesOn map[int]float64
		f, err := os.Open(processFile(r.Procfs, p.pid, "numa_maps"))
		if err == nil {
			bytesOn, err = sumNUMAMaps(f)
			f.Close()
		}
		switch {
		case !r.isStill(p): // its number may be another's
		case err != nil:
			memory.warnings.Add("the memory of process %s by node is not known: %v", pid, failure.Cause(err))
		default:
			memory.bytes[pid] = bytesOn
		}
	}
	return memory
}

// sumNUMAMaps reads a process's numa_maps and returns how many bytes lie on each node. A
// line looks like
//
//	7f2c4a000000 default anon=512 dirty=512 N0=300 N1=212 kernelpagesize_kB=4
//
// and counts pages of the size at its end. A line that cannot be read is an error, since a
// part of the sum would look like all of it.
func sumNUMAMaps(r io.Reader) (map[int]float64, error) {
	lines := bufio.NewScanner(r)
	bytesOn := map[int]float64{}
	for lines.Scan() {
		if err := addMapping(bytesOn, lines.Text()); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return bytesOn, nil
}

// addMapping adds the bytes of one line. Paths have their blanks and = escaped, so no
// file's name is taken for a count.
func addMapping(bytesOn map[int]float64, line string) error {
	fields, size, _ := strings.Cut(line, " kernelpagesize_kB=")
	for field := range strings.FieldsSeq(fields) {
		key, count, ok := strings.Cut(field, "=")
		number, isNode := strings.CutPrefix(key, "N")
		if !ok || !isNode {
			continue
		}
		node, err1 := strconv.ParseUint(number, 10, 16)
		pages, err2 := strconv.ParseUint(count, 10, 63)
		kB, err3 := strconv.ParseUint(strings.TrimSpace(size), 10, 63)
		if errors.Join(err1, err2, err3) != nil {
			return fmt.Errorf("%.60q does not count pages of a size", line)
		}
		bytesOn[int(node)] += float64(pages) * float64(kB) * 1024
	}
	return nil
}
