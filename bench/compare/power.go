package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// power is the share of comparisons in which the smallest detectable difference is
// found.
const power = 0.8

const (
	// simulated is up to how many pairs of runs the difference is drawn; beyond, the
	// test is near enough to its limit.
	simulated  = 400
	powerDraws = 4000
	// pitman is the efficiency of the Mann-Whitney test relative to Student's for
	// normal values (Lehmann, Nonparametrics, 2.4).
	pitman = 3 / math.Pi
)

// detectable is the smallest difference of two sides with so many runs that the test
// finds with probability [power], in standard deviations of a side's runs, for normal
// values. It is NaN where the test can find none.
//
// All pairs count the ranks: side is found above base when at least critical of the
// differences base_i − side_j lie below the shift, so the shift that it takes is one
// of those differences, and its quantile over draws is the answer. No closed form
// holds for few runs (Noether's asks for a probability above 1 at 5 and 5). The draws
// follow from the numbers alone, so that a comparison made again says the same.
func detectable(n1, n2 int) float64 {
	if !enough(n1, n2) {
		return math.NaN()
	}
	if n1*n2 > simulated {
		z := distuv.UnitNormal.Quantile(1-alpha/2) + distuv.UnitNormal.Quantile(power)
		return z * math.Sqrt((1/float64(n1)+1/float64(n2))/pitman)
	}
	k := critical(n1, n2)
	r := rand.New(rand.NewPCG(uint64(n1), uint64(n2)))
	base, side := make([]float64, n1), make([]float64, n2)
	differences := make([]float64, 0, n1*n2)
	needed := make([]float64, powerDraws)
	for i := range needed {
		for _, values := range [][]float64{base, side} {
			for j := range values {
				values[j] = r.NormFloat64()
			}
		}
		differences = differences[:0]
		for _, b := range base {
			for _, s := range side {
				differences = append(differences, b-s)
			}
		}
		slices.Sort(differences)
		needed[i] = differences[k-1]
	}
	slices.Sort(needed)
	return stat.Quantile(power, stat.Empirical, needed, nil)
}

// critical is the least U, of n1·n2 pairs those in which side is the higher, that
// the test takes for a difference: twice the share of rankings with as much or more is
// below alpha.
func critical(n1, n2 int) int {
	ways := rankings(n1, n2)
	total := 0.0
	for _, w := range ways {
		total += w
	}
	above := 0.0
	for u := len(ways) - 1; u >= 0; u-- {
		above += ways[u]
		if 2*above/total >= alpha {
			return u + 1
		}
	}
	return 0
}

// rankings counts, for each U, the ways in which n1 and n2 values without ties can be
// ranked: the coefficients of the Gaussian binomial.
func rankings(n1, n2 int) []float64 {
	ways := make([]float64, n1*n2+1)
	ways[0] = 1
	for i := 1; i <= n1; i++ {
		for u := len(ways) - 1; u >= n2+i; u-- { // times 1 − q^(n2+i)
			ways[u] -= ways[u-n2-i]
		}
		for u := i; u < len(ways); u++ { // over 1 − q^i
			ways[u] += ways[u-i]
		}
	}
	return ways
}

// spread is the standard deviation of a side's runs, pooled over both.
func spread(base, side []float64) float64 {
	freedom := len(base) + len(side) - 2
	if freedom < 1 {
		return math.NaN()
	}
	squares := 0.0
	for _, values := range [][]float64{base, side} {
		mean := stat.Mean(values, nil)
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
	}
	return math.Sqrt(squares / float64(freedom))
}
