package keyvalue

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// Layout says how a column table is recognised and whose its rows are.
type Layout struct {
	Words boxtable.Vocabulary // the header words that hold blanks
	Boxed bool                // drawn with bars, else in plain text
	First string              // the header's first word
	// Card and Chip are the words of the columns that say whose a row is, "" for none.
	Card, Chip string
	// IDs are further words under which a small number must stand for a row to be usable.
	IDs []string
}

// Columns reads a column table: each row is a block whose keys are the header words.
// A row that has other values than its header has words, or whose numbers do not
// say whose it is, is no data.
func Columns(out []byte, l Layout) []Block {
	var (
		blocks []Block
		header *boxtable.Header
		row    boxtable.Record
	)
	for line := range boxtable.Lines(whole(out)) {
		cells := line.Cells
		if !l.Boxed && line.Kind == boxtable.Text && line.Text != "" {
			cells = []string{line.Text}
		}
		if len(cells) == 0 || l.Boxed != (line.Kind == boxtable.Row) {
			continue
		}
		if c := cells[0]; c != "" && (c[0] < '0' || c[0] > '9') {
			switch h := l.Words.Header(cells); {
			case h.Columns[0].Word == l.First:
				header = h
			case l.Boxed: // of another table
				header = nil
			}
			continue
		}
		if row.Read(header, cells) {
			if b, ok := l.block(&row); ok {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

func (l Layout) block(row *boxtable.Record) (Block, bool) {
	b := Block{}
	for v := range row.Values() {
		if !v.Fits {
			return Block{}, false
		}
		_, isIndex := printed.Index(v.Text)
		switch word := v.Column.Word; {
		case word == l.Card && isIndex:
			b.Card = v.Text
		case word == l.Chip && isIndex:
			b.Chip = v.Text
		case word == l.Card, word == l.Chip, !isIndex && slices.Contains(l.IDs, word):
			return Block{}, false
		default:
			b.Entries = append(b.Entries, Entry{Key: word, Unit: v.Column.Unit, Value: v.Text})
		}
	}
	return b, l.Card == "" || b.Card != ""
}
