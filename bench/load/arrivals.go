package load

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// never is later than any run lasts; a greater value overflows time.Duration.
const never = 100 * 365 * 24 * time.Hour

// newPacer returns what gives the instant at which each request of an open loop is due, since the start of the step.
// As in vLLM's benchmarks/serve.py, random gaps are scaled so that n requests take n/rate, or the step's duration.
func newPacer(s runlog.Step, seed uint64) func(*dataset.Prompt) time.Duration {
	ramp := s.RampUp.Seconds()
	switch s.Arrival {
	case runlog.ArrivalBurst, runlog.ArrivalClosed: // whose users wait for their answers
		return func(*dataset.Prompt) time.Duration { return 0 }
	case runlog.ArrivalReplay:
		return func(p *dataset.Prompt) time.Duration { return p.At }
	case runlog.ArrivalConstant:
		n := -1
		return func(*dataset.Prompt) time.Duration {
			n++
			return instant(float64(n)/s.Rate, ramp)
		}
	}
	planned, scale := scaled(s, seed)
	draw, n, sum := gaps(s, seed), 0, 0.0
	return func(*dataset.Prompt) time.Duration {
		if planned > 0 && n == planned {
			return never
		}
		at := instant(sum*scale, ramp)
		n++
		sum += draw()
		return at
	}
}

// scaled returns how many requests a step of random gaps has, 0 for no end, and what to multiply its gaps by.
func scaled(s runlog.Step, seed uint64) (planned int, scale float64) {
	planned, total := s.Requests, float64(s.Requests)/s.Rate
	if planned == 0 && s.Duration > 0 {
		ramp := s.RampUp.Seconds()
		total = s.Duration.Seconds() - ramp/2 // the inverse of instant
		if s.Duration < s.RampUp {
			total = math.Pow(s.Duration.Seconds(), 2) / (2 * ramp)
		}
		planned = max(1, int(math.Round(total*s.Rate)))
	}
	draw, sum := gaps(s, seed), 0.0
	for range planned {
		sum += draw()
	}
	if sum == 0 {
		return planned, 1
	}
	return planned, total / sum
}

// gaps draws the seconds between arrivals at the full rate: gamma with the burstiness
// for its shape and the mean 1/rate, of which a burstiness of 1 is Poisson.
func gaps(s runlog.Step, seed uint64) func() float64 {
	// Hashed: PCG itself would give the streams of neighboring seeds half of their state in common.
	h := sha256.Sum256(fmt.Appendf(nil, "gaps/%d", seed))
	source := rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:]))
	if s.Arrival == runlog.ArrivalPoisson {
		return distuv.Exponential{Rate: s.Rate, Src: source}.Rand
	}
	return distuv.Gamma{Alpha: s.Burstiness, Beta: s.Rate * s.Burstiness, Src: source}.Rand
}

func gapSeed(seed uint64, step int) uint64 {
	h := sha256.Sum256(fmt.Appendf(nil, "step/%d/%d", seed, step))
	return binary.BigEndian.Uint64(h[:])
}

// instant returns when a request is due that would be due after seconds at the full rate: the rate rises linearly from
// 0 over ramp seconds, in which half as many requests are due.
func instant(seconds, ramp float64) time.Duration {
	if seconds < ramp/2 {
		seconds = math.Sqrt(2 * ramp * seconds)
	} else {
		seconds += ramp / 2
	}
	return time.Duration(math.Round(min(seconds*1e9, float64(never))))
}
