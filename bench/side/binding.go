package side

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// Binding says where a process may run and take its memory from, in the
// kernel's own words. What the system does not tell is empty.
type Binding struct {
	CPUs string `json:"cpus,omitempty"` // such as 0-31,64-95
	// Mems are the NUMA nodes that the process is confined to by its cpuset, such
	// as 0-7. numactl does not change them, but the policy.
	Mems string `json:"mems,omitempty"`
	// Policy is the memory policy, such as default, bind:0, interleave:0-3,
	// prefer:1.
	Policy string `json:"policy,omitempty"`
}

// Binding reads where the command itself is bound to; what it started may be
// bound elsewhere. It is best asked when the server answers: numactl has made
// way for it by then. It fails when the command has ended, and on systems
// without /proc.
func (p *Process) Binding() (Binding, error) {
	dir := fmt.Sprintf("/proc/%d/", p.child.PID())
	b, err := readStatus(dir + "status")
	b.Policy = readPolicy(dir + "numa_maps")
	select {
	case <-p.child.Exited(): // the number may be another's by now
		return Binding{}, fmt.Errorf("side %s: reading its binding: the command has ended", p.side.Name)
	default:
	}
	if err != nil {
		return Binding{}, fmt.Errorf("side %s: reading its binding: %w", p.side.Name, err)
	}
	return b, nil
}

func readStatus(path string) (Binding, error) {
	f, err := os.Open(path)
	if err != nil {
		return Binding{}, err
	}
	defer f.Close()
	var b Binding
	lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "Cpus_allowed_list":
			b.CPUs = strings.TrimSpace(value)
		case "Mems_allowed_list":
			b.Mems = strings.TrimSpace(value)
		}
	}
	return b, lines.Err()
}

// readPolicy reads the policy of the first mapping, the program's own text, which
// follows that of the process. All mappings would be read with the process held
// up, so no more than the first is asked for.
func readPolicy(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var line [128]byte
	n, _ := f.Read(line[:])
	fields := strings.Fields(string(line[:n]))
	if len(fields) < 3 { // fewer may be cut
		return ""
	}
	return fields[1]
}
