// Package printed reads what vendor tools print for one value: numbers with their
// units, pairs with a slash, names, and the words that stand for nothing.
package printed

import (
	"strconv"
	"strings"
)

// Absent reports whether a cell says that there is no value.
func Absent(s string) bool {
	switch len(s) {
	case 0:
		return true
	case 1, 2:
		return s == "-" || s == "--" || strings.EqualFold(s, "na")
	case 3:
		return strings.EqualFold(s, "n/a")
	}
	return strings.EqualFold(s, "unknown")
}

// Label returns s, or "" when s says that there is no value.
func Label(s string) string {
	if Absent(s) {
		return ""
	}
	return s
}

// Number reads a decimal number. A minus sign and a fraction are understood;
// exponents, hexadecimal and names such as "inf" are not numbers of any tool.
func Number(s string) (float64, bool) {
	const longest = 20
	if s == "" || len(s) > longest {
		return 0, false
	}
	for i := range len(s) {
		c := s[i]
		if ('0' > c || c > '9') && c != '.' && (i > 0 || c != '-') {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// Index reads a small non-negative whole number as tools print it: a card's, a
// chip's, a node's. One that begins with a 0 has lost what was before it.
func Index(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || s[0] == '0' && len(s) > 1 { // saves making an error for most cells
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// PCIAddress reports whether s looks like 0000:3b:00.0.
func PCIAddress(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || len(domain) < 4 || len(domain) > 8 || len(rest) < 7 || len(rest) > 9 {
		return false
	}
	return isHex(domain) && isHex(rest[:2]) && rest[2] == ':' && isHex(rest[3:5]) &&
		rest[5] == '.' && isHex(strings.TrimRight(rest[6:], " "))
}

func isHex(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return s != ""
}
