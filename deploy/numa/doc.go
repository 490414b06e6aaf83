// Package numa tests the exporter on a kernel with several NUMA nodes, which QEMU
// emulates: `make e2e-numa`.
package numa
