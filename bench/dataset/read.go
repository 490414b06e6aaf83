package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Record is what a record of a file gives.
type Record struct {
	prompt  Prompt
	answers []string // that were recorded, to each turn of a conversation; empty for none
}

// openData opens a file and reads over the mark of its encoding, which files of Windows have.
func openData(path string) (*os.File, *bufio.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // which are there
	}
	return f, in, nil
}

// readFile reads JSON objects of type T, one after the other or in one array. Its errors
// show an example of one.
func readFile[T any](path, example string, record func(T) (Record, error)) ([]Record, error) {
	f, in, err := openData(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Record
	err = readObjects(in, example, func(v T) error {
		r, err := record(v)
		all = append(all, r)
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("it is empty")
	}
	return all, err
}

// readObjects reads JSON objects of type T, one after the other or in one array, until
// record fails.
func readObjects[T any](in *bufio.Reader, example string, record func(T) error) error {
	first, _ := in.Peek(1)
	array := string(first) == "["
	d := json.NewDecoder(in)
	if array {
		_, _ = d.Token() // the bracket
	}
	n := 0
	for ; d.More(); n++ {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // an array was cut behind a comma; io.EOF is a proper end
		}
		if err != nil {
			return fmt.Errorf("record %d is no JSON object such as %s: %w", n+1, example, err)
		}
		if err := record(v); err != nil {
			return fmt.Errorf("record %d: %w", n+1, err)
		}
	}
	if _, err := d.Token(); array && err != nil {
		return fmt.Errorf("after record %d: %w", n, io.ErrUnexpectedEOF)
	}
	return nil
}
