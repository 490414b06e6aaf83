package metax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	stdslices "slices" // the package has a section of this name
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// parseJSON reads mx-smi -j: a title, then one object in which each card's is found
// by its bus id.
func parseJSON(out []byte, cards []model.Device) ([]smi.Told, error) {
	begin := bytes.IndexByte(out, '{')
	if begin < 0 {
		return nil, failure.New(failure.Parse, "no object in the output")
	}
	if err := foreign(out[:begin]); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(out[begin:]))
	decoder.UseNumber()
	value, err := decode(decoder, 0)
	if err != nil {
		return nil, failure.New(failure.Parse, "reading the object: %w", err)
	}
	host, _ := value.(map[string]any)
	var blocks []keyvalue.Block
	for _, bus := range stdslices.Sorted(maps.Keys(host)) {
		card, ok := host[bus].(map[string]any)
		if !ok || !printed.PCIAddress(bus) {
			continue
		}
		b := keyvalue.Block{BusID: bus, Entries: entries(nil, "", card)}
		if number, ok := card["device_id"].(json.Number); ok {
			b.Card = number.String()
		}
		blocks = append(blocks, b)
	}
	return detail.Parse(blocks, jsonRows(), owner, cards)
}

// decode reads the next value. An object that has a key twice is two cards' between which
// lines were lost, which encoding/json would join.
func decode(d *json.Decoder, depth int) (any, error) {
	const deepest = 8
	token, err := d.Token()
	delim, isDelim := token.(json.Delim)
	switch {
	case err != nil || !isDelim:
		return token, err
	case depth == deepest:
		return nil, fmt.Errorf("more than %d levels", deepest)
	}
	var list []any
	object := map[string]any{}
	for d.More() {
		var key string
		if delim == '{' {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = token.(string)
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("%.40q is there twice", key)
			}
		}
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		if object[key] = v; delim == '[' {
			list = append(list, v)
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return nil, err
	}
	if delim == '[' {
		return list, nil
	}
	return object, nil
}

// entries adds an object's members. An array is told by its length, and an object of
// whole numbers by their sum.
func entries(to []keyvalue.Entry, section string, object map[string]any) []keyvalue.Entry {
	for _, key := range stdslices.Sorted(maps.Keys(object)) {
		e := keyvalue.Entry{Section: section, Key: key}
		switch v := object[key].(type) {
		case json.Number:
			e.Value = v.String()
		case string:
			e.Value = v
		case []any:
			e.Value = strconv.Itoa(len(v))
		case map[string]any:
			if section == "" { // the tool has two levels
				to = entries(to, key, v)
			}
			e.Value = sum(v)
		}
		to = append(to, e)
	}
	return to
}

// sum adds up the members of an object, "" where one is no whole number. An empty
// object is 0: the tool lists what is there.
func sum(object map[string]any) string {
	total := uint64(0)
	for _, v := range object {
		number, _ := v.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, 48)
		if err != nil {
			return ""
		}
		total += n
	}
	return strconv.FormatUint(total, 10)
}
