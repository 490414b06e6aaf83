package dashboards

import "slices"

// byPID are the labels that tell one process from all others.
const byPID = `job, instance, vendor, pid`

// nearCPUs is the smallest share of its CPUs that a process has on the node of one of its cards.
const nearCPUs = `min by (` + byPID + `) (accelerator_process_near_cpus_ratio{` + ofOneHost + `})`

// verdicts are what is said of where a process runs, in the words of accelbench placement; the first whose expression has
// the process holds. As in the alert, of cards on several nodes one that the process may use is enough.
func verdicts() []struct{ word, of string } {
	nodes := `count by (` + byPID + `) (group by (` + byPID + `, node) (` + memoryOf(ofOneHost) + ` * on (` + byCard + `) group_left (node) ` + nodeOf(ofOneHost) + `))`
	return []struct{ word, of string }{
		{"bound to another node", mostOf(`accelerator_process_near_cpus_ratio`) + ` == 0`},
		{"memory on another node", mostOf(`accelerator_process_near_memory_allowed`) + ` == 0`},
		{"cards span nodes", nodes + ` > 1 and on (` + byPID + `) ` + nearCPUs},
		{"on the node of its cards", nearCPUs + ` == 1`},
		{"may run elsewhere too", nearCPUs},
	}
}

// mostOf is the most of a metric that a process has for one of its cards.
func mostOf(metric string) string {
	return `max by (` + byPID + `) (` + metric + `{` + ofOneHost + `})`
}

// verdictColumn has a number for each verdict, which is shown as its words.
func verdictColumn() column {
	colors := []string{"red", "red", "blue", "green", "orange"}
	var all []word
	expr := ""
	for i, v := range verdicts() {
		number := string(rune('1' + i))
		if i > 0 {
			expr += ` or on (` + byPID + `) `
		}
		expr += number + ` * group by (` + byPID + `) (` + v.of + `)`
		all = append(all, word{number, v.word, colors[i]})
	}
	return value("Where it runs", expr, mappedCell(words(all...))...)
}

func processPlaces() panel {
	return rowsOf("Processes and their cards", "Each process on a card: whether its CPUs and memory are those of the card's node. Bound to another node, it pays for every access to the card: bind it to the node. "+
		"May run elsewhere too: the kernel may move it; bind it, and compare (accelbench compare --bindings). Cards span nodes: no one node is right; choose cards of one node. accelbench placement prints the binding. No row: no process is listed, or its /proc cannot be read.",
		[]column{
			label("vendor", "Vendor"), label("pid", "PID"), label("process", "Process"),
			value("Memory held", `sum by (`+byPID+`, process) (`+memoryOf(ofOneHost)+`)`, unitOf(bytes)),
			verdictColumn(),
			{head: "May run on CPUs", field: "cpus", expr: `group by (` + byPID + `, cpus, mems) (accelerator_process_cpus_info{` + ofOneHost + `})`},
			label("mems", "Memory of nodes"),
		}).
		Height(7).NoValue("no process is listed").SortBy(descending("Memory held"))
}

// servedFrom are the columns of how the process on a card that serves is placed.
func servedFrom() column {
	look := slices.Concat(textCell(ratio, "red", step{0.001, "orange"}, step{1, "green"}),
		[]property{{Id: "mappings", Value: words(word{"0", "bound to another node", "red"}, word{"1", "on the node of the card", "green"})}, {Id: "decimals", Value: 0}})
	return value("Process", `min by (`+byCard+`) (`+serving(`accelerator_process_near_cpus_ratio{`+ofCard+`}`)+`)`, look...)
}
