package load

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// offsets yields when the requests of a step without given instants are due,
// since its start, ascending; the first at 0. There are Step.Requests of them, or
// no end. Each is reckoned from the start, so that no error adds up.
func offsets(s runlog.Step, seed uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		sum, gap := 0.0, gaps(s, seed)
		for n := 0; s.Requests == 0 || n < s.Requests; n++ {
			at := sum
			if s.Arrival == runlog.ArrivalConstant { // without the error of a sum
				at = float64(n) / s.Rate
			}
			if !yield(duration(ramped(at, s.RampUp.Seconds()))) {
				return
			}
			sum += gap()
		}
	}
}

// gaps draws the seconds between arrivals at the full rate.
func gaps(s runlog.Step, seed uint64) func() float64 {
	// A seed is hashed into the whole state: PCG itself would give the streams of
	// neighboring seeds one half of it in common.
	h := sha256.Sum256(fmt.Appendf(nil, "gaps/%d", seed))
	source := rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:]))
	return processes()[s.Arrival].gaps(s, source)
}

// ramped maps an instant of a process at its full rate to one whose rate rises
// in a line from 0 to the full one over ramp, all in seconds: as many requests are
// due until ramp as would be in its second half at the full rate.
func ramped(at, ramp float64) float64 {
	if at < ramp/2 {
		return math.Sqrt(2 * ramp * at)
	}
	return at + ramp/2
}

// duration bounds what no run lives to see: a longer one would overflow.
func duration(seconds float64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(math.Round(min(seconds*1e9, float64(century))))
}
