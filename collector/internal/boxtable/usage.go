package boxtable

import (
	"fmt"
	"strings"
)

// Usage is a "used / total" cell. What is not printed is nil.
type Usage struct {
	Used, Total *float64
}

// ParseUsage reads a "used / total" cell. The unit stands behind the total, or is
// the header's; memory becomes bytes, pages stay pages. An absent value is nil
// without an error, and so are both under a total of 0, which is what a failed
// query prints. A used part that is negative or exceeds its total is an error
// that costs only itself.
func ParseUsage(cell, headerUnit string) (Usage, error) {
	if Absent(cell) {
		return Usage{}, nil
	}
	used, total, ok := strings.Cut(cell, "/")
	if !ok {
		return Usage{}, fmt.Errorf("%q is not used/total", cell)
	}
	total, unit := cutUnit(strings.TrimSpace(total))
	used, usedUnit := cutUnit(strings.TrimSpace(used))
	if unit == "" {
		unit = headerUnit
	}
	if usedUnit == "" {
		usedUnit = unit
	}
	u := Usage{}
	if !Absent(total) {
		t, ok := scaled(total, unit)
		if !ok || t < 0 {
			return Usage{}, fmt.Errorf("cannot read the total in %q", cell)
		}
		if t == 0 {
			return Usage{}, nil
		}
		u.Total = &t
	}
	if !Absent(used) {
		n, ok := scaled(used, usedUnit)
		if !ok || n < 0 || u.Total != nil && n > *u.Total {
			return u, fmt.Errorf("cannot believe the used part of %q", cell)
		}
		u.Used = &n
	}
	return u, nil
}

// cutUnit takes the letters off the end of a number: "65536 MiB" is "65536", "MiB".
func cutUnit(s string) (number, unit string) {
	if Absent(s) {
		return s, ""
	}
	end := strings.LastIndexAny(s, "0123456789") + 1
	return s[:end], strings.TrimSpace(s[end:])
}

func scaled(number, unit string) (float64, bool) {
	factor, ok := unitFactor(unit)
	if !ok {
		return 0, false
	}
	n, ok := Number(number, "")
	return n * factor, ok
}

// unitFactor is binary throughout: both vendors divide by 1024 and write MB or
// MiB as they please.
func unitFactor(unit string) (float64, bool) {
	switch strings.ToLower(unit) {
	case "", "page", "b":
		return 1, true
	case "kb", "kib":
		return 1 << 10, true
	case "mb", "mib":
		return 1 << 20, true
	case "gb", "gib":
		return 1 << 30, true
	}
	return 0, false
}

// Bytes reads one amount of memory, whose unit stands behind it or is the
// header's. An amount without any unit is not read.
func Bytes(cell, headerUnit string) (float64, bool) {
	number, unit := cutUnit(cell)
	if unit == "" {
		unit = headerUnit
	}
	n, ok := scaled(number, unit)
	return n, ok && n >= 0 && unit != ""
}
