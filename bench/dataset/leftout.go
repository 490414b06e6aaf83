package dataset

import "fmt"

// leftOut is why a record gives no prompt. Reading goes on behind it.
type leftOut struct {
	fault  fault
	reason string
}

type fault int

const (
	unusable fault = iota // the record is wrong
	tooLong               // for Config.MaxPromptLength
	skipped               // right, but not wanted: too short, a question without an answer
)

func (l *leftOut) Error() string { return l.reason }

func bad(format string, args ...any) error {
	return &leftOut{unusable, fmt.Sprintf(format, args...)}
}
