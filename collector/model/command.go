package model

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Scope is for whom one call of a command answers.
type Scope uint8

// The scopes.
const (
	Host Scope = iota // one call for all cards
	Card              // one call for each NPU id, for all its dies
	Die               // one call for each device
)

// Command is one reading command of a vendor's tool, and how its answer is read. All of it is pure: no field runs,
// reads or waits for anything.
//
// Where two commands have the same metric of a card, the main table holds, then the command that stands first.
type Command struct {
	Name    string // value of the label "command"
	Part    string // sets commands of one name apart in messages: a flag, a port; often empty
	Network bool   // is asked of the vendor's network tool
	Scope   Scope
	// Args are the argument lists to try for a card, in order, until one is not refused; none where the card cannot be
	// asked. For Host and Card the device is one of them.
	Args func(d Device) [][]string
	// Every is the interval. Of an inventory it is at most the inventory interval, which also stands for 0.
	Every time.Duration
	// Inventory marks what is asked at every level of detail, Lean what is asked by default, Serials what is asked only
	// where serial numbers are wanted. The rest is asked for full detail.
	Inventory, Lean, Serials bool
	// EveryPoll marks what is asked at every poll right after the table, about its cards: what a tool does not print in
	// one answer, such as the processes. One that fails is a warning.
	EveryPoll bool
	// Processes marks what is asked only where processes are wanted.
	Processes bool
	// When reports whether to ask, by one of the cards that the call is about; nil for always.
	When func(d *Device) bool
	// Parse reads standard output, whole or cut after a line. Cards are those that the call is about; readings are of no
	// other. It must not keep out. Its error is a *failure.Error.
	Parse func(out []byte, cards []Device) (Report, error)
	// Enough reports whether all cards are in what was printed, of a command that never ends by itself; else nil.
	Enough func(out []byte, cards []Device) bool
	// Stderr marks a command of which a sentence on standard error is an answer. That is parsed where standard output is
	// none, whatever the exit status.
	Stderr bool
	// More returns the commands that an answer gives rise to, such as those about each of a card's network ports: they
	// replace those of the answer before. Nil for none.
	More func(out []byte, card Device) []Command
}

// SameArgs returns the argument lists for every card.
func SameArgs(lists ...[]string) func(Device) [][]string {
	return func(Device) [][]string { return lists }
}

// IgnoreCards returns a Parse for answers that are read without knowing the cards.
func IgnoreCards(parse func(out []byte) (Report, error)) func([]byte, []Device) (Report, error) {
	return func(out []byte, _ []Device) (Report, error) { return parse(out) }
}

// Classifier returns what an error text of a tool means, and the line that says so.
type Classifier func(text []byte) (reason failure.Reason, line string, ok bool)

// Vendor says which tools a vendor has, and how they are asked.
type Vendor struct {
	Name  string   // value of the label "vendor", and the collector's name
	Tools []string // program names, the usual one first
	// NetworkTools are names and usual paths of the program that knows the cards' network ports, none where there is no
	// such program.
	NetworkTools []string
	// Table is the command whose success is the collector's success.
	Table Command
	// Commands are all others. One that fails costs only its own series.
	Commands []Command
	// Classify reads the tool's error texts, ClassifyNetwork the network tool's.
	Classify, ClassifyNetwork Classifier
	// Resolve finds the device a topology's row or column name means; nil where no topology is read.
	Resolve Resolver
}
