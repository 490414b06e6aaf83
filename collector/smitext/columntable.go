package smitext

import (
	"regexp"
	"strings"
)

// columnWithUnit is a header word of a table without bars, such as "AI Core(%)".
var columnWithUnit = regexp.MustCompile(`[^()\s][^()]*\([^()]*\)`)

// ReadColumns reads the column tables whose header begins with the word first, drawn with
// bars or in plain text: each row is a block whose words are those of the header without their
// blanks. A row that does not begin with a number, or has other values than the header has
// words, is no data, and neither is a last line without its end.
func ReadColumns(out []byte, first string) []Block {
	var (
		blocks []Block
		header []Entry
	)
	for line := range strings.Lines(wholeLines(out)) {
		text := strings.TrimSpace(line)
		boxed := strings.HasPrefix(text, "|") && strings.HasSuffix(text, "|")
		cells := strings.Fields(text)
		if boxed {
			cells = strings.Split(strings.Trim(text, "|"), "|")
		} else if words := columnWithUnit.FindAllString(text, -1); len(words) > 0 {
			cells = words
		}
		if len(cells) == 0 {
			continue
		}
		if IsIndex(strings.TrimSpace(cells[0])) {
			if len(cells) == len(header) {
				blocks = append(blocks, rowBlock(header, cells))
			}
			continue
		}
		if words := headerWords(cells); words[0].Word == first {
			header = words
		} else if boxed { // of another table
			header = nil
		}
	}
	return blocks
}

func headerWords(cells []string) []Entry {
	words := make([]Entry, len(cells))
	for i, cell := range cells {
		words[i] = NewEntry(strings.TrimSpace(cell), "")
		words[i].Word = strings.ReplaceAll(words[i].Word, " ", "")
	}
	return words
}

func rowBlock(header []Entry, cells []string) Block {
	b := Block{}
	for i, e := range header {
		e.Value = strings.TrimSpace(cells[i])
		switch e.Word {
		case "npuid", "npu":
			b.Card = e.Value
		case "chipid":
			b.Chip = e.Value
		default:
			b.Entries = append(b.Entries, e)
		}
	}
	return b
}
