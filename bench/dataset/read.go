package dataset

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Record is what a record of a file gives.
type Record struct {
	prompt Prompt
	answer string // that was recorded, empty for none
	// of a trace
	timestamp float64 // in the trace's unit
	input     int     // tokens
	blocks    []int64 // hash ids
}

// readFile reads JSON objects of type T, one after the other or in one array. Its errors
// show an example of one.
func readFile[T any](path, example string, record func(T) (Record, error)) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	first, _ := in.Peek(1)
	array := string(first) == "["
	d := json.NewDecoder(in)
	if array {
		_, _ = d.Token() // the bracket
	}
	var all []Record
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("record %d is no JSON object such as %s: %w", len(all)+1, example, err)
		}
		r, err := record(v)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
	if _, err := d.Token(); array && err != nil {
		return nil, fmt.Errorf("after record %d: %w", len(all), err)
	}
	if len(all) == 0 {
		return nil, errors.New("it is empty")
	}
	return all, nil
}
