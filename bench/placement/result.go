package placement

import (
	"encoding/json"
	"io"
)

// Outcome is what can be said of all processes together.
type Outcome int

// The outcomes.
const (
	AllPlaced Outcome = iota // or nothing holds a card, or nothing is to be gained
	Misplaced                // a process is not where it could be
	NotKnown                 // it cannot be told for one, and none is misplaced
)

// Result is a machine with the verdict on each process and the binding to use.
type Result struct {
	Machine  *Machine
	Verdicts []Verdict // by process
	Advice   Advice
}

// Judge says all that can be said of a machine.
func Judge(m *Machine) *Result {
	r := &Result{Machine: m, Advice: m.Advise()}
	for _, p := range m.Processes {
		v := m.Judge(p)
		if v.Placed != nil && !*v.Placed {
			if own := m.numactlOf(p); own != "" && (r.Advice.Binding == nil || r.Advice.Binding.Numactl != own) {
				v.Remarks = append(v.Remarks, "for its cards alone: "+own)
			}
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

// numactlOf is the binding to use for one process, by its cards alone, empty where there
// is none.
func (m *Machine) numactlOf(p Process) string {
	its := &Machine{Nodes: m.Nodes}
	for _, h := range p.Cards {
		its.Cards = append(its.Cards, m.card(h.CardID))
	}
	to, _ := its.toBind()
	if to == nil {
		return ""
	}
	return to.numactl()
}

// Outcome sums the verdicts up.
func (r *Result) Outcome() Outcome {
	outcome := AllPlaced
	for _, v := range r.Verdicts {
		switch {
		case v.Placed == nil:
			outcome = NotKnown
		case !*v.Placed:
			return Misplaced
		}
	}
	return outcome
}

type nodeJSON struct {
	Node      int        `json:"node"`
	CPUs      *string    `json:"cpus"` // as the kernel lists them
	Total     *int64     `json:"memory_total_bytes"`
	Free      *int64     `json:"memory_free_bytes"`
	Distances []*float64 `json:"distances"` // to each node, in their order
}

type cardJSON struct {
	Vendor string `json:"vendor"`
	Device string `json:"device"`
	Node   *int   `json:"node"`
}

type processJSON struct {
	Vendor  string   `json:"vendor"`
	PID     int      `json:"pid"`
	Process string   `json:"process"`
	Devices []string `json:"devices"`
	Verdict string   `json:"verdict"`
	Placed  *bool    `json:"placed"`
	Remarks []string `json:"remarks,omitempty"`
}

type resultJSON struct {
	Nodes     []nodeJSON    `json:"nodes"`
	Cards     []cardJSON    `json:"cards"`
	Processes []processJSON `json:"processes"`
	Binding   *Binding      `json:"binding"`
	Remarks   []string      `json:"remarks,omitempty"`
}

// JSON writes the result as one object, indented. What is not known is null.
func (r *Result) JSON(w io.Writer) error {
	m := r.Machine
	out := resultJSON{
		Nodes: []nodeJSON{}, Cards: []cardJSON{}, Processes: []processJSON{},
		Binding: r.Advice.Binding, Remarks: r.Advice.Remarks,
	}
	for _, n := range m.Nodes {
		one := nodeJSON{Node: n.Number, Total: bytes(n.Total), Free: bytes(n.Free)}
		if n.CPUs != nil || n.Count == 0 {
			one.CPUs = new(n.CPUs.String())
		}
		for _, peer := range m.Nodes {
			one.Distances = append(one.Distances, distance(n, peer))
		}
		out.Nodes = append(out.Nodes, one)
	}
	for _, c := range m.Cards {
		out.Cards = append(out.Cards, cardJSON{c.Vendor, c.Device, c.Node})
	}
	for i, p := range m.Processes {
		v := r.Verdicts[i]
		one := processJSON{Vendor: p.Vendor, PID: p.PID, Process: p.Name, Verdict: v.Text, Placed: v.Placed, Remarks: v.Remarks}
		for _, h := range p.Cards {
			one.Devices = append(one.Devices, h.Device)
		}
		out.Processes = append(out.Processes, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// bytes is a size as a whole number.
func bytes(v *float64) *int64 {
	if v == nil || *v >= 1<<62 {
		return nil
	}
	return new(int64(*v))
}

// distance is that of two nodes, nil where the page does not have it.
func distance(from, to Node) *float64 {
	d, known := from.Distances[to.Number]
	if !known {
		return nil
	}
	return &d
}
