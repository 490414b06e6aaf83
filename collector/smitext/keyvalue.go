package smitext

import (
	"bytes"
	"regexp"
	"strings"
)

var (
	cardLine     = regexp.MustCompile(`^(?:DEV ID (\d+)|(?:GPU#(\d+) .*?|XPU )([[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[[:xdigit:]]))$`)
	devicePrefix = regexp.MustCompile(`^\[(?:devid|device) (\d+)\]`)
	keyWithUnit  = regexp.MustCompile(`^(.*\S)\s*\(([^()]*)\)$`)
)

// ReadKeyValues reads "key : value" text. A last line without its end may be cut and is no
// data, and neither are the entries of a chip whose number was cut off.
func ReadKeyValues(out []byte) []Block {
	r := keyValueReader{}
	for line := range strings.Lines(wholeLines(out)) {
		r.readLine(line)
	}
	r.endCard()
	return r.blocks
}

func wholeLines(out []byte) string { return string(out[:bytes.LastIndexByte(out, '\n')+1]) }

type keyValueReader struct {
	blocks      []Block
	block       Block // what the next entries go to
	marked      bool  // a chip's number, or the controller's name, was met
	numberFirst bool  // a chip's number stands before its entries, not behind them
	sections    []section
}

type section struct {
	indent int
	path   string
}

func (r *keyValueReader) readLine(line string) {
	text := strings.TrimSpace(line)
	if text == "" {
		return
	}
	if m := cardLine.FindStringSubmatch(text); m != nil {
		r.startCard(m[1]+m[2], m[3])
		return
	}
	if m := devicePrefix.FindStringSubmatch(text); m != nil {
		if m[1] != r.block.Card {
			r.startCard(m[1], "")
		}
		text = text[len(m[0]):]
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	path := ""
	for n := len(r.sections); n > 0; n-- {
		if s := r.sections[n-1]; s.indent < indent {
			path = s.path
			break
		}
		r.sections = r.sections[:n-1]
	}
	if key, value, ok := strings.Cut(text, ":"); ok {
		r.readEntry(path, strings.TrimSpace(key), strings.TrimSpace(value))
		return
	}
	if len(text) > maxLabel || len(r.sections) >= maxDepth {
		return // no title of a tool: each is kept with those above it
	}
	r.sections = append(r.sections, section{indent, strings.TrimPrefix(path+pathSeparator+strings.ToLower(text), pathSeparator)})
}

// NewEntry returns the entry of a key as printed, with the unit in brackets behind it, and its value.
func NewEntry(key, value string) Entry {
	e := Entry{Value: value}
	if m := keyWithUnit.FindStringSubmatch(key); m != nil {
		key, e.Unit = m[1], strings.TrimSpace(m[2])
	}
	e.Word = strings.ToLower(strings.Join(strings.Fields(key), " "))
	return e
}

func (r *keyValueReader) readEntry(path, key, value string) {
	e := NewEntry(key, value)
	e.Path = path
	switch {
	case e.Word == "": // the value above goes on, and no such value is read
	case e.Word == "npu id":
		r.startCard(value, "")
	case e.Word == "chip count":
		r.block.Chips, _ = Index(value)
	case e.Word == "chip id":
		r.markChip(value, false)
	case e.Word == "chip name" && strings.EqualFold(value, "mcu"):
		r.markChip("", true)
	default:
		r.block.Entries = append(r.block.Entries, e)
	}
}

// markChip meets a chip's number, or the controller's name. Where one is met before any
// entry, each opens its block; else each closes the one above it.
func (r *keyValueReader) markChip(chip string, mcu bool) {
	if !r.marked {
		r.marked, r.numberFirst = true, len(r.block.Entries) == 0
	}
	if r.numberFirst {
		r.endBlock()
	}
	r.block.Chip, r.block.MCU = chip, mcu
	if !r.numberFirst {
		r.endBlock()
	}
}

// endBlock begins another block of the same card.
func (r *keyValueReader) endBlock() {
	if len(r.block.Entries) > 0 {
		r.blocks = append(r.blocks, r.block)
	}
	r.block.Chip, r.block.MCU, r.block.Entries = "", false, nil
}

func (r *keyValueReader) startCard(number, bus string) {
	r.endCard()
	*r = keyValueReader{blocks: r.blocks, block: Block{Card: number, BusID: bus}}
}

func (r *keyValueReader) endCard() {
	if !r.marked || r.numberFirst { // else the number behind the last entries was cut off
		r.endBlock()
	}
}
