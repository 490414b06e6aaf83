package dashboards

// byProcess are the labels that tell one process on one card from all others.
const byProcess = byCard + `, pid, process`

// memoryOf is the memory of each process on a card.
func memoryOf(matchers string) string {
	return `max by (` + byProcess + `) (accelerator_process_memory_used_bytes{` + matchers + `})`
}

// ours leaves out what a scrape without honor_labels renamed: the exporter's own pod stands where a workload's ought to.
const ours = `exported_namespace="",exported_pod="",exported_container=""`

// inPods are the pods that processes run in, as far as they are known. Without honor_labels the exporter's own pod stands
// where none is known, as it does at build_info. The container counts, so that a process beside the exporter in its pod is
// told: of a pod with several its container is empty.
const inPods = `(accelerator_process_container_info{` + ofHost + `,pod!="",pod_uid!="",` + ours + `}` +
	` unless on (job, instance, namespace, pod, container) accelerator_exporter_build_info{` + ofHost + `,pod!=""})`

// memoryInPods is the same with the pod that the process runs in; what runs outside any has no series.
func memoryInPods(matchers string) string {
	return memoryOf(matchers) + ` * on (job, instance, vendor, pid) group_left (namespace, pod, container)` +
		` max by (job, instance, vendor, pid, namespace, pod, container) ` + inPods
}

// workloads has a series for each pod on a card: of the processes on it, and of what the kubelet allocated.
func workloads(matchers string) string {
	const by = `group by (` + byCard + `, namespace, pod) `
	return `(` + by + `(` + memoryInPods(matchers) + `)` +
		` or ` + by + `(accelerator_device_allocation_info{` + matchers + `,` + ours + `}))`
}

// onePod are the columns of a card's pod, of several on it one. They are empty where none is known.
func onePod(workloads string) []column {
	return []column{
		{head: "Namespace", field: "namespace", expr: `topk by (` + byCard + `) (1, ` + workloads + `)`},
		label("pod", "Pod"),
	}
}

func cardPods() panel {
	const (
		by        = `by (namespace, pod, container) `
		allocated = `accelerator_device_allocation_info{` + ofOneCard + `,` + ours + `}`
	)
	used := memoryInPods(ofOneCard)
	// By pod and not by container: in which of several a process runs is not known.
	unused := `0 * group ` + by + `(` + allocated + `) unless on (namespace, pod) ` + used
	return rowsOf("Pods", "Pods whose processes are on the card, and those that the kubelet gave it to (--kubernetes.pod-resources). No memory held: the pod has the card and does not use it.",
		[]column{
			label("namespace", "Namespace"), label("pod", "Pod"), label("container", "Container"),
			value("Memory held", `sum `+by+`(`+used+`) or (`+unused+`)`, unitOf(bytes)),
		}).
		Height(6).NoValue("no pod is known").SortBy(descending("Memory held"))
}

// namespaceTable counts a card for each namespace that has a pod on it.
func namespaceTable() panel {
	var (
		cards = `group by (` + byCard + `, namespace) (` + workloads(ofCard) + `)`
		load  = `max by (` + byCard + `) (accelerator_utilization_ratio{` + ofCard + `})`
	)
	return rowsOf("Cards by namespace", "Whose cards they are: cards with a process of the namespace's pods, or allocated to them. A card that two namespaces share counts for both, with its whole utilization. "+
		"Idle: "+whichIdleFull()+"ask their owner.",
		[]column{
			label("namespace", "Namespace"),
			value("Cards", `count by (namespace) (`+cards+`)`, unitOf(count)),
			value("Utilization", `avg by (namespace) (`+cards+` * on (`+byCard+`) group_left () `+load+`)`, gaugeCell("blue")...),
			value("Memory held", `sum by (namespace) (`+memoryInPods(ofCard)+`)`, unitOf(bytes)),
			value("Idle with memory held", `count by (namespace) (`+cards+` and on (`+byCard+`) `+idleFull()+`)`, textCell(count, "green", step{1, "orange"})...),
		}).
		Height(6).NoValue("no pod is known").SortBy(descending("Cards"))
}
