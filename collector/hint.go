package collector

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// numaName is the collector of the kernel's NUMA nodes.
const numaName = "numa"

// hint is what to do about a collector's failure.
func hint(collector string, r failure.Reason) string {
	own := map[string]map[failure.Reason]string{
		numaName: numaHints(), containersName: containersHints(), allocationsName: kubeletHints(),
	}
	if text := own[collector][r]; text != "" {
		return text
	}
	return strings.ReplaceAll(hints()[r], "…", collector)
}

// hints are what to do about the failures of a vendor's tool, "…" is the vendor.
func hints() map[failure.Reason]string {
	return map[failure.Reason]string{
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
	}
}

// numaHints are those for the kernel's NUMA nodes, where they are others.
func numaHints() map[failure.Reason]string {
	return map[failure.Reason]string{
		failure.NotFound:    "--path.sysfs",
		failure.Permission:  "the rights of /sys/devices/system/node",
		failure.Unsupported: "a kernel with NUMA, or --no-collector.numa",
	}
}

// containersHints are those for the containers of processes, where they are others.
func containersHints() map[failure.Reason]string {
	return map[failure.Reason]string{
		failure.NotFound:    "--path.procfs",
		failure.Permission:  "root, or the group of the mount option gid= beside hidepid=",
		failure.Unsupported: "hostPID: true, or the host's /proc mounted read-only and --path.procfs, or --no-collector.containers",
		failure.Timeout:     "a mount that hangs below --kubernetes.pod-logs?",
	}
}

// kubeletHints are those for the kubelet's PodResources.
func kubeletHints() map[failure.Reason]string {
	return map[failure.Reason]string{
		failure.NotFound:       "--kubernetes.pod-resources; mount the folder, not the socket",
		failure.Permission:     "uid 0 and a folder that it may read; SELinux?",
		failure.Driver:         "is the kubelet running? mount the folder, not the socket",
		failure.Busy:           "who else asks this kubelet so often?",
		failure.Unsupported:    "Kubernetes 1.15 or newer",
		failure.Timeout:        "the kubelet hangs or is overloaded: its log",
		failure.Exit:           "the kubelet's log",
		failure.OutputTooLarge: "a device plugin with an id for each MiB?",
		failure.Parse:          "is it the kubelet's pod-resources socket?",
	}
}
