package smitext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Absent reports whether a value says that there is none.
func Absent(s string) bool {
	switch strings.ToLower(s) {
	case "", "-", "--", "na", "n/a", "unknown", "unknown!", "not supported", "not support", "get failed", "failed":
		return true
	}
	return false
}

// CannotRead is the error for a value that cannot be read.
func CannotRead(word, text string, why error) error {
	return fmt.Errorf("cannot read %s from %.40q: %w", word, text, why)
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
	if len(s) > longest || strings.Trim(strings.TrimPrefix(s, "-"), "0123456789.") != "" {
		return 0, false
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

// IsIndex reports whether a text is such a number.
func IsIndex(s string) bool {
	_, ok := Index(s)
	return ok
}

var pciAddress = regexp.MustCompile(`^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]{1,3}$`)

// PCIAddress reports whether s looks like 0000:3b:00.0.
func PCIAddress(s string) bool { return pciAddress.MatchString(strings.TrimSpace(s)) }
