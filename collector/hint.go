package collector

import (
	"cmp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// vendorTool stands among the hints for the collector of any vendor's tool.
const vendorTool = ""

// hint is what to do about a collector's failure.
func hint(collector string, r failure.Reason) string {
	return strings.ReplaceAll(cmp.Or(hints[collector][r], hints[vendorTool][r]), "…", collector)
}

// hints are what to do, by collector and reason. Those for a vendor's tool hold for every
// collector that has none of its own for a reason; "…" in them is the collector's name.
var hints = map[string]map[failure.Reason]string{
	vendorTool: {
		failure.NotFound:       "give the tool's full path with --collector.….command",
		failure.Permission:     "run as root or in the driver's group",
		failure.NoDevice:       "in a container, pass in the devices; on the host, look in dmesg for a lost card",
		failure.Driver:         "check LD_LIBRARY_PATH and the devices; after a driver upgrade, reboot",
		failure.Busy:           "another container or program holds the card: give it to one only",
		failure.Unsupported:    "install a newer version of the tool",
		failure.Timeout:        "a card may be faulty; if none is, raise --collector.timeout",
		failure.Stuck:          "the driver hangs: read dmesg, reset the card or reboot",
		failure.Exit:           "run the tool by hand and read what it prints",
		failure.OutputTooLarge: "run the tool by hand and see why it prints so much",
		failure.Parse:          "the exporter does not know this output: send a capture",
	},
	numaName: {
		failure.NotFound:    "give the mountpoint of sysfs with --path.sysfs",
		failure.Permission:  "make /sys/devices/system/node readable for the exporter's user",
		failure.Unsupported: "the kernel shows no NUMA nodes: turn this off with --no-collector.numa",
	},
	containersName: {
		failure.NotFound:    "give the mountpoint of procfs with --path.procfs",
		failure.Permission:  "run as root, or in the group that /proc is mounted with (gid=, beside hidepid=)",
		failure.Unsupported: "set hostPID: true, or mount the host's /proc and name it with --path.procfs; --no-collector.containers turns this off",
	},
	allocationsName: {
		failure.NotFound:       "check --kubernetes.pod-resources; in a container, mount the folder, not the socket",
		failure.Permission:     "run as uid 0; on SELinux, allow access to the folder",
		failure.Driver:         "check that the kubelet listens there; in a container, mount the folder, not the socket",
		failure.Busy:           "find out what else asks this kubelet so often",
		failure.Unsupported:    "Kubernetes 1.20 or newer is needed",
		failure.Timeout:        "the kubelet hangs or is overloaded: read its log",
		failure.Exit:           "read the kubelet's log",
		failure.OutputTooLarge: "check whether a device plugin announces an id for each MiB",
	},
}
