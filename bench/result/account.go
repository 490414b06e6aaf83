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
	Attempted int `json:"attempted"`
	Succeeded int `json:"succeeded"`
	Canceled  int `json:"canceled"`
	// Failed counts by reason, openai.ReasonCanceled not among them.
	Failed map[openai.Reason]int `json:"failed,omitempty"`
	// Mismatch is empty when the requests' lines agree with the count that the
	// load generator kept, else what does not.
	Mismatch string `json:"mismatch,omitempty"`
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
		a.fail(why, 1)
	}
}

func (a *Account) fail(why openai.Reason, n int) {
	if a.Failed == nil {
		a.Failed = map[openai.Reason]int{}
	}
	a.Failed[why] += n
}

// join adds the account of another log.
func (a *Account) join(b Account) {
	a.Attempted += b.Attempted
	a.Succeeded += b.Succeeded
	a.Canceled += b.Canceled
	for why, n := range b.Failed {
		a.fail(why, n)
	}
}

// Failures is the number of failed requests of every reason.
func (a Account) Failures() int {
	n := 0
	for _, k := range a.Failed {
		n += k
	}
	return n
}

// FailureRatio is the share of failed requests among those that ended by
// themselves, 0 when there are none.
func (a Account) FailureRatio() float64 {
	if n := a.Succeeded + a.Failures(); n > 0 {
		return float64(a.Failures()) / float64(n)
	}
	return 0
}

// Reasons are those of the failures, in the order of [openai.Reasons], any others before
// them.
func (a Account) Reasons() []openai.Reason {
	known := openai.Reasons()
	found := slices.Sorted(maps.Keys(a.Failed))
	slices.SortStableFunc(found, func(x, y openai.Reason) int { return slices.Index(known, x) - slices.Index(known, y) })
	return found
}

// FailureText is the number of failures of each reason, on one line.
func (a Account) FailureText() string {
	var parts []string
	for _, r := range a.Reasons() {
		parts = append(parts, fmt.Sprintf("%s %d", openai.Excerpt(string(r)), a.Failed[r]))
	}
	return strings.Join(parts, ", ")
}
