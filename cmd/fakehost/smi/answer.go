// Package smi prints what the vendors' tools print of a host with eight cards. It reads no file and no clock, and waits
// for nothing.
package smi

import (
	"bytes"
	"embed"
	"fmt"
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

// Tool is one of the vendors' tools.
type Tool struct {
	name  string
	cards string // the tool whose orders say how its cards are
	model cardModel
	calls map[string]string // commands by their arguments
	// parse names the command of any other call and the card that it is about, "" for all cards; nil where there is none.
	parse         func(args []string) (command, card string)
	unknown       string // the answer to a command without a template
	unknownStatus int
	noCard        string // the answer about a card that is not there

	templates *template.Template
	commands  []string // that have a template
}

const npuUsage = "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"

var tools = []Tool{
	{
		name: "mx-smi", cards: "mx-smi", model: c500, parse: parseMXSMI,
		calls:   map[string]string{"": "table", "-L": "list", "topo -m": "topology", "topo -n": "topology", "-s": "summary", "-j": "json"},
		unknown: "PARSE ERROR: Argument: ARGS\n             Couldn't find match for argument\n", unknownStatus: 1,
	},
	{
		name: "npu-smi", cards: "npu-smi", model: ascend910B, parse: parseNPUSMI,
		calls:   map[string]string{"info": "table", "info -m": "mapping", "info -l": "list", "info -t topo": "topology", "info watch": "watch"},
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
		calls:   map[string]string{"-L": "list", "topo -m": "topology", "--version": "version", "--help-query-gpu": "fields"},
		unknown: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", unknownStatus: 2,
	},
	{
		name: "hy-smi", cards: "hy-smi", model: k100AI, parse: parseHYSMI, calls: map[string]string{"": "table"},
		unknown: "usage: hy-smi [-h] [--show...]\nhy-smi: error: unrecognized arguments: ARGS\n", unknownStatus: 2,
	},
	{
		name: "ixsmi", cards: "ixsmi", model: biV150, parse: parseCardQuery,
		calls:   map[string]string{"": "table", "-q -x": "xml", "topo -m": "topology"},
		unknown: "Invalid combination of input arguments. Please run 'ixsmi -h' for help.\n", unknownStatus: 2,
	},
	{
		name: "xpu_smi", cards: "xpu_smi", model: p800,
		calls:   map[string]string{"": "table", "-m": "machine", "-L": "list", "topo -m": "topology", "-q": "query"},
		unknown: "xpu_smi: unrecognized option 'ARGS'\nUsage: xpu-smi [options]\n", unknownStatus: 1,
	},
	{
		name: "mthreads-gmi", cards: "mthreads-gmi", model: s5000, calls: map[string]string{"": "table", "--query --json": "query"},
		unknown: "Error: the requested operation is not available on target device\n", unknownStatus: 1,
	},
	{
		name: "efsmi", cards: "efsmi", model: s60, calls: map[string]string{"": "table", "-q": "query", "-L": "list", "topo -m": "topology"},
		unknown: "efsmi: unrecognized option 'ARGS'\n", unknownStatus: 1,
	},
}

// parseHYSMI takes the first flag as the command.
func parseHYSMI(args []string) (command, card string) { return strings.TrimLeft(args[0], "-"), "" }

// mxCounters are the flags of mx-smi that go together in one call.
var mxCounters = []string{"--count-ecc", "--show-ecc-state", "--show-clk-tr", "--show-pcie", "--show-pcie-bandwidth", "--show-hbm-bandwidth"}

func parseMXSMI(args []string) (command, card string) {
	if slices.ContainsFunc(args, func(arg string) bool { return !slices.Contains(mxCounters, arg) }) {
		return "", ""
	}
	return "counters", ""
}

// parseNPUSMI reads info -t TYPE -i NPU -c CHIP in any order.
func parseNPUSMI(args []string) (command, card string) {
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

// Find returns the tool of that name, false for none.
func Find(name string) (*Tool, bool) {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.name == name })
	if i < 0 {
		return nil, false
	}
	t := tools[i]
	t.templates = template.Must(template.ParseFS(templates, "templates/"+name+"/*.tmpl"))
	for _, file := range t.templates.Templates() {
		if command, ok := strings.CutSuffix(file.Name(), ".tmpl"); ok {
			t.commands = append(t.commands, command)
		}
	}
	slices.Sort(t.commands)
	return &t, true
}

// Orders are the names of the orders that hold for a tool.
func (t *Tool) Orders() []string {
	return []string{t.name + ".fault", t.cards + ".fault", t.cards + ".card", t.cards + ".processes"}
}

// Answer is what a call prints on stdout, and how it ends.
type Answer struct {
	Text   []byte
	Status int
	Wait   time.Duration // before it prints
	Hangs  bool          // it prints nothing and never ends
	GoesOn bool          // it prints the next round after a second, for as long as somebody reads
}

// Answer is what a call of the tool at an instant prints, or how it misbehaves. round counts from 0 for a command that
// goes on.
func (t *Tool) Answer(st State, now time.Time, round int, args ...string) Answer {
	command, card := t.calls[strings.Join(args, " ")], ""
	if command == "" && t.parse != nil {
		command, card = t.parse(args)
	}
	faults, err := parseOrders(st.Orders[t.name+".fault"], "fault", func(words []string) (toolFault, error) { return parseToolFault(words, t.commands) })
	switch {
	case err != nil:
		return t.broken(err)
	case !slices.Contains(t.commands, command):
		return Answer{Text: []byte(strings.ReplaceAll(t.unknown, "ARGS", strings.Join(args, " "))), Status: t.unknownStatus}
	}
	a := Answer{GoesOn: command == "watch"}
	for _, f := range faults {
		switch {
		case round > 0 || !f.hits(command, card):
		case f.kind == faultSlow:
			a.Wait += f.wait
		case f.kind == faultExit:
			return Answer{Wait: a.Wait, Status: 1}
		case f.kind == faultHang:
			return Answer{Wait: a.Wait, Hangs: true}
		}
	}
	m, err := newMachine(st, t, now.Add(a.Wait))
	if err != nil {
		return t.broken(err)
	}
	return t.print(a, call{machine: m, Args: args, Round: round}, command, card)
}

// print makes the text of one command.
func (t *Tool) print(a Answer, c call, command, id string) Answer {
	if id != "" {
		i := slices.IndexFunc(c.Cards, func(c *card) bool { return strconv.Itoa(c.ID) == id })
		if i < 0 {
			return Answer{Text: []byte(t.noCard), Status: 1, Wait: a.Wait}
		}
		c.Card = c.Cards[i]
	}
	var b bytes.Buffer
	if err := t.templates.ExecuteTemplate(&b, command+".tmpl", c); err != nil {
		return t.broken(err)
	}
	a.Text = b.Bytes()
	return a
}

// broken is the answer to an order that cannot be followed.
func (t *Tool) broken(err error) Answer {
	return Answer{Text: fmt.Appendf(nil, "%s: %v\n", t.name, err), Status: 3}
}

// call is what a template prints.
type call struct {
	*machine
	Card  *card // that the call is about, nil for all
	Args  []string
	Round int // of a command that goes on
}

func (c call) Asks(arg string) bool { return slices.Contains(c.Args, arg) }
