package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const (
	pollEvery  = 10 // seconds: what the tools print changes no faster
	probeEvery = 30 // seconds
	tokens     = 64 // of each probe's answer
	history    = 50 // probes before the first scrape, so that histograms are not empty
	wave       = 1200.0
)

// host is one host of the fleet: a real exporter's exposition, whose values move.
type host struct {
	kind  []*dto.MetricFamily
	start time.Time
	clock func() float64 // seconds on this host since the start
	age   float64        // seconds it had been up at the start
	phase float64        // of its wave of users
	seed  uint64
	// labels replaces those that no two hosts share.
	labels map[*dto.Metric][]*dto.LabelPair

	mu         sync.Mutex
	random     *rand.Rand
	probes     int // so far
	filling    []filling
	histograms map[*dto.Metric]prometheus.Histogram
}

// filling is a histogram that probes fill.
type filling struct {
	histogram prometheus.Histogram
	mean      float64
	samples   int // of each probe
}

func newHost(number int, kind []*dto.MetricFamily, start time.Time, clock func() float64) *host {
	random := rand.New(rand.NewPCG(uint64(number), 7)) //nolint:gosec // the same fleet each time
	h := &host{
		kind: kind, start: start, clock: clock, random: random, seed: uint64(number),
		age: random.Float64() * 7 * 24 * 3600, phase: random.Float64(),
		labels:     make(map[*dto.Metric][]*dto.LabelPair),
		histograms: make(map[*dto.Metric]prometheus.Histogram),
	}
	for _, family := range kind {
		for _, metric := range family.GetMetric() {
			if own, changed := ownLabels(metric.GetLabel(), number); changed {
				h.labels[metric] = own
			}
			if metric.Histogram != nil {
				h.addHistogram(family.GetName(), metric)
			}
		}
	}
	for range history {
		h.probe(0)
	}
	return h
}

// ownLabels gives a host's cards and processes identities of their own.
func ownLabels(labels []*dto.LabelPair, number int) ([]*dto.LabelPair, bool) {
	changed := false
	own := slices.Clone(labels)
	for i, label := range own {
		value := label.GetValue()
		switch label.GetName() {
		case "uuid":
			if len(value) > 8 {
				value = fmt.Sprintf("%s%08x", value[:len(value)-8], hash(uint64(number), value)&math.MaxUint32)
			}
		case "pid":
			value = strconv.FormatUint(1000+hash(uint64(number), value)%4_000_000, 10)
		}
		if value != label.GetValue() {
			own[i] = &dto.LabelPair{Name: label.Name, Value: &value}
			changed = true
		}
	}
	return own, changed
}

// addHistogram makes an empty histogram with the captured one's buckets, and
// native ones where it has them, with the exporter's options.
func (h *host) addHistogram(name string, metric *dto.Metric) {
	captured := metric.GetHistogram()
	var bounds []float64
	for _, bucket := range captured.GetBucket() {
		if !math.IsInf(bucket.GetUpperBound(), 1) {
			bounds = append(bounds, bucket.GetUpperBound())
		}
	}
	opts := prometheus.HistogramOpts{Name: name, Help: name, Buckets: bounds}
	if captured.Schema != nil {
		opts.NativeHistogramBucketFactor, opts.NativeHistogramMaxBucketNumber = 1.1, 160
	}
	h.histograms[metric] = prometheus.NewHistogram(opts)
	if captured.GetSampleCount() == 0 {
		return // it stays empty
	}
	samples := 1
	if strings.Contains(name, "inter_token_latency") || strings.Contains(name, "client_lag") {
		samples = tokens - 1
	}
	h.filling = append(h.filling, filling{
		histogram: h.histograms[metric],
		mean:      captured.GetSampleSum() / float64(captured.GetSampleCount()),
		samples:   samples,
	})
}

// load is how busy the host is, 0 to 1: a slow wave, as users come and go.
func (h *host) load(at float64) float64 {
	return 0.5 + 0.5*math.Sin(2*math.Pi*(at/wave+h.phase))
}

// probe lets one probe happen.
func (h *host) probe(at float64) {
	slow := (0.6 + 0.8*h.load(at)) * math.Exp(0.2*h.random.NormFloat64())
	for _, f := range h.filling {
		for range f.samples {
			f.histogram.Observe(f.mean * slow * math.Exp(0.3*h.random.NormFloat64()))
		}
	}
	h.probes++
}

// Gather implements prometheus.Gatherer: one scrape.
func (h *host) Gather() ([]*dto.MetricFamily, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.clock()
	for float64(h.probes-history) < at/probeEvery {
		h.probe(at)
	}
	families := make([]*dto.MetricFamily, 0, len(h.kind))
	for _, family := range h.kind {
		moved := &dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type, Unit: family.Unit}
		for i, metric := range family.GetMetric() {
			m, err := h.move(family.GetName(), metric, at, hash(h.seed, family.GetName())+uint64(i)*977)
			if err != nil {
				return nil, err
			}
			moved.Metric = append(moved.Metric, m)
		}
		families = append(families, moved)
	}
	return families, nil
}

// move copies a captured metric with the value of this moment.
func (h *host) move(name string, metric *dto.Metric, at float64, seed uint64) (*dto.Metric, error) {
	m := &dto.Metric{Label: metric.Label}
	if own, ok := h.labels[metric]; ok {
		m.Label = own
	}
	switch {
	case metric.Histogram != nil:
		written := new(dto.Metric)
		if err := h.histograms[metric].Write(written); err != nil {
			return nil, err
		}
		m.Histogram = written.GetHistogram()
	case metric.Counter != nil:
		value := h.counter(name, metric.GetCounter().GetValue(), at, seed)
		m.Counter = &dto.Counter{Value: &value}
	case metric.Gauge != nil:
		value := h.gauge(name, metric.GetGauge().GetValue(), at, seed)
		m.Gauge = &dto.Gauge{Value: &value}
	default: // untyped totals, go_gc_duration_seconds
		m.Untyped, m.Summary = metric.GetUntyped(), metric.GetSummary()
	}
	return m, nil
}

// hash is a number that looks random and is the same each time.
func hash(seed uint64, text string) uint64 {
	sum := fnv.New64a()
	fmt.Fprint(sum, seed, " ", text)
	return sum.Sum64()
}

// noise is -1 to 1, the same for the same seed and step.
func noise(seed uint64, step float64) float64 {
	return 2*rand.New(rand.NewPCG(seed, math.Float64bits(math.Floor(step)))).Float64() - 1 //nolint:gosec // the same each time
}
