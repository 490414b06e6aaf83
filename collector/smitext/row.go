package smitext

import (
	"errors"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// Row is one line of a vendor's table: a word of its output, and the metric that is read from the values there. Several
// rows may read the same word; where two read the same metric, the first holds.
type Row struct {
	// Word is that of a column's header, a key, a field of a query or a member of an object: lower case, without its unit.
	// With titles before it, as in "clocks > xcore > xcore_clk", it is the word below them, else wherever it stands.
	// A * is a number up to 99, without leading zeros, or, where it is all of the word, any.
	Word   string
	As     string       // what a column of a drawn table is called, where it is not Word
	Metric model.Metric // "" for a word that names something, or only proves whose text it is
	// Labels are the values of the metric's own labels. A * is what the * in Word was, or what Form says, and {word} is the
	// value of another word of the same block.
	Labels []string

	Unit      Unit
	Symbol    string                        // of the unit, where neither value nor word has one
	Form      Form                          // how the value is printed
	Words     map[string]float64            // by value, lower case: what it stands for, NaN for none; other values are not read
	Total     model.Metric                  // of FormUsage and FormLimit: the metric of what stands behind the slash
	Within    model.Metric                  // of an earlier row: a value without it, or above it, is left out
	Lanes     string                        // of FormBits: the words whose values say what lanes there are, with their number as *
	NotZero   bool                          // 0 is how a failed query prints
	MayExceed bool                          // of FormUsage: the part may be more than the total
	Underflow bool                          // a value of 2^63 and more is one below zero
	MCU       bool                          // of the board's controller and of no chip
	Applies   func(card *model.Device) bool // nil for every card
}

// Rows are a vendor's table of words.
type Rows []Row

const (
	pathSeparator = " > "
	anyWord       = "*"
	maxReadings   = 512 // bounds what texts add to a card: real ones have up to 70
	maxLabel      = 64  // bytes
	maxDepth      = 8   // titles above a key
)

// Read adds the readings of a block to those of a card or slice, and reports whether a row found its word. A value that
// cannot be read is a warning and costs only itself; an absent one is none.
func (rows Rows) Read(b *Block, card *model.Device, to *model.Readings, warn func(error)) (found bool) {
	for i := range rows {
		r := &rows[i]
		if r.MCU != b.MCU || r.Applies != nil && !r.Applies(card) {
			continue
		}
		m := r.newMatcher(b)
		for j := range b.Entries {
			e := &b.Entries[j]
			wildcard, ok := m.match(e)
			if !ok {
				continue
			}
			found = true
			readings, err := m.readings(e, wildcard)
			if err != nil && m.word != anyWord { // of what is read whatever its name, nothing is expected
				warn(CannotRead(e.Word, e.Value, err))
			}
			r.add(to, readings)
		}
	}
	return found
}

// add adds readings, unless they do not fit to what was read before.
func (r *Row) add(to *model.Readings, readings []model.Reading) {
	isKnown := func(x model.Reading) bool { return to.Has(x.Metric, x.Labels...) }
	if r.Form == FormUsage && slices.ContainsFunc(readings, isKnown) {
		return // halves of two pairs are no pair
	}
	for _, reading := range readings {
		if r.Within != "" {
			if total, ok := to.Get(r.Within, reading.Labels...); !ok || reading.Value > total {
				continue
			}
		}
		if len(*to) < maxReadings {
			to.Add(reading)
		}
	}
}

// matcher is a row in one block, with what is the same for all entries that it matches: looking for it at each of them
// would take a time that grows with the square of a text's length.
type matcher struct {
	*Row
	path, word    string
	before, after string // of the * in word
	hasWildcard   bool
	labels        []string // without {word}
	lanes         []int
}

func (r *Row) newMatcher(b *Block) matcher {
	m := matcher{Row: r, word: r.Word, labels: r.Labels}
	if i := strings.LastIndex(r.Word, pathSeparator); i >= 0 {
		m.path, m.word = r.Word[:i], r.Word[i+len(pathSeparator):]
	}
	m.before, m.after, m.hasWildcard = strings.Cut(m.word, "*")
	for i, label := range r.Labels {
		if word, ok := strings.CutPrefix(label, "{"); ok {
			m.labels = slices.Clone(m.labels)
			m.labels[i] = Label(b.Value(strings.TrimSuffix(word, "}")))
		}
	}
	if r.Lanes != "" {
		m.lanes = lanes(b, r.Lanes)
	}
	return m
}

// match compares an entry with the row, and returns what the * is.
func (m *matcher) match(e *Entry) (wildcard string, ok bool) {
	switch {
	case m.path != "" && m.path != e.Path:
		return "", false
	case !m.hasWildcard:
		return "", m.word == e.Word
	case m.word == anyWord:
		return snakeCase(e.Word)
	}
	return numberBetween(e.Word, m.before, m.after)
}

// numberBetween cuts a number up to 99 out of a word.
func numberBetween(word, before, after string) (number string, ok bool) {
	if number, ok = strings.CutPrefix(word, before); ok {
		number, ok = strings.CutSuffix(number, after)
	}
	return number, ok && IsIndex(number) && len(number) <= 2
}

// lanes are the numbers of the lanes of which a value is printed.
func lanes(b *Block, pattern string) []int {
	var all []int
	before, after, _ := strings.Cut(pattern, "*")
	for i := range b.Entries {
		number, ok := numberBetween(b.Entries[i].Word, before, after)
		if n, _ := Index(number); ok && !Absent(b.Entries[i].Value) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

var blanksAndDashes = strings.NewReplacer(" ", "_", "-", "_")

// snakeCase makes a printed name a label: "LM75A_TE" is "lm75a_te". A name with anything but letters and digits between
// its parts is none.
func snakeCase(name string) (string, bool) {
	s := blanksAndDashes.Replace(strings.ToLower(name))
	return s, s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

var errNoLabel = errors.New("too long for a label, or not printable")

// labelsFor fills in what the * is, and refuses what no tool prints as a label.
func (m *matcher) labelsFor(wildcard string) ([]string, error) {
	labels := slices.Clone(m.labels)
	for i := range labels {
		labels[i] = strings.ReplaceAll(labels[i], "*", wildcard)
		if len(labels[i]) > maxLabel || strings.ContainsFunc(labels[i], func(c rune) bool { return c < ' ' || c > '~' }) {
			return nil, errNoLabel
		}
	}
	return labels, nil
}
