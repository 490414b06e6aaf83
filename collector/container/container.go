// Package container tells which container and pod a process runs in: the ids by the
// process's cgroup, a pod's names by the names of its log folders. It asks neither the
// kubelet nor a container runtime.
package container

// Place is a container, "" where something of it is not known.
type Place struct {
	ContainerID string // 64 hexadecimal digits
	// PodUID is the kubelet's: with dashes, or 32 hexadecimal digits of a static pod.
	PodUID    string
	Namespace string
	Pod       string
	Container string // unknown too where the pod has several
}

// Listed is a process as a vendor's tool lists it.
type Listed struct {
	Vendor, PID string
	Start       uint64 // clock ticks after boot, which tell it from another of that number; 0 where not known
}
