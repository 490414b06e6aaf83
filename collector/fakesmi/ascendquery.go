package fakesmi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Answer is what a tool says to one call, and its exit status.
type Answer struct {
	Text   string
	Errs   bool // the text goes to stderr
	Status int
}

// AscendQuery is a call npu-smi info -t Type -i NPU [-c Chip].
type AscendQuery struct {
	Type, NPU, Chip string // Chip is empty without -c
}

// query is how one type is answered.
type query struct {
	name   string
	on     family // where the type is known
	width  int    // of a key
	die    bool   // needs -c, but on a 950, which has no dies
	bare   family // where neither NPU ID nor Chip Count comes first, and the first die alone is told
	fields []field
	chip   []field // with -c, where that is another text
	board  []field // the board's own block
}

// field is one line, on the families that have it.
type field struct {
	on    family
	key   string
	value func(*AscendCard) string
}

// AscendTypes are the types that some family knows.
func AscendTypes() []string {
	var names []string
	for _, q := range queries() {
		if !slices.Contains(names, q.name) {
			names = append(names, q.name)
		}
	}
	return names
}

const usageText = "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"

// Query answers a call about one NPU.
func (l AscendLayout) Query(q AscendQuery, cards []AscendCard) Answer {
	known := queries()
	i := slices.IndexFunc(known, func(k query) bool { return k.name == q.Type })
	if i < 0 {
		return Answer{Text: "Error parameter of -t\n" + usageText, Status: 1}
	}
	var dies []*AscendCard
	for i := range cards {
		if c := &cards[i]; c.NPU == q.NPU && (q.Chip == "" || c.Chip == q.Chip) {
			dies = append(dies, c)
		}
	}
	is950Chip := l.family == is950 && q.Chip != ""
	switch found := known[i]; {
	case is950Chip:
		return Answer{Text: "Error parameter of -c\n" + usageText, Status: 1}
	case !slices.ContainsFunc(cards, func(c AscendCard) bool { return c.NPU == q.NPU }):
		return Answer{Text: "Invalid card id.\nError parameter of -i\n" + usageText, Status: 1}
	case len(dies) == 0:
		return Answer{Text: "Invalid chip id.\nError parameter of -c\n" + usageText, Status: 1}
	case found.on&l.family == 0:
		return Answer{Text: "This device does not support querying " + q.Type + ".\n"}
	case found.die && q.Chip == "" && l.family != is950:
		return Answer{Text: "Must input parameter of chip id.\n", Status: 1}
	default:
		return Answer{Text: found.text(l.family, dies, q.Chip != "")}
	}
}

const chipID = "Chip ID"

// text is the whole answer about the dies of one NPU, or about one of them.
func (q query) text(f family, dies []*AscendCard, one bool) string {
	var b strings.Builder
	fields := q.fields
	switch {
	case one && q.chip != nil:
		fields = q.chip
	case one:
		fields = slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.key == chipID })
	}
	if one || q.bare&f != 0 {
		writeFields(&b, q.width, f, fields, dies[0])
		return b.String()
	}
	width := q.width
	if f == is310 {
		width = narrow
	}
	fmt.Fprintf(&b, "\t%-*s : %s\n", width, "NPU ID", dies[0].NPU)
	if f == is950 {
		writeFields(&b, q.width, f, fields, dies[0])
		return b.String()
	}
	fmt.Fprintf(&b, "\t%-*s : %d\n", width, "Chip Count", dies[0].Dies)
	for _, c := range dies {
		b.WriteByte('\n')
		writeFields(&b, q.width, f, fields, c)
	}
	var board strings.Builder
	writeFields(&board, q.width, f, q.board, dies[0])
	if board.Len() > 0 {
		b.WriteString("\n" + board.String())
	}
	return b.String()
}

func writeFields(b *strings.Builder, width int, f family, fields []field, c *AscendCard) {
	for _, line := range fields {
		if line.on&f != 0 {
			fmt.Fprintf(b, "\t%-*s : %s\n", width, line.key, line.value(c))
		}
	}
}

// decimals prints a value, or what stands for none.
func decimals(v float64, n int) string {
	if math.IsNaN(v) {
		return notPrinted
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// number prints a value with so many decimals.
func number(n int, of func(*AscendCard) float64) func(*AscendCard) string {
	return func(c *AscendCard) string { return decimals(of(c), n) }
}

// counter prints a whole number.
func counter(of func(*AscendCard) uint64) func(*AscendCard) string {
	return func(c *AscendCard) string { return strconv.FormatUint(of(c), 10) }
}

func fixed(text string) func(*AscendCard) string { return func(*AscendCard) string { return text } }
