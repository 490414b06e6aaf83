package fakesmi

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// column is one of npu-smi info watch.
type column struct {
	on     family
	letter rune // which chooses it behind -s; 0 for those that are always there
	title  string
	width  int
	value  func(*AscendCard) string
}

func columns() []column {
	const cell, wideCell = 12, 15
	has950 := isA3 | is950
	return []column{
		{everyFamily, 0, "NpuID(Idx)", cell, npu},
		{hasDies, 0, "ChipId(Idx)", cell, chip},
		{everyFamily, 'p', "Pwr(W)", cell, watchedWatts},
		{everyFamily, 't', "Temp(C)", cell, celsius},
		{everyFamily, 'a', "AI Core(%)", cell, number(0, func(c *AscendCard) float64 { return c.Use.Core })},
		{everyFamily, 'i', "AI Cpu(%)", cell, number(0, func(c *AscendCard) float64 { return c.Use.AICPU })},
		{everyFamily, 'c', "Ctrl Cpu(%)", cell, number(0, func(c *AscendCard) float64 { return c.Use.ControlCPU })},
		{everyFamily, 'm', "Memory(%)", cell, number(0, func(c *AscendCard) float64 { return watchedMemory(c).Usage })},
		{has950, 'b', "Memory BW(%)", wideCell, number(0, func(c *AscendCard) float64 { return watchedMemory(c).Bandwidth })},
		{everyFamily &^ has950, 'b', "Memory BW(%)", cell, number(0, func(c *AscendCard) float64 { return watchedMemory(c).Bandwidth })},
		{has950, 'n', "NPU Util(%)", wideCell, number(0, func(c *AscendCard) float64 { return c.Use.NPU })},
		{has950, 'u', "AI Cube(%)", cell, number(0, func(c *AscendCard) float64 { return c.Use.Cube })},
	}
}

// watchedWatts is - on the second die of an A3 card, which has no power of its own.
func watchedWatts(c *AscendCard) string {
	if math.IsNaN(c.Watts) && c.Dies > 1 && c.Chip != "0" {
		return "-"
	}
	return decimals(c.Watts, 1)
}

// watchedMemory is HBM, where there is any.
func watchedMemory(c *AscendCard) *AscendMemory {
	if c.HBM.MiB > 0 {
		return &c.HBM
	}
	return &c.DDR
}

// watched are the columns that the letters choose; "" chooses all.
func (l AscendLayout) watched(letters string) []column {
	return slices.DeleteFunc(columns(), func(c column) bool {
		return c.on&l.family == 0 || c.letter != 0 && letters != "" && !strings.ContainsRune(letters, c.letter)
	})
}

// KnowsColumns reports whether the letters behind -s are all of columns.
func (l AscendLayout) KnowsColumns(letters string) bool {
	for _, letter := range letters {
		if !slices.ContainsFunc(columns(), func(c column) bool { return c.letter == letter }) {
			return false
		}
	}
	return true
}

// WatchHeader is the line that npu-smi info watch begins with.
func (l AscendLayout) WatchHeader(letters string) string {
	var b strings.Builder
	for _, c := range l.watched(letters) {
		fmt.Fprintf(&b, "%-*s", c.width, c.title)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// WatchLine is a die's line of one round.
func (l AscendLayout) WatchLine(letters string, card *AscendCard) string {
	var b strings.Builder
	for _, c := range l.watched(letters) {
		fmt.Fprintf(&b, "%-*s", c.width, c.value(card))
	}
	return b.String() + "\n"
}
