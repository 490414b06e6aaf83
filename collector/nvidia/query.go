package nvidia

import (
	"bytes"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// query is one --query-… option with its fields. Columns are found by position: the header may print another name than was
// asked.
type query struct {
	option     string   // such as --query-gpu
	fields     []string // that are asked for; the header must begin with the first
	commaField string   // the field that may hold commas, "" for none: nothing is quoted
}

func (q query) args() []string {
	return []string{q.option + "=" + strings.Join(q.fields, ","), "--format=csv"}
}

// read returns the rows below the header, each with a value for each field, and warns of every other line: that is how
// the tool names a card that it lost. A last line without its end may be cut. Without a header the error is
// failure.Parse.
func (q query) read(out []byte, r *model.Report) ([][]string, error) {
	var rows [][]string
	hasHeader := false
	for raw := range bytes.Lines(out) {
		line := strings.TrimSpace(string(raw))
		cells := q.cells(line)
		switch {
		case line == "":
		case len(cells) != len(q.fields) || raw[len(raw)-1] != '\n':
			r.Warn("a line that is no row: %.120q", line)
		case hasHeader:
			rows = append(rows, cells)
		default:
			hasHeader = cells[0] == q.fields[0]
		}
	}
	if !hasHeader {
		return nil, failure.Errorf(failure.Parse, "no header that begins with %q", q.fields[0])
	}
	return rows, nil
}

// cells splits a line. A value in brackets, such as [N/A] or [GPU is lost], says why there is none.
func (q query) cells(line string) []string {
	cells := strings.Split(line, ",")
	at, more := slices.Index(q.fields, q.commaField), len(cells)-len(q.fields)
	if at >= 0 && more > 0 {
		cells = slices.Replace(cells, at, at+more+1, strings.Join(cells[at:at+more+1], ","))
	}
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
		if strings.HasPrefix(cells[i], "[") && strings.HasSuffix(cells[i], "]") {
			cells[i] = ""
		}
	}
	return cells
}

// cardFields begin the queries of cards: the number, and what shows whether it still means the same card.
var cardFields = []string{"index", "uuid", "pci.bus_id"}

// newCardQuery is the query of these fields of the cards.
func newCardQuery(fields ...string) query {
	return query{option: "--query-gpu", fields: slices.Concat(cardFields, fields)}
}

// readCards reads the rows of a query of cards, each card once.
func (q query) readCards(out []byte, r *model.Report) ([]smitext.Block, error) {
	rows, err := q.read(out, r)
	var blocks []smitext.Block
	known, at := map[string]bool{}, slices.Index(q.fields, "index")
	for _, row := range rows {
		number := row[at]
		_, isIndex := smitext.Index(number)
		switch {
		case !isIndex:
			r.Warn("cannot read the card's number from %.40q", number)
		case known[number]:
			r.Warn("card %s is printed twice", number)
		case len(blocks) == model.MaxDevices:
			r.Warn("more than %d cards", model.MaxDevices)
		default:
			known[number] = true
			blocks = append(blocks, q.block(number, row))
		}
	}
	if err == nil && len(blocks) == 0 {
		err = failure.Errorf(failure.Parse, "no complete card in the output")
	}
	return blocks, err
}

// block is a row with its fields' names.
func (q query) block(card string, row []string) smitext.Block {
	b := smitext.Block{Card: card}
	for i, field := range q.fields {
		b.Entries = append(b.Entries, smitext.Entry{Key: field, Value: row[i]})
	}
	return b
}
