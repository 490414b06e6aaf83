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
		model.ReasonNotFound:       "--collector.….command with the full path",
		model.ReasonPermission:     "root or the driver's group",
		model.ReasonNoDevice:       "container without devices? card lost?",
		model.ReasonDriver:         "LD_LIBRARY_PATH, devices, reboot after a driver upgrade",
		model.ReasonBusy:           "one container per card",
		model.ReasonUnsupported:    "a newer tool",
		model.ReasonTimeout:        "a sick card? else a longer --collector.timeout",
		model.ReasonStuck:          "the driver hangs: dmesg, reset or reboot",
		model.ReasonExit:           "run the tool by hand",
		model.ReasonOutputTooLarge: "run the tool by hand",
		model.ReasonParse:          "send a capture",
	},
	numaName: {
		model.ReasonNotFound:    "--path.sysfs",
		model.ReasonPermission:  "the rights of /sys/devices/system/node",
		model.ReasonUnsupported: "a kernel with NUMA, or --no-collector.numa",
	},
	containersName: {
		model.ReasonNotFound:    "--path.procfs",
		model.ReasonPermission:  "root, or the group of the mount option gid= beside hidepid=",
		model.ReasonUnsupported: "hostPID: true, or the host's /proc mounted read-only and --path.procfs, or --no-collector.containers",
	},
	allocationsName: {
		model.ReasonNotFound:       "--kubernetes.pod-resources; mount the folder, not the socket",
		model.ReasonPermission:     "uid 0 and a folder that it may read; SELinux?",
		model.ReasonDriver:         "does the kubelet listen there? mount the folder, not the socket",
		model.ReasonBusy:           "who else asks this kubelet so often?",
		model.ReasonUnsupported:    "Kubernetes 1.20 or newer",
		model.ReasonTimeout:        "the kubelet hangs or is overloaded: its log",
		model.ReasonExit:           "the kubelet's log",
		model.ReasonOutputTooLarge: "a device plugin with an id for each MiB?",
	},
}
