package show

import (
	"fmt"
	"io"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Capacity writes the levels that a search for the capacity ran, what makes them
// doubtful, and the answer.
func Capacity(w io.Writer, r *result.Report) error {
	var p lines
	if r.Capacity == nil {
		p.line("")
		p.line("No capacity was searched for: that is done by accelbench capacity.")
		return p.writeTo(w)
	}
	for _, t := range CapacityTables(r) {
		p.line("")
		p.table(t)
	}
	p.warnings(r)
	p.line("")
	p.line("%s", Answer(r))
	return p.writeTo(w)
}

// CapacityTables are the levels of a search for the capacity, and its limits with the
// figures at the answer and at the least load that missed.
func CapacityTables(r *result.Report) []Table {
	c := r.Capacity
	levels := Table{
		Caption: "Levels, figures of the steady part, in ms where no unit stands",
		Head:    []string{levelHead(c), "objectives", "runs"},
	}
	for _, l := range c.Limits {
		levels.Head = append(levels.Head, l.Label()+" "+limitText(l))
	}
	levels.Head = append(levels.Head, "requests /s", "output tok/s")
	for i := range c.Levels {
		levels.Rows = append(levels.Rows, levelRow(r, &c.Levels[i]))
	}
	limits := Table{Caption: "Objectives", Head: []string{"", "limit", "at " + titleOr(c, c.Value), "at " + titleOr(c, c.FailedAt)}}
	for i, l := range c.Limits {
		limits.Rows = append(limits.Rows, []string{
			l.Label(), withUnit(l, l.Limit), heldText(r, c.At(c.Value), i), heldText(r, c.At(c.FailedAt), i),
		})
	}
	return []Table{levels, limits}
}

func levelHead(c *result.Capacity) string {
	if c.Variable == runlog.VariableConcurrency {
		return "users"
	}
	return "requests/s"
}

func titleOr(c *result.Capacity, level float64) string {
	if level == 0 {
		return "none"
	}
	return c.Title(level)
}

func levelRow(r *result.Report, l *result.CapacityLevel) []string {
	row := []string{
		strconv.FormatFloat(l.Level, 'g', -1, 64),
		map[capacity.Verdict]string{capacity.Met: "met", capacity.Missed: "missed", capacity.Void: "not judged"}[l.Verdict],
		strconv.Itoa(len(l.Steps)),
	}
	for i := range r.Capacity.Limits {
		text := words.Unknown
		if h := heldAt(r, l, i); h != nil {
			text = inTable(h)
		}
		row = append(row, text)
	}
	if l.Told < 0 {
		return append(row, words.Unknown, words.Unknown)
	}
	f := steadyOrWhole(&r.Steps[l.Told])
	return append(row, words.Number(f.RequestThroughput), words.Number(f.OutputThroughput))
}

func steadyOrWhole(s *result.Step) *result.Figures {
	if s.Steady != nil {
		return s.Steady
	}
	return &s.Whole
}

// heldAt is the figure of a limit at a level, nil where it is not known.
func heldAt(r *result.Report, l *result.CapacityLevel, limit int) *result.Held {
	if l == nil || l.Told < 0 {
		return nil
	}
	s := &r.Steps[l.Told]
	if limit >= len(s.Held) || !s.Held[limit].Known {
		return nil
	}
	return &s.Held[limit]
}

func heldText(r *result.Report, l *result.CapacityLevel, limit int) string {
	if h := heldAt(r, l, limit); h != nil {
		return withUnit(h.Limit, h.Value)
	}
	return words.Unknown
}

// limitUnit is what a limit and its figure are shown in.
func limitUnit(l result.Limit) Unit {
	switch {
	case l.Name == runlog.LimitFailures:
		return Share
	case l.Limit >= 2:
		return Seconds
	}
	return Milliseconds
}

func unitText(l result.Limit) string {
	switch limitUnit(l) {
	case Share:
		return "%"
	case Seconds:
		return "s"
	}
	return "ms"
}

func withUnit(l result.Limit, v float64) string { return scaled(l, v) + " " + unitText(l) }

// scaled is a figure in the unit that its limit is shown in, with three digits or as many
// as tell it from the limit, or the limit as it was given.
func scaled(l result.Limit, v float64) string {
	if v == l.Limit {
		return digits(v*limitUnit(l).Scale(), 6)
	}
	const exact = 17 // digits of any two numbers that differ
	n := 3
	for n < exact && digits(v, n) == digits(l.Limit, n) {
		n++
	}
	return digits(v*limitUnit(l).Scale(), n)
}

// digits writes v with at most so many significant digits, and no exponent.
func digits(v float64, n int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return words.Unknown
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// inTable is a figure as a column of figures has it, unless it looks like its limit there.
func inTable(h *result.Held) string {
	scale := limitUnit(h.Limit).Scale()
	text := words.Number(h.Value * scale)
	if h.Value != h.Limit.Limit && text == words.Number(h.Limit.Limit*scale) {
		return scaled(h.Limit, h.Value)
	}
	return text
}

// Objective is a limit in words: "TTFT p90 <2 s".
func Objective(l result.Limit) string { return l.Label() + " <" + withUnit(l, l.Limit) }

func limitText(l result.Limit) string {
	text := scaled(l, l.Limit)
	if unit := unitText(l); unit != "ms" {
		text += " " + unit
	}
	return "<" + text
}

// capacityAnswer is the answer of a search in a sentence, with its evidence.
func capacityAnswer(r *result.Report) string {
	c := r.Capacity
	at := c.At(c.Value)
	if at == nil || at.Told < 0 {
		return noCapacity(r)
	}
	text := carries(c)
	switch {
	case c.FailedAt > 0:
		text += "; " + misses(r, c.At(c.FailedAt))
	case c.VoidAt > 0:
		text += fmt.Sprintf("; %s could not be judged (%s)", levelName(c.VoidAt), words.Clean(c.At(c.VoidAt).Why))
	}
	s := &r.Steps[at.Told]
	f := steadyOrWhole(s)
	text += fmt.Sprintf("; %s requests/s, %s tokens/s", words.Number(f.RequestThroughput), words.Number(f.OutputThroughput))
	if load, known := cardsLoad(s); known {
		text += "; cards at " + strconv.FormatFloat(100*load, 'f', 0, 64) + " %"
	}
	if joules, known := s.JoulesPerToken(); known {
		text += fmt.Sprintf(", %s J a token", words.Number(joules))
	}
	return text
}

func carries(c *result.Capacity) string {
	switch {
	case c.AtLeast && c.Done && c.VoidAt == 0:
		return fmt.Sprintf("carries at least %s, the most that were tried", c.Title(c.Value))
	case c.AtLeast && c.Done:
		return "carries at least " + c.Title(c.Value)
	case c.AtLeast:
		return fmt.Sprintf("carries at least %s, as far as it was measured", c.Title(c.Value))
	}
	return "carries " + c.Title(c.Value)
}

// noCapacity says why there is no answer.
func noCapacity(r *result.Report) string {
	c := r.Capacity
	switch {
	case c.FailedAt > 0:
		return "carries none: " + misses(r, c.At(c.FailedAt))
	case c.VoidAt > 0:
		return fmt.Sprintf("What the server carries is not known: %s could not be judged (%s)", c.Title(c.VoidAt), words.Clean(c.At(c.VoidAt).Why))
	}
	for _, l := range c.Levels {
		if l.Why != "" {
			return fmt.Sprintf("What the server carries is not known yet: %s was not judged (%s)", c.Title(l.Level), words.Clean(l.Why))
		}
	}
	return "What the server carries is not known: no level was measured to its end"
}

// levelName is a level where its unit was told before.
func levelName(level float64) string {
	return strconv.FormatFloat(level, 'g', -1, 64)
}

// misses says what a level misses, by its first word on: "40 miss TPOT p90 (104 ms of 100)".
func misses(r *result.Report, l *result.CapacityLevel) string {
	c := r.Capacity
	name, verb := levelName(l.Level), "miss"
	if c.Value == 0 {
		name = c.Title(l.Level)
		if l.Level == 1 {
			verb = "misses"
		}
	}
	var worst *result.Held
	for i := range c.Limits {
		if h := heldAt(r, l, i); h != nil && h.Excess() > 1 && (worst == nil || h.Excess() > worst.Excess()) {
			worst = h
		}
	}
	s := &r.Steps[l.Told]
	if worst == nil {
		return fmt.Sprintf("at %s requests pile up (%s a second were over)", name, words.Number(s.Whole.RequestThroughput))
	}
	text := fmt.Sprintf("%s %s %s (%s %s of %s", name, verb, worst.Label(), scaled(worst.Limit, worst.Value), unitText(worst.Limit), scaled(worst.Limit, worst.Limit.Limit))
	if s.Overloaded() {
		text += ", as requests pile up"
	}
	return text + ")"
}

// cardsLoad is the mean utilization of the cards that serve, of all where none is known
// to.
func cardsLoad(s *result.Step) (share float64, known bool) {
	cards := s.Serving()
	if len(cards) == 0 {
		cards = s.Cards
	}
	n := 0.0
	for _, c := range cards {
		if c.Utilization.Samples > 0 {
			share, n = share+c.Utilization.Mean, n+1
		}
	}
	return share / max(n, 1), n > 0
}

// capacityObject is the answer as report.json has it, nil where none was searched for.
func capacityObject(r *result.Report) any {
	c := r.Capacity
	if c == nil {
		return nil
	}
	objectives := make([]jsonObjective, len(c.Limits))
	for i, l := range c.Limits {
		objectives[i] = jsonObjective{l.Name, l.Percentile, l.Limit, heldValue(heldAt(r, c.At(c.Value), i)), heldValue(heldAt(r, c.At(c.FailedAt), i))}
	}
	levels := make([]jsonLevel, len(c.Levels))
	for i, l := range c.Levels {
		levels[i] = jsonLevel{Level: l.Level, Steps: l.Steps, NotJudged: l.Why}
		if l.Verdict != capacity.Void {
			met := l.Verdict == capacity.Met
			levels[i].Met = &met
		}
	}
	return jsonCapacity{c.Variable, notZero(c.Value), notZero(c.FailedAt), c.AtLeast, c.Done, c.Changed, string(c.Binding), objectives, levels}
}

type jsonCapacity struct {
	Variable   string          `json:"variable"`
	Value      *float64        `json:"value"`
	FailedAt   *float64        `json:"failed_at"`
	AtLeast    bool            `json:"at_least"`
	Finished   bool            `json:"finished"`
	ChangedAt  float64         `json:"changed_at,omitempty"`
	Binding    string          `json:"binding,omitempty"`
	Objectives []jsonObjective `json:"objectives"`
	Levels     []jsonLevel     `json:"levels"`
}

type jsonObjective struct {
	Name        string   `json:"name"`
	Percentile  float64  `json:"percentile,omitempty"`
	Limit       float64  `json:"limit"`
	Value       *float64 `json:"value"`
	ValueFailed *float64 `json:"value_failed"`
}

type jsonLevel struct {
	Level     float64 `json:"level"`
	Met       *bool   `json:"met"`
	Steps     []int   `json:"steps"`
	NotJudged string  `json:"not_judged,omitempty"`
}

func notZero(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

func heldValue(h *result.Held) *float64 {
	if h == nil {
		return nil
	}
	return &h.Value
}
