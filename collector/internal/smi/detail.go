package smi

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Scope is for whom one call of a deeper command answers.
type Scope uint8

// The scopes.
const (
	Host Scope = iota // one call for all cards
	Card              // one call for each NPU id, for all its dies
	Die               // one call for each device
)

// The intervals of the polling plan.
const (
	HalfMinute  = 30 * time.Second
	Minute      = time.Minute
	FiveMinutes = 5 * time.Minute
	Hour        = time.Hour
)

// Detail is a deeper command of the tool: it adds readings to cards that the main
// table has. Where two details tell the same metric of a card, the main table
// holds, then the detail that stands first.
type Detail struct {
	Name    string // value of the label "command"
	Port    string // of a question that another's answer gave rise to: which port it is about, in words
	Network bool   // asked of the vendor's network tool instead
	// Args are the argument lists to try for a card, in order, until one is not refused; none where the card cannot be
	// asked. For Host the device is the zero one, for Card one of its dies.
	Args func(d model.Device) [][]string
	// Flags are further arguments: each is tried alone once, then those that were accepted go together in one call.
	Flags []string
	Scope Scope
	Every time.Duration
	// Lean marks what is asked by default, Serials what is asked only where serial numbers are wanted. The rest is asked
	// for full detail.
	Lean, Serials bool
	// When reports whether to ask, by one of the cards that the call is about; nil for always.
	When func(d *model.Device) bool
	// Enough reports whether every card has told, of a command that never ends by itself; nil for one that does.
	Enough func(out []byte, cards []model.Device) bool
	// Parse reads standard output, whole or cut after a line. Cards are those that the call is about; nothing is told of
	// another. It must not keep out. The error is a *failure.Error.
	Parse func(out []byte, cards []model.Device) ([]Told, error)
	// Stderr marks a command of which a sentence on standard error is an answer. That is parsed where standard output is
	// none, whatever the exit status.
	Stderr bool
	// More returns the questions that an answer gives rise to, such as those about each of a card's network ports: they
	// replace those of the answer before. Some share a name, each with a Port of its own, and each tells readings of its
	// own. Nil for none.
	More func(out []byte, card model.Device) []Detail
}

// Told is what a deeper command told of one card.
type Told struct {
	Device   string
	Readings model.Readings
	// Warnings are the values that could not be read, one short sentence each, few.
	Warnings []string
}
