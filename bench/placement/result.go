package placement

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// Result is a machine with the verdict on each process and the binding to use.
type Result struct {
	Machine
	Binding *Binding `json:"binding"` // nil where nothing is to be gained or none is known
	Remarks []string `json:"remarks,omitempty"`
}

// Judge says which binding to use for a server on the cards of the machine.
func Judge(m *Machine) *Result {
	nodes, remarks := m.advise()
	return &Result{Machine: *m, Binding: m.binding(nodes), Remarks: remarks}
}

// Placed reports whether every process is where it should be: false where one is not, nil
// where it is not known of one and no other is misplaced.
func (r *Result) Placed() *bool {
	placed := new(true)
	for _, p := range r.Processes {
		switch {
		case p.Placed == nil:
			placed = nil
		case !*p.Placed:
			return p.Placed
		}
	}
	return placed
}

// Text writes the result for a terminal.
func (r *Result) Text(w io.Writer) error {
	var b strings.Builder
	if len(r.Nodes) == 0 {
		fmt.Fprintln(&b, "no NUMA nodes on the exporter's page")
	}
	nodes := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(nodes, "node\tCPUs\tmemory, MB\tfree, MB\tcards")
	for _, n := range r.Nodes {
		fmt.Fprintf(nodes, "%d\t%s\t%s\t%s\t%s\n", n.Number, cmp.Or(cpulist.Format(n.CPUs), "-"),
			megabytes(n.Total), megabytes(n.Free), cmp.Or(r.cardsOn(&n.Number), "-"))
	}
	if cards := r.cardsOn(nil); cards != "" {
		fmt.Fprintf(nodes, "not known\t-\t-\t-\t%s\n", cards)
	}
	_ = nodes.Flush() // a strings.Builder takes everything

	fmt.Fprintln(&b, "\nprocesses:")
	if len(r.Processes) == 0 {
		fmt.Fprintln(&b, "  none holds a card, or the exporter does not list them (--no-collector.processes)")
	}
	for _, p := range r.Processes {
		who := strings.TrimSpace(fmt.Sprintf("%d %s", p.PID, show.Clean(p.Name)))
		fmt.Fprintf(&b, "  %s, %s %s: %s\n", who, show.Clean(p.Vendor), show.Clean(strings.Join(p.Devices, " ")), p.Text)
	}

	fmt.Fprintln(&b, "\nbinding:")
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "  %s\n", remark)
	}
	if r.Binding != nil {
		fmt.Fprintf(&b, "  numactl:    %s\n", r.Binding.Numactl)
		fmt.Fprintf(&b, "  systemd:    %s\n", strings.ReplaceAll(strings.TrimSpace(r.Binding.Systemd), "\n", "\n              "))
		fmt.Fprintf(&b, "  docker:     %s\n", r.Binding.Docker)
		fmt.Fprintf(&b, "  kubernetes: %s\n", r.Binding.Kubernetes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cardsOn lists the cards of a node, of no known one for nil.
func (r *Result) cardsOn(node *int) string {
	var names []string
	for _, c := range r.Cards {
		if c.Node == nil && node == nil || c.Node != nil && node != nil && *c.Node == *node {
			names = append(names, c.String())
		}
	}
	return strings.Join(names, ", ")
}

// megabytes is a size in units of 2^20 bytes, rounded down as numactl does.
func megabytes(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	return fmt.Sprint(*bytes >> 20)
}
