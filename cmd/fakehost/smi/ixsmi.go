package smi

import "strings"

var biV150 = cardModel{
	name: "Iluvatar BI-V150", firstBus: 0x13, busStep: 0x10, idleWatts: 103, fullWatts: 340, idleMiB: 64, modelMiB: 24000, cacheMiB: 7000, totalMiB: 32768,
	idleMHz: 1500, fullMHz: 1500, serving: cardCount, sick: "lost",
}

func parseIXSMI(args []string) (command, card string) {
	commands := map[string]string{"": "table", "-q -x": "xml", "topo -m": "topology"}
	line := strings.Join(args, " ")
	if strings.HasPrefix(line, "--query-gpu=") {
		return "query", ""
	}
	return commands[line], ""
}
