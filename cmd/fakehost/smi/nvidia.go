package smi

import "strings"

var h100 = cardModel{
	name: "NVIDIA H100 80GB HBM3", firstBus: 0x19, busStep: 0x10, idleWatts: 70, fullWatts: 680, idleMiB: 479, modelMiB: 62000, cacheMiB: 9000, totalMiB: 81559,
	idleMHz: 345, fullMHz: 1980, serving: cardCount, sick: "Reset",
}

func parseNVIDIASMI(args []string) (command, card string) {
	commands := map[string]string{"-L": "list", "topo -m": "topology", "--version": "version", "--help-query-gpu": "fields"}
	line := strings.Join(args, " ")
	switch {
	case strings.HasPrefix(line, "--query-compute-apps="):
		return "processes", ""
	case strings.HasPrefix(line, "--query-gpu=") && strings.Contains(line, ",temperature.gpu,"):
		return "table", ""
	case strings.HasPrefix(line, "--query-gpu="):
		return "query", ""
	}
	return commands[line], ""
}

// Fields are those that nvidia-smi is asked for.
func (c call) Fields() []string {
	_, fields, _ := strings.Cut(c.Args[0], "=")
	return strings.Split(fields, ",")
}
