// Package model holds what one look at a host's accelerators can give,
// whatever the vendor. It is plain data: no clock, no text, no Prometheus.
//
// A pointer that is nil and a string that is empty mean "not printed". Nothing
// in here is ever a zero that stands for an unknown.
package model

// Report is what was read of one command's output. A vendor's commands each give one
// Report; Merge joins them.
type Report struct {
	Tool      *Tool
	Devices   []Device
	Processes []Process
	Slices    []Slice
	Links     []Link // names as printed; Merge resolves them
	// Listed are the cards of an inventory, available or not.
	Listed []Device
	// Affinities are the rows of a topology.
	Affinities []Affinity
	// Announced is how many cards the output says there are, 0 when it says
	// nothing. It may exceed len(Devices): cut output, or a card that failed.
	Announced int
	Warnings  Warnings
}

// Warn adds a warning.
func (r *Report) Warn(format string, args ...any) {
	r.Warnings.Add(format, args...)
}

// Join adds the answer of a command beside the main table: processes, and readings that the cards lack.
func (r *Report) Join(beside Report) {
	r.Processes = append(r.Processes, beside.Processes...)
	r.Warnings.Join(beside.Warnings)
	for _, d := range beside.Devices {
		for i := range r.Devices {
			for _, reading := range d.Readings {
				if r.Devices[i].ID == d.ID {
					r.Devices[i].Readings.Add(reading)
				}
			}
		}
	}
}

// Tool is the identity in the title rows of a vendor tool.
type Tool struct {
	Name            string // that prints, such as mx-smi or ht-smi
	Version         string
	DriverVersion   string
	RuntimeVersion  string // MACA, HPCC or CUDA
	FirmwareVersion string // BIOS
}

// Device is one card, or one die where a card's dies are scheduled apart.
type Device struct {
	// ID is what a workload selects the card by, and the label "device".
	ID    string
	Name  string // as printed
	BusID string // as printed: 0000:3b:00.0, or in upper case
	UUID  string
	Board string // MetaX board index
	NPU   string // Ascend NPU id
	Chip  string // Ascend chip index inside the NPU

	Health   *Health
	Readings Readings

	NUMANode    *int
	CPUAffinity string // a CPU list such as 0-31,64-95
	// NUMAConflict is whether the tool's topology and the kernel name different nodes; nil
	// where only one names any.
	NUMAConflict *bool
}

// Health is the state a tool prints for a card.
type Health struct {
	OK     bool
	State  string // as printed: Available, OK, Warning, Not Available
	Reason string // as printed beside it, often empty
}

// Process is one process's memory on one card.
type Process struct {
	Device    string
	PID       string
	Name      string // as printed: a kernel name of at most 15 characters, or NVIDIA's full path; empty where the tool prints none
	UsedBytes float64
}

// Placement is where a process on cards runs, and what it may use of the machine.
type Placement struct {
	PID       string
	Container Container
	CPUs      string // a list such as 0-31,64-95 of online CPUs, empty where not known
	Nodes     string // a list of the NUMA nodes on which it may take memory, empty where not known
	Near      []Nearness
	NodeBytes map[int]float64 // its memory by NUMA node, nil where not known
}

// Container is the container and pod that a process runs in, "" for what is not known of
// it, and zero for a process on the host.
type Container struct {
	ID string // 64 hexadecimal digits
	// PodUID is the kubelet's: with dashes, or 32 hexadecimal digits of a static pod.
	PodUID    string
	Namespace string
	Pod       string
	Name      string // unknown too where the pod has several
}

// Nearness is a process's place beside one of its cards.
type Nearness struct {
	Device string
	// CPUs is the share of its CPUs that are on the card's node, 0 to 1.
	CPUs *float64
	// Memory is whether it may take memory on the card's node.
	Memory *bool
}

// Slice is a part of a card with its own quota (MetaX sGPU) or its own memory (NVIDIA MIG).
type Slice struct {
	Device   string
	ID       string
	Readings Readings
}

// Link is one printed cell of a topology matrix, never mirrored.
type Link struct {
	Device string
	Peer   string // the other card's device, or a NIC's name
	Type   string // MX, HCCS, PIX, SYS, ...
}

// Affinity is the place of one card in a topology.
type Affinity struct {
	Name     string // as printed: GPU0, NPU3, Phy-ID12
	NUMANode *int
	CPUs     string // a CPU list
}
