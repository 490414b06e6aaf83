package printed

import (
	"cmp"
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

// scale returns what a printed symbol means: its unit, and what to multiply with and
// to divide by for the base unit. Memory is binary throughout, and so is MetaX's traffic:
// both vendors divide by 1024 and write MB or MiB as they please. Links and networks are decimal.
func scale(symbol string) (u Unit, times, per float64) {
	switch symbol {
	case "%":
		return Percent, 1, 100
	case "W":
		return Watts, 1, 1
	case "C":
		return Celsius, 1, 1
	case "B":
		return Bytes, 1, 1
	case "KB", "KiB", "kB":
		return Bytes, 1 << 10, 1
	case "MB", "MiB":
		return Bytes, 1 << 20, 1
	case "GB", "GiB":
		return Bytes, 1 << 30, 1
	case "page":
		return Pages, 1, 1
	case "mW":
		return Watts, 1, 1e3
	case "V":
		return Volts, 1, 1
	case "mV":
		return Volts, 1, 1e3
	case "A":
		return Amperes, 1, 1
	case "mA":
		return Amperes, 1, 1e3
	case "MHz", "MHZ":
		return Hertz, 1e6, 1
	case "GT/s":
		return Transfers, 1e9, 1
	case "MBytes/s":
		return ByteRate, 1 << 20, 1
	case "Mb/s":
		return BitRate, 1e6, 1
	case "Gb/s", "Gbps", "G":
		return BitRate, 1e9, 1
	case "dB":
		return Decibels, 1, 1
	}
	return 0, 1, 1
}

// IsSymbol reports whether s is how a unit is written behind a number in the main tables:
// a card or process may be called as the unit of another text, such as A.
func IsSymbol(s string) bool {
	u, _, _ := scale(s)
	return u != 0 && u <= Level && s != "mW"
}

// Value reads one value in base units. Its unit stands behind the number, else it
// is headerUnit; without either, or out of range, it is not read.
func (u Unit) Value(text, headerUnit string) (float64, bool) {
	v, known, _ := u.parse(text, headerUnit)
	return v, known
}

// parse reads one value. An absent one is not known and no error. Only temperatures and decibels may be negative, and what no machine holds is refused: an
// unsigned counter that went below zero prints as an enormous number.
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
			return 0, false, WrongUnit
		}
		return 0, false, NoNumber
	case v < 0 && u != Celsius && u != Decibels, v >= most, v > 1 && u == Percent:
		return 0, false, OutOfRange
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
	unit, times, per := scale(symbol)
	v, ok := Number(number)
	return v * times / per, ok && unit == u && (u != Count || symbol == "")
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
