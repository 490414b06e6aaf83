package collector

import (
	"cmp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// vendorTool stands among the hints for the collector of any vendor's tool.
const vendorTool = ""

// hint is what to do about a collector's failure.
func hint(collector string, r model.Reason) string {
	return strings.ReplaceAll(cmp.Or(hints[collector][r], hints[vendorTool][r]), "…", collector)
}

// hints are what to do, by collector and reason. Those for a vendor's tool hold for every
// collector that has none of its own for a reason; "…" in them is the collector's name.
var hints = map[string]map[model.Reason]string{
	vendorTool: {
		model.ReasonNotFound:       "give the tool's full path with --collector.….command",
		model.ReasonPermission:     "run as root or in the driver's group",
		model.ReasonNoDevice:       "in a container, pass in the devices; on the host, look in dmesg for a lost card",
		model.ReasonDriver:         "check LD_LIBRARY_PATH and the devices; after a driver upgrade, reboot",
		model.ReasonBusy:           "another container or program holds the card: give it to one only",
		model.ReasonUnsupported:    "install a newer version of the tool",
		model.ReasonTimeout:        "a card may be faulty; if none is, raise --collector.timeout",
		model.ReasonStuck:          "the driver hangs: read dmesg, reset the card or reboot",
		model.ReasonExit:           "run the tool by hand and read what it prints",
		model.ReasonOutputTooLarge: "run the tool by hand and see why it prints so much",
		model.ReasonParse:          "the exporter does not know this output: send a capture",
	},
	numaName: {
		model.ReasonNotFound:    "give the mountpoint of sysfs with --path.sysfs",
		model.ReasonPermission:  "make /sys/devices/system/node readable for the exporter's user",
		model.ReasonUnsupported: "the kernel shows no NUMA nodes: turn this off with --no-collector.numa",
	},
	containersName: {
		model.ReasonNotFound:    "give the mountpoint of procfs with --path.procfs",
		model.ReasonPermission:  "run as root, or in the group that /proc is mounted with (gid=, beside hidepid=)",
		model.ReasonUnsupported: "set hostPID: true, or mount the host's /proc and name it with --path.procfs; --no-collector.containers turns this off",
	},
	allocationsName: {
		model.ReasonNotFound:       "check --kubernetes.pod-resources; in a container, mount the folder, not the socket",
		model.ReasonPermission:     "run as uid 0; on SELinux, allow access to the folder",
		model.ReasonDriver:         "check that the kubelet listens there; in a container, mount the folder, not the socket",
		model.ReasonBusy:           "find out what else asks this kubelet so often",
		model.ReasonUnsupported:    "Kubernetes 1.20 or newer is needed",
		model.ReasonTimeout:        "the kubelet hangs or is overloaded: read its log",
		model.ReasonExit:           "read the kubelet's log",
		model.ReasonOutputTooLarge: "check whether a device plugin announces an id for each MiB",
	},
}
