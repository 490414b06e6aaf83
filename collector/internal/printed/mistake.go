package printed

// Mistake is why a printed value is not read.
type Mistake string

func (m Mistake) Error() string { return string(m) }

// The mistakes.
const (
	NoNumber   Mistake = "no number"
	WrongUnit  Mistake = "no unit, or another one"
	OutOfRange Mistake = "beyond what a machine can have"
	NoPair     Mistake = "no pair with a slash"
	UsedAbove  Mistake = "used is more than the total"
)
