package smi

import "strings"

// parseNVIDIASMI tells queries apart by their options and fields.
func parseNVIDIASMI(args []string) (command, card string) {
	line := strings.Join(args, " ")
	switch {
	case strings.HasPrefix(line, "--query-compute-apps="):
		return "processes", ""
	case strings.HasPrefix(line, "--query-gpu=") && strings.Contains(line, ",temperature.gpu,"):
		return "table", ""
	}
	return parseCardQuery(args)
}

// parseCardQuery reads what asks for fields of the cards.
func parseCardQuery(args []string) (command, card string) {
	if strings.HasPrefix(strings.Join(args, " "), "--query-gpu=") {
		return "query", ""
	}
	return "", ""
}

// Fields are those that a query asks for.
func (c call) Fields() []string {
	_, fields, _ := strings.Cut(c.Args[0], "=")
	return strings.Split(fields, ",")
}
