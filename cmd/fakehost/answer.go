package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Each tool has a folder of templates, and each of its commands a file there.
//
//go:embed templates
var templates embed.FS

// tool is one of the vendors' tools.
type tool struct {
	name  string
	cards string // the tool whose files of the state folder say how its cards are
	model cardModel
	// parse names the command of a call and the card that it is about, "" for all cards.
	parse         func(args []string) (command, card string)
	unknown       string // the answer to a command without a template
	unknownStatus int
	noCard        string // the answer about a card that is not there
}

const npuUsage = "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"

var tools = []tool{
	{
		name: "mx-smi", cards: "mx-smi", model: c500, parse: parseMXSMI,
		unknown: "PARSE ERROR: Argument: ARGS\n             Couldn't find match for argument\n", unknownStatus: 1,
	},
	{
		name: "npu-smi", cards: "npu-smi", model: ascend910B, parse: parseNPUSMI,
		unknown: "Error parameter of -t\n" + npuUsage, unknownStatus: 1,
		noCard: "Invalid card id.\nError parameter of -i\n" + npuUsage,
	},
	{
		name: "hccn_tool", cards: "npu-smi", model: ascend910B, parse: parseHCCN,
		unknown: "The command is not supported on this product.\n", unknownStatus: 13,
		noCard: "The device is not exist!\n",
	},
	{
		name: "nvidia-smi", cards: "nvidia-smi", model: h100, parse: parseNVIDIASMI,
		unknown: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", unknownStatus: 2,
	},
	{
		name: "hy-smi", cards: "hy-smi", model: k100AI, parse: parseHYSMI,
		unknown: "usage: hy-smi [-h] [--show...]\nhy-smi: error: unrecognized arguments: ARGS\n", unknownStatus: 2,
	},
}

// parseHYSMI takes the first flag as the command.
func parseHYSMI(args []string) (command, card string) {
	if len(args) == 0 {
		return "table", ""
	}
	return strings.TrimLeft(args[0], "-"), ""
}

// mxCounters are the flags of mx-smi that go together in one call.
var mxCounters = []string{"--count-ecc", "--show-ecc-state", "--show-clk-tr", "--show-pcie", "--show-pcie-bandwidth", "--show-hbm-bandwidth"}

func parseMXSMI(args []string) (command, card string) {
	commands := map[string]string{"": "table", "-L": "list", "topo -m": "topology", "topo -n": "topology", "-s": "summary", "-j": "json"}
	if command, ok := commands[strings.Join(args, " ")]; ok {
		return command, ""
	}
	if slices.ContainsFunc(args, func(arg string) bool { return !slices.Contains(mxCounters, arg) }) {
		return "", ""
	}
	return "counters", ""
}

// parseNPUSMI reads info, info -m, -l or watch, and info -t TYPE -i NPU -c CHIP in any order.
func parseNPUSMI(args []string) (command, card string) {
	commands := map[string]string{"info": "table", "info -m": "mapping", "info -l": "list", "info -t topo": "topology", "info watch": "watch"}
	if command, ok := commands[strings.Join(args, " ")]; ok {
		return command, ""
	}
	if len(args) == 0 || args[0] != "info" {
		return "", ""
	}
	card = option(args, "-i")
	if card == "" {
		return "", ""
	}
	return option(args, "-t"), card
}

// parseHCCN reads -i DEVICE -COMMAND -g in any order.
func parseHCCN(args []string) (command, card string) {
	card = option(args, "-i")
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "-"); ok && arg != "-i" && arg != "-g" {
			command = name
		}
	}
	if card == "" || !slices.Contains(args, "-g") {
		return "", ""
	}
	return command, card
}

// option is the argument behind a name, "" when there is none.
func option(args []string, name string) string {
	i := slices.Index(args, name)
	if i < 0 || i+1 == len(args) {
		return ""
	}
	return args[i+1]
}

// commands are the names of the tool's templates.
func (t tool) commands() []string {
	files, _ := fs.Glob(templates, "templates/"+t.name+"/*.tmpl")
	for i, file := range files {
		files[i] = strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".tmpl")
	}
	return files
}

// run answers one call as the tool would, or misbehaves as the state folder says, and returns the exit status.
func (t tool) run(st state, args []string, stdout io.Writer) int {
	commands := t.commands()
	faults, err := parseToolFaults(st.setting(t.name+".fault"), commands)
	if err != nil {
		fmt.Fprintf(stdout, "%s: %v\n", t.name, err)
		return 3
	}
	command, card := t.parse(args)
	if !slices.Contains(commands, command) {
		fmt.Fprint(stdout, strings.ReplaceAll(t.unknown, "ARGS", strings.Join(args, " ")))
		return t.unknownStatus
	}
	if misbehave(faults, command, card) {
		return 1
	}
	for round := 0; ; round++ {
		text, err := t.print(st, command, card, args, round)
		switch {
		case errors.Is(err, errNoCard):
			fmt.Fprint(stdout, t.noCard)
			return 1
		case err != nil:
			fmt.Fprintf(stdout, "%s: %v\n", t.name, err)
			return 3
		}
		if _, err := stdout.Write(text); err != nil {
			return 1
		}
		if command != "watch" { // which prints until nobody reads
			return 0
		}
		time.Sleep(time.Second)
	}
}

// misbehave does what the faults of a call say, and reports whether the call fails.
func misbehave(faults []toolFault, command, card string) (fails bool) {
	for _, f := range faults {
		switch {
		case !f.hits(command, card):
		case f.kind == faultSlow:
			time.Sleep(f.wait)
		case f.kind == faultExit:
			return true
		case f.kind == faultHang:
			for { // a select without cases would be called a deadlock
				time.Sleep(time.Hour)
			}
		}
	}
	return false
}

var errNoCard = errors.New("no such card")

// call is what a template prints.
type call struct {
	*machine
	Card  *card // that the call is about, nil for all
	Args  []string
	Round int // of a command that goes on
}

// Asks reports whether an argument was given.
func (c call) Asks(arg string) bool { return slices.Contains(c.Args, arg) }

// print makes the text of one command.
func (t tool) print(st state, command, id string, args []string, round int) ([]byte, error) {
	m, err := newMachine(st, t.cards, t.model)
	if err != nil {
		return nil, err
	}
	c := call{machine: m, Args: args, Round: round}
	if id != "" {
		i := slices.IndexFunc(m.Cards, func(c *card) bool { return strconv.Itoa(c.ID) == id })
		if i < 0 {
			return nil, errNoCard
		}
		c.Card = m.Cards[i]
	}
	all, err := template.ParseFS(templates, "templates/"+t.name+"/*.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = all.ExecuteTemplate(&b, command+".tmpl", c)
	return b.Bytes(), err
}
