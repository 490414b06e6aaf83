package chart

import (
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// serving are the cards that serve the endpoint; all of them where none is
// known to.
func serving(s *result.Step) []result.Card {
	if known := s.Serving(); len(known) > 0 {
		return known
	}
	return s.Cards
}

// sumOver adds up the means of a gauge. There is no sum when a card has no
// sample: it would be too small.
func sumOver(s *result.Step, of func(*result.Card) result.Gauge) float64 {
	cards := serving(s)
	if len(cards) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for i := range cards {
		g := of(&cards[i])
		if g.Samples == 0 {
			return math.NaN()
		}
		sum += g.Mean
	}
	return sum
}

func hottest(s *result.Step) float64 {
	most := math.Inf(-1)
	for _, c := range serving(s) {
		if c.Celsius.Samples > 0 {
			most = max(most, c.Celsius.Max)
		}
	}
	return most
}

func perToken(s *result.Step) float64 {
	if v, ok := s.JoulesPerToken(); ok {
		return v
	}
	return math.NaN()
}
