package page

import (
	"math"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// none stands for what is not known.
const none = "–"

// number has as many digits as the text reports give, and two of those that
// count when it is small.
func number(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case a == 0:
	case a < 0.1:
		digits = min(1-int(math.Floor(math.Log10(a))), 9)
	case a < 10:
		digits = 2
	case a < 1000:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func percent(share float64) string { return number(100*share) + " %" }

func count[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// duration is empty for 0.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'g', -1, 64) }

// unit is what a distribution is shown in: how many there are in what it holds.
type unit float64

const (
	milliseconds unit = 1000
	seconds      unit = 1
)

func (u unit) name() string {
	if u == milliseconds {
		return "ms"
	}
	return "s"
}

func at(d report.Distribution, p float64, u unit) string {
	if v, ok := d.At(p); ok && d.Count > 0 {
		return number(v * float64(u))
	}
	return none
}

func meanOf(d report.Distribution) string {
	if d.Count == 0 {
		return none
	}
	return number(d.Mean)
}
