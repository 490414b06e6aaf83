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
	used, total, ok := CutPair(cell)
	if !ok {
		return Usage{}, fmt.Errorf("%.40q is not used/total", cell)
	}
	total, unit := cutUnit(total)
	used, usedUnit := cutUnit(used)
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
			return Usage{}, fmt.Errorf("cannot read the total in %.40q", cell)
		}
		if t == 0 {
			return Usage{}, nil
		}
		u.Total = &t
	}
	if !Absent(used) {
		n, ok := scaled(used, usedUnit)
		if !ok || n < 0 || u.Total != nil && n > *u.Total {
			return u, fmt.Errorf("cannot believe the used part of %.40q", cell)
		}
		u.Used = &n
	}
	return u, nil
}

// CutPair cuts "used / total" at the slash that is not part of an "N/A".
func CutPair(cell string) (used, total string, ok bool) {
	const none = "n/a"
	from := 0
	if len(cell) >= len(none) && strings.EqualFold(cell[:len(none)], none) {
		from = len(none)
	}
	slash := strings.IndexByte(cell[from:], '/')
	if slash < 0 {
		return "", "", false
	}
	return strings.TrimSpace(cell[:from+slash]), strings.TrimSpace(cell[from+slash+1:]), true
}

// cutUnit takes the unit off the end of a number: "65536 MiB" and "65536MiB" are
// "65536", "MiB", and "NA MiB" is "NA", "MiB".
func cutUnit(s string) (number, unit string) {
	end := strings.IndexByte(s, ' ')
	if end < 0 && !Absent(s) {
		end = strings.LastIndexAny(s, "0123456789") + 1
	}
	if end <= 0 {
		return s, ""
	}
	return s[:end], strings.TrimSpace(s[end:])
}

// scaled refuses what no machine holds: an unsigned counter that went below zero
// prints as an enormous number, also after a division into MB.
func scaled(number, unit string) (float64, bool) {
	const most = 1 << 60
	factor, ok := unitFactor(unit)
	if !ok {
		return 0, false
	}
	n, ok := Number(number, "")
	return n * factor, ok && n*factor < most
}

// unitFactor is binary throughout: both vendors divide by 1024 and write MB or
// MiB as they please.
func unitFactor(unit string) (float64, bool) {
	switch unit {
	case "", "page", "B":
		return 1, true
	case "KB", "KiB", "kB":
		return 1 << 10, true
	case "MB", "MiB":
		return 1 << 20, true
	case "GB", "GiB":
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
