// Package keyvalue reads what vendor tools print of a card's details: "key : value"
// text and column tables, as blocks of entries. It knows no key's meaning.
package keyvalue

import (
	"bytes"
	"iter"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// Entry is one value and what it stands behind or under.
type Entry struct {
	Section string // the titles above it, such as Clocks/XCORE
	Key     string // lower case, single blanks, without the unit
	Unit    string // what stood in brackets behind the key, often empty
	Value   string // trimmed, often empty
}

// Block is the entries of one card, or of one chip of it.
type Block struct {
	Card    string // behind GPU#, NPU ID or [devid; "" where none is printed
	BusID   string // beside GPU#
	Chip    string // "" where none is printed
	MCU     bool   // of the board's controller and of no chip
	Chips   int    // how many the card is said to have, 0 where nothing is said
	Told    int    // of how many chips the text has the number
	Entries []Entry
}

// Read reads "key : value" text. A last line without its end may be cut and is no
// data, and neither are the entries of a chip whose number was cut off. Lines of
// drawn tables are passed over.
func Read(out []byte) []Block {
	r := reader{chips: map[string]bool{}}
	for line := range wholeLines(out) {
		r.line(line)
	}
	r.flush()
	return r.blocks
}

// whole is the lines that end.
func whole(out []byte) []byte { return out[:bytes.LastIndexByte(out, '\n')+1] }

func wholeLines(out []byte) iter.Seq[string] { return strings.Lines(string(whole(out))) }

// reader is at one card of the output, and in the sections that a line's indentation
// says.
type reader struct {
	blocks   []Block
	first    int             // of this card, in blocks
	open     Block           // what the next entries go to
	opens    bool            // a chip's number stands before its entries, not behind them
	marked   bool            // a chip's number, or the controller's name, was met
	chips    map[string]bool // whose numbers were met
	sections []section
}

type section struct {
	indent int
	path   string
}

const (
	longestPath  = 256     // bytes: a tool has two levels
	longestValue = 4 << 10 // bytes that later lines may add to
	maxEntries   = 1024    // of a block: a real one has up to 80
)

func (r *reader) line(line string) {
	line = strings.TrimRight(line, " \t\r\n")
	text := strings.TrimLeft(line, " \t")
	indent := len(line) - len(text)
	if text == "" || text[0] == '|' || text[0] == '+' {
		return
	}
	if number, bus, ok := gpu(text); ok {
		r.card(number, bus)
		return
	}
	text = r.prefix(text)
	key, value, ok := strings.Cut(text, ":")
	for n := len(r.sections); n > 0 && r.sections[n-1].indent >= indent; n-- {
		r.sections = r.sections[:n-1]
	}
	switch value = strings.TrimSpace(value); {
	case !ok:
		r.title(indent, text)
	case ok && strings.TrimSpace(key) == "":
		r.more(value)
	case ok:
		r.entry(key, value)
	}
}

// gpu reads "GPU#0  MXC500  0000:37:00.0".
func gpu(text string) (number, bus string, ok bool) {
	rest, isGPU := strings.CutPrefix(text, "GPU#")
	if !isGPU {
		return "", "", false
	}
	number, rest, _ = strings.Cut(rest, " ")
	bus = rest[strings.LastIndexByte(rest, ' ')+1:]
	_, isIndex := printed.Index(number)
	return number, bus, isIndex && printed.PCIAddress(bus)
}

// prefix takes "[devid 5]" or "[device 5]" off a line: it is the card's.
func (r *reader) prefix(text string) string {
	inner, rest, ok := strings.Cut(text, "]")
	name, number, hasNumber := strings.Cut(inner, " ")
	if !ok || !hasNumber || name != "[devid" && name != "[device" {
		return text
	}
	if number != r.open.Card {
		r.card(number, "")
	}
	return strings.TrimSpace(rest)
}

func (r *reader) title(indent int, text string) {
	path := text
	if n := len(r.sections); n > 0 {
		path = r.sections[n-1].path + "/" + text
	}
	if len(path) > longestPath {
		path = "?"
	}
	r.sections = append(r.sections, section{indent, path})
}

// more adds a line that begins with the colon to the value above it.
func (r *reader) more(value string) {
	if n := len(r.open.Entries); n > 0 && len(r.open.Entries[n-1].Value)+len(value) < longestValue {
		r.open.Entries[n-1].Value += " " + value
	}
}

func (r *reader) entry(key, value string) {
	e := Entry{Value: value}
	e.Key, e.Unit = cutUnit(key)
	switch {
	case e.Key == "npu id":
		r.card(value, "")
		return
	case e.Key == "chip count":
		r.open.Chips, _ = printed.Index(value)
		return
	case e.Key == "chip id":
		r.mark(value, false)
		return
	case e.Key == "chip name" && strings.EqualFold(value, "mcu"):
		r.mark("", true)
		return
	}
	if n := len(r.sections); n > 0 {
		e.Section = r.sections[n-1].path
	}
	if len(r.open.Entries) < maxEntries {
		r.open.Entries = append(r.open.Entries, e)
	}
}

// cutUnit takes "(C)" off "Temperature (C)".
func cutUnit(key string) (name, unit string) {
	key = strings.TrimSpace(key)
	if before, ok := strings.CutSuffix(key, ")"); ok {
		if at := strings.LastIndexByte(before, '('); at >= 0 {
			key, unit = before[:at], strings.TrimSpace(before[at+1:])
		}
	}
	return strings.ToLower(strings.Join(strings.Fields(key), " ")), unit
}

// mark meets a chip's number, or the controller's name. Where one is met before any
// entry, each opens its block; else each closes the one above it.
func (r *reader) mark(chip string, mcu bool) {
	if !r.marked {
		r.marked, r.opens = true, len(r.open.Entries) == 0
	}
	if r.opens {
		r.put()
	}
	if !mcu {
		r.chips[chip] = true
	}
	r.open.Chip, r.open.MCU = chip, mcu
	if !r.opens {
		r.put()
	}
}

// put ends a block; the next one is the same card's.
func (r *reader) put() {
	if len(r.open.Entries) > 0 {
		r.blocks = append(r.blocks, r.open)
	}
	r.open.Chip, r.open.MCU, r.open.Entries = "", false, nil
}

// flush ends a card. What no chip's number closed, after one that did, is cut.
func (r *reader) flush() {
	if r.marked && !r.opens {
		r.open.Entries = nil
	}
	r.put()
	for i := r.first; i < len(r.blocks); i++ {
		r.blocks[i].Chips, r.blocks[i].Told = r.open.Chips, len(r.chips)
	}
}

func (r *reader) card(number, bus string) {
	r.flush()
	*r = reader{blocks: r.blocks, first: len(r.blocks), chips: map[string]bool{}, open: Block{Card: number, BusID: bus}}
}
