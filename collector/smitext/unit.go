package smitext

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// Unit is what a value is measured in, however it is written.
type Unit uint8

// The units.
const (
	Count   Unit = iota // a bare number
	Percent             // a share: 36% is read as 0.36
	Watts
	Celsius
	Bytes
	Pages
	Level // P9, with the letter before the number
	Volts
	Amperes
	Hertz
	Transfers // of a bus, each second
	ByteRate  // bytes each second
	BitRate   // bits each second
	Decibels
	Lanes // x16, X16 or 16x
)

var (
	errNoNumber   = errors.New("no number")
	errWrongUnit  = errors.New("no unit, or another one")
	errOutOfRange = errors.New("beyond what a machine can have")
)

// scale is what a printed symbol means: its unit, and what to multiply with and
// to divide by for the base unit.
type scale struct {
	unit       Unit
	times, per float64
}

// scales are by symbol. Memory is binary throughout, and so is MetaX's traffic: MetaX and Ascend
// divide by 1024 and write MB or MiB as they please, NVIDIA and Hygon write MiB. Links and networks are decimal.
var scales = map[string]scale{
	"%": {Percent, 1, 100}, "C": {Celsius, 1, 1}, "c": {Celsius, 1, 1}, "℃": {Celsius, 1, 1}, "page": {Pages, 1, 1}, "dB": {Decibels, 1, 1}, "x": {Lanes, 1, 1},
	"W": {Watts, 1, 1}, "mW": {Watts, 1, 1e3},
	"V": {Volts, 1, 1}, "mV": {Volts, 1, 1e3},
	"A": {Amperes, 1, 1}, "mA": {Amperes, 1, 1e3},
	"B":  {Bytes, 1, 1},
	"KB": {Bytes, 1 << 10, 1}, "KiB": {Bytes, 1 << 10, 1}, "kB": {Bytes, 1 << 10, 1},
	"MB": {Bytes, 1 << 20, 1}, "MiB": {Bytes, 1 << 20, 1},
	"GB": {Bytes, 1 << 30, 1}, "GiB": {Bytes, 1 << 30, 1},
	"MHz": {Hertz, 1e6, 1}, "MHZ": {Hertz, 1e6, 1}, "Mhz": {Hertz, 1e6, 1},
	"GT/s": {Transfers, 1e9, 1}, "MBytes/s": {ByteRate, 1 << 20, 1},
	"Mb/s": {BitRate, 1e6, 1}, "Gb/s": {BitRate, 1e9, 1}, "Gbps": {BitRate, 1e9, 1}, "G": {BitRate, 1e9, 1},
}

// PCIeGenerations are the transfers a second of a lane, by the generation of PCIe that a tool prints.
func PCIeGenerations() map[string]float64 {
	return map[string]float64{
		"1": 2.5e9, "2": 5e9, "3": 8e9, "4": 16e9, "5": 32e9, "6": 64e9,
		"gen1": 2.5e9, "gen2": 5e9, "gen3": 8e9, "gen4": 16e9, "gen5": 32e9, "gen6": 64e9,
	}
}

// isSymbol reports whether s is a unit that the main tables print behind a number. Units of
// other texts, such as A, are not: a card or process may have that name.
func isSymbol(s string) bool {
	u := scales[s].unit
	return u != 0 && u <= Level && s != "mW"
}

// Parse reads one value, whose unit stands behind it, else has the given symbol. An absent one is not known and no error.
// Only temperatures and decibels may be negative, and what no machine holds is refused: an unsigned counter that went
// below zero prints as an enormous number. A count of pages has 32 bits, of which the highest is set when it went below
// zero: it is not known then.
func (u Unit) Parse(text, symbol string) (v float64, known bool, err error) {
	const most = 1 << 60
	number, printed := cutUnit(text)
	v, isNumber := Number(number)
	symbol = cmp.Or(printed, symbol)
	if u == Bytes && symbol == "G" { // of links it means Gbit/s
		symbol = "GiB"
	}
	scale := scales[symbol]
	switch {
	case Absent(text), Absent(number):
		return 0, false, nil
	case u == Count:
		v, err = parseCount(text)
	case u == Level && text[0] == 'P', u == Lanes && (text[0] == 'x' || text[0] == 'X'):
		v, err = parseCount(text[1:])
	case !isNumber:
		err = errNoNumber
	case scale.unit != u:
		err = errWrongUnit
	default:
		v = v * scale.times / scale.per
	}
	switch {
	case err != nil:
		return 0, false, err
	case v < 0 && u != Celsius && u != Decibels, v >= most && u != Count, v > 1 && u == Percent:
		return 0, false, errOutOfRange
	}
	return v, u != Pages || v < 1<<31, nil
}

// parseCount reads a whole number, or one in hexadecimal.
func parseCount(text string) (float64, error) {
	base := 10
	if digits, isHex := strings.CutPrefix(text, "0x"); isHex {
		text, base = digits, 16
	}
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return 0, errNoNumber
	}
	return float64(n), nil
}

// cutUnit takes the unit off the end of a number: "65536 MiB" and "65536MiB" are
// "65536", "MiB", and "NA MiB" is "NA", "MiB".
func cutUnit(s string) (number, symbol string) {
	end := strings.IndexByte(s, ' ')
	if end < 0 {
		end = len(s)
		for end > 0 && (s[end-1] < '0' || s[end-1] > '9') {
			end--
		}
	}
	if end == 0 {
		return s, ""
	}
	return s[:end], strings.TrimSpace(s[end:])
}
