package smitext

import (
	"cmp"
	"errors"
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
	Lanes // x16, with the letter before the number
)

var (
	errNoNumber   = errors.New("no number")
	errWrongUnit  = errors.New("no unit, or another one")
	errOutOfRange = errors.New("beyond what a machine can have")
	errNoPair     = errors.New("no pair with a slash")
	errUsedAbove  = errors.New("used is more than the total")
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
	"%": {Percent, 1, 100}, "C": {Celsius, 1, 1}, "c": {Celsius, 1, 1}, "page": {Pages, 1, 1}, "dB": {Decibels, 1, 1},
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

// isSymbol reports whether s is how a unit is written behind a number in the main tables:
// a card or process may be called as the unit of another text, such as A.
func isSymbol(s string) bool {
	u := scales[s].unit
	return u != 0 && u <= Level && s != "mW"
}

// parse reads one value. An absent one is not known and no error. Only temperatures and
// decibels may be negative, and what no machine holds is refused: an unsigned counter that
// went below zero prints as an enormous number.
func (u Unit) parse(text, headerUnit string) (v float64, known bool, err error) {
	const most = 1 << 60
	number, symbol := cutUnit(text)
	if Absent(number) {
		return 0, false, nil
	}
	v, ok := u.amount(number, cmp.Or(symbol, headerUnit))
	switch {
	case !ok:
		if _, isNumber := Number(number); isNumber && u.letter() == "" {
			return 0, false, errWrongUnit
		}
		return 0, false, errNoNumber
	case v < 0 && u != Celsius && u != Decibels, v >= most, v > 1 && u == Percent:
		return 0, false, errOutOfRange
	}
	return v, true, nil
}

// letter is what stands before a number of the unit, "" for nothing.
func (u Unit) letter() string {
	switch u {
	case Level:
		return "P"
	case Lanes:
		return "x"
	}
	return ""
}

// amount reads a number with the symbol of the unit, whatever its range.
func (u Unit) amount(number, symbol string) (float64, bool) {
	if letter := u.letter(); letter != "" {
		digits, hasLetter := strings.CutPrefix(number, letter)
		n, ok := Index(digits)
		return float64(n), ok && hasLetter && symbol == ""
	}
	v, ok := Number(number)
	if u == Count {
		return v, ok && symbol == ""
	}
	scale := scales[symbol]
	return v * scale.times / scale.per, ok && scale.unit == u
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
