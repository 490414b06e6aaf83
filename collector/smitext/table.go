package smitext

import (
	"errors"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

var (
	errCut    = errors.New("its end is cut off")
	errHalf   = errors.New("the other row of its record is missing")
	errNoCard = errors.New("it names no card")
)

// Table is one kind of table that a tool prints.
type Table struct {
	// Header is words by which the header row is known.
	Header []string
	// Second is words of a second header row. Where records have two rows it is that of their
	// second one; else it holds nothing but the unit of the last column.
	Second []string
	// Third is words of a third header row, of which nothing is read: rows without a first cell are passed over.
	Third []string
	// Card reads a record of two rows, and reports whether they are those of one card.
	Card func(record *Block) bool
	// Row reads a record of one row, and reports whether it is one. A table with neither is passed over.
	Row func(record *Block) bool
}

// TableReader reads the tables in what a tool printed. Tables are found by the words of their
// header rows; how they are drawn says nothing. Text is only ever cut at its end: a row
// without its closing bar, and a record without its second row, are left out with a warning.
type TableReader struct {
	Words  Rows
	Tables []Table
	// Outside reads a line of text, or a row above the tables. Its error ends the reading.
	Outside func(line Line) error
	// Report gets the warnings.
	Report *model.Report

	table   *Table
	headers [2]Header
	first   *Block // waits for its second row
}

// Read reads all lines.
func (t *TableReader) Read(out []byte) error {
	for line := range Lines(out) {
		switch {
		case line.Kind == LineSeparator:
			t.dropFirst()
		case line.Kind != LineText && t.readHeader(line.Cells):
		case line.Kind == LineTorn:
			t.dropFirst()
			t.warn(line.Text, errCut)
		case line.Kind == LineText || t.table == nil:
			if err := t.Outside(line); err != nil {
				return err
			}
		default:
			t.readRow(line.Cells)
		}
	}
	t.dropFirst()
	return nil
}

// readHeader reports whether a row is a header row, by its words.
func (t *TableReader) readHeader(cells []string) bool {
	// Records start with a number, whatever a process is called.
	if first := cells[0]; first != "" && '0' <= first[0] && first[0] <= '9' {
		return false
	}
	h := t.Words.Header(cells)
	if t.table != nil && h.hasAll(t.table.Second) {
		if t.table.Card != nil {
			t.headers[1] = h
		} else {
			lastColumn(t.headers[0]).Unit = lastColumn(h).Unit
		}
		return true
	}
	if t.table != nil && h.hasAll(t.table.Third) {
		return true
	}
	for i := range t.Tables {
		if h.hasAll(t.Tables[i].Header) {
			t.dropFirst()
			t.table, t.headers = &t.Tables[i], [2]Header{h, nil}
			return true
		}
	}
	return false
}

// lastColumn returns the last column of a header, which must have one.
func lastColumn(h Header) *Column {
	for {
		if last := h[len(h)-1]; len(last) > 0 {
			return &last[len(last)-1]
		}
		h = h[:len(h)-1]
	}
}

func (t *TableReader) readRow(cells []string) {
	switch {
	case t.table.Row != nil:
		if row := t.headers[0].Block(cells); !t.table.Row(&row) {
			t.warn(row.Text, errNoCard)
		}
	case t.table.Card == nil, t.first == nil && len(t.table.Third) > 0 && cells[0] == "":
	case t.first == nil:
		row := t.headers[0].Block(cells)
		t.first = &row
	default:
		second := t.headers[1].Block(cells)
		record := Block{Text: t.first.Text, Entries: slices.Concat(t.first.Entries, second.Entries)}
		if t.table.Card(&record) {
			t.first = nil
			return
		}
		t.warn(t.first.Text, errHalf)
		*t.first = t.headers[0].Block(cells) // the second row may be another record's first
	}
}

func (t *TableReader) dropFirst() {
	if t.first != nil {
		t.warn(t.first.Text, errHalf)
		t.first = nil
	}
}

func (t *TableReader) warn(row string, why error) {
	t.Report.Warn("%v", CannotRead("a row", row, why))
}
