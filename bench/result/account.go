package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Account says what became of every request. Attempted is always the sum of the
// others.
type Account struct {
	Attempted int                   `json:"attempted"`
	Succeeded int                   `json:"succeeded"`
	Canceled  int                   `json:"canceled"`
	Failed    map[openai.Reason]int `json:"failed,omitempty"` // by reason, openai.ReasonCanceled not among them
}

// count counts a request that failed for a reason, empty for one that succeeded.
func (a *Account) count(why openai.Reason) {
	a.Attempted++
	switch why {
	case "":
		a.Succeeded++
	case openai.ReasonCanceled:
		a.Canceled++
	default:
		if a.Failed == nil {
			a.Failed = map[openai.Reason]int{}
		}
		a.Failed[why]++
	}
}

// Failures is the number of failed requests of every reason.
func (a Account) Failures() int { return a.Attempted - a.Succeeded - a.Canceled }

// FailureRatio is the share of failed requests among those that ended by
// themselves, 0 when there are none.
func (a Account) FailureRatio() float64 {
	if n := a.Succeeded + a.Failures(); n > 0 {
		return float64(a.Failures()) / float64(n)
	}
	return 0
}

// Reasons are those of the failures, in alphabetical order.
func (a Account) Reasons() []openai.Reason { return slices.Sorted(maps.Keys(a.Failed)) }

// failureText is the number of failures of each reason, on one line.
func (a Account) failureText() string {
	var parts []string
	for _, r := range a.Reasons() {
		parts = append(parts, fmt.Sprintf("%s %d", openai.Excerpt(string(r)), a.Failed[r]))
	}
	return strings.Join(parts, ", ")
}
