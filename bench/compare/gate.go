package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Gate is how much worse than on the first side a figure may be.
type Gate struct {
	openai.Objective        // Limit is a share of the first side's figure, of failures a difference of shares
	text             string // as given
}

var gateForm = regexp.MustCompile(`^(ttft|tpot|itl|e2el):p([0-9.]+)>([0-9.]+)%$|^failures>([0-9.]+)%$`)

// ParseGate reads a percentile of a latency and how much greater it may be (ttft:p90>5%), or by how many points the share
// of failures may be (failures>0.1%).
func ParseGate(text string) (Gate, error) {
	wrong := fmt.Errorf("%q: want ttft, tpot, itl or e2el, a percentile and by how much it may grow, such as ttft:p90>5%%, or failures>0.1%%", text)
	parts := gateForm.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if parts == nil {
		return Gate{}, wrong
	}
	g := Gate{Objective: openai.Objective{Measure: openai.Measure(parts[1])}, text: text}
	percent, errPercent := strconv.ParseFloat(parts[3]+parts[4], 64)
	g.Limit = percent / 100
	if g.Measure == "" {
		g.Measure = openai.Failures
		return g, errors.Join(errPercent)
	}
	p, err := strconv.ParseFloat(parts[2], 64)
	if g.Percentile = p; err != nil || errPercent != nil || p <= 0 || p >= 100 {
		return Gate{}, wrong
	}
	return g, nil
}

// metric is the key of the gate's column.
func (g Gate) metric() string {
	if g.Measure == openai.Failures {
		return "failure_ratio"
	}
	return fmt.Sprintf("%s_p%g", g.Measure, g.Percentile)
}

// Check returns, in words, where a figure was found to be worse by more than a gate allows, and where that cannot be told,
// as of a level that a side did not run.
func (c *Comparison) Check(gates []Gate) (worse, undecided []string) {
	if len(gates) > 0 {
		undecided = slices.Clone(c.notRun)
	}
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			for _, g := range gates {
				at := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Metric == g.metric() })
				about := fmt.Sprintf("%s, side %s against side %s, %s: ", l.Name, p.Side, p.Base, g.text)
				if at < 0 {
					undecided = append(undecided, about+"not measured")
					continue
				}
				switch r := p.Rows[at]; {
				case r.Finding == NoDifference, r.Finding == Better:
				case r.Finding != Worse, r.Change == nil:
					undecided = append(undecided, about+string(r.Finding))
				case *r.Change > g.Limit:
					worse = append(worse, about+r.text(r.column.Unit))
				}
			}
		}
	}
	return worse, undecided
}
