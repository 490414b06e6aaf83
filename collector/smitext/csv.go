package smitext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Query is one --query-… option of a tool that answers in rows of values with commas between. Columns are found by
// position: the header may print another name than was asked.
type Query struct {
	Option     string   // such as --query-gpu
	Fields     []string // that are asked for; the header must begin with the first
	CommaField string   // the field that may hold commas, "" for none: nothing is quoted
}

// Args are the tool's arguments.
func (q Query) Args() []string {
	return []string{q.Option + "=" + strings.Join(q.Fields, ","), "--format=csv"}
}

// ReadBlocks returns the rows below the header, and a report with a warning for each line that has no values for all
// fields, such as one about a lost card, or that has no end. Without a header the error is failure.Parse.
func (q Query) ReadBlocks(out []byte) (blocks []Block, r model.Report, err error) {
	hasHeader := false
	for raw := range bytes.Lines(out) {
		line := strings.TrimSpace(string(raw))
		cells := q.split(line)
		switch {
		case line == "":
		case len(cells) != len(q.Fields) || raw[len(raw)-1] != '\n':
			r.Warn("a line that is no row: %.120q", line)
		case hasHeader:
			b := Block{Entries: make([]Entry, len(cells))}
			for i, field := range q.Fields {
				b.Entries[i] = Entry{Word: field, Value: cells[i]}
			}
			blocks = append(blocks, b)
		default:
			hasHeader = cells[0] == q.Fields[0]
		}
	}
	if !hasHeader {
		return nil, model.Report{}, failure.Errorf(failure.Parse, "no header that begins with %q", q.Fields[0])
	}
	return blocks, r, nil
}

// split returns the values of a line. One in brackets, such as [N/A] or [GPU is lost], says why there is none.
func (q Query) split(line string) []string {
	cells := strings.Split(line, ",")
	at, more := slices.Index(q.Fields, q.CommaField), len(cells)-len(q.Fields)
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

// ReadCardBlocks returns the rows of a query of cards, each card once, by the field "index". Without a card the error is
// failure.Parse.
func (q Query) ReadCardBlocks(out []byte) (blocks []Block, r model.Report, err error) {
	rows, r, err := q.ReadBlocks(out)
	known := map[string]bool{}
	for _, b := range rows {
		b.Card, b.BusID = b.Value("index"), Label(b.Value("pci.bus_id"))
		switch {
		case !IsIndex(b.Card):
			r.Warn("cannot read the card's number from %.40q", b.Card)
		case known[b.Card]:
			r.Warn("card %s is printed twice", b.Card)
		case len(blocks) == model.MaxDevices:
			r.Warn("more than %d cards", model.MaxDevices)
		default:
			known[b.Card] = true
			blocks = append(blocks, b)
		}
	}
	if err == nil && len(blocks) == 0 {
		return nil, model.Report{}, failure.Errorf(failure.Parse, "no complete card in the output")
	}
	return blocks, r, err
}
