package smi

import "strings"

var s60 = cardModel{
	name: "Enflame S60", firstBus: 0x10, busStep: 0x10, idleWatts: 97, fullWatts: 285, idleMiB: 0, modelMiB: 30500, cacheMiB: 7400, totalMiB: 42976,
	idleMHz: 7000, fullMHz: 7000, serving: cardCount, sick: "False",
}

func parseEFSMI(args []string) (command, card string) {
	return map[string]string{"": "table", "-q": "query", "-L": "list", "topo -m": "topology"}[strings.Join(args, " ")], ""
}
