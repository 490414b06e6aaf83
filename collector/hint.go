package collector

import (
	"cmp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// vendorTool stands among the hints for the collector of any vendor's tool.
const vendorTool = ""

// hint is what to do about a collector's failure.
func hint(collector string, r failure.Reason) string {
	all := hints()
	return strings.ReplaceAll(cmp.Or(all[collector][r], all[vendorTool][r]), "…", collector)
}

// hints are what to do, by collector and reason. Those for a vendor's tool hold for every
// collector that has none of its own for a reason; "…" in them is the collector's name.
func hints() map[string]map[failure.Reason]string {
	return map[string]map[failure.Reason]string{
		vendorTool: {
			failure.NotFound:       "--collector.….command with the full path",
			failure.Permission:     "root or the driver's group",
			failure.NoDevice:       "container without devices? card lost?",
			failure.Driver:         "LD_LIBRARY_PATH, devices, reboot after a driver upgrade",
			failure.Busy:           "one container per card",
			failure.Unsupported:    "a newer tool",
			failure.Timeout:        "a sick card? else a longer --collector.timeout",
			failure.Stuck:          "the driver hangs: dmesg, reset or reboot",
			failure.Exit:           "run the tool by hand",
			failure.OutputTooLarge: "run the tool by hand",
			failure.Parse:          "send a capture",
		},
		numaName: {
			failure.NotFound:    "--path.sysfs",
			failure.Permission:  "the rights of /sys/devices/system/node",
			failure.Unsupported: "a kernel with NUMA, or --no-collector.numa",
		},
		containersName: {
			failure.NotFound:    "--path.procfs",
			failure.Permission:  "root, or the group of the mount option gid= beside hidepid=",
			failure.Unsupported: "hostPID: true, or the host's /proc mounted read-only and --path.procfs, or --no-collector.containers",
			failure.Timeout:     "a mount that hangs below --kubernetes.pod-logs?",
		},
		allocationsName: {
			failure.NotFound:       "--kubernetes.pod-resources; mount the folder, not the socket",
			failure.Permission:     "uid 0 and a folder that it may read; SELinux?",
			failure.Driver:         "is the kubelet running? mount the folder, not the socket",
			failure.Busy:           "who else asks this kubelet so often?",
			failure.Unsupported:    "Kubernetes 1.15 or newer",
			failure.Timeout:        "the kubelet hangs or is overloaded: its log",
			failure.Exit:           "the kubelet's log",
			failure.OutputTooLarge: "a device plugin with an id for each MiB?",
			failure.Parse:          "is it the kubelet's pod-resources socket?",
		},
	}
}
