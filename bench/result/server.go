package result

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// samplesForMean is how many samples of the server inside a step it takes for a
// mean: two at its ends show it before and after the load.
const samplesForMean = 3

// serverTTFT is the server's own histogram of the time to the first token.
const serverTTFT = "time_to_first_token_seconds"

// serverWatch follows what the model server told of itself: vLLM's metrics of
// every version, and MindIE's, which have the same names without "vllm:".
type serverWatch struct {
	asked                      []string // names of the model that was asked for, none for any
	model                      string   // see [ServerSample.Model]
	models                     []string // see [ServerSample.Models]
	samples                    int
	running, waiting, cache    gaugeWatch
	queries, hits, preemptions counter
	ttft, tpot, itl, queue     meanCounter
	buckets                    map[float64]*counter // of the TTFT, by upper bound
}

// meanCounter follows the sum and the count of a histogram.
type meanCounter struct{ sum, count counter }

// mean is over the step, nil where the histogram did not grow or is not there.
func (c *meanCounter) mean() *Mean {
	sum, count := c.sum.delta(), c.count.delta()
	if sum == nil || count == nil || *count <= 0 {
		return nil
	}
	return &Mean{Count: int64(*count), Mean: *sum / *count}
}

func newServerWatch(window span, asked []string) *serverWatch {
	g := gaugeWatch{window: window}
	return &serverWatch{asked: asked, running: g, waiting: g, cache: g, buckets: map[float64]*counter{}}
}

// total is the sum of a metric over its label sets, such as engines.
type total struct {
	sum float64
	n   int
}

// take reads one scrape.
func (w *serverWatch) take(at int64, series []runlog.Series) {
	totals, buckets := map[string]total{}, map[float64]float64{}
	for _, s := range w.ofModel(series) {
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "vllm:"), "_total")
		if name == serverTTFT+"_bucket" {
			if le, err := strconv.ParseFloat(s.Labels["le"], 64); err == nil && !math.IsNaN(le) { // a key that is never found again
				buckets[le] += s.Value
			}
			continue
		}
		t := totals[name]
		totals[name] = total{t.sum + s.Value, t.n + 1}
	}
	w.samples++
	// Of several names the newest counts: a server that exports the old one beside
	// it tells the same twice.
	first := func(f func(total), names ...string) {
		for _, name := range names {
			if t, ok := totals[name]; ok {
				f(t)
				return
			}
		}
	}
	gauge := func(g *gaugeWatch) func(total) { return func(t total) { g.add(at, t.sum) } }
	count := func(c *counter) func(total) { return func(t total) { c.add(t.sum) } }
	first(gauge(&w.running), "num_requests_running")
	first(gauge(&w.waiting), "num_requests_waiting")
	first(func(t total) { w.cache.add(at, t.sum/float64(t.n)) }, "kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc")
	first(count(&w.queries), "prefix_cache_queries", "gpu_prefix_cache_queries")
	first(count(&w.hits), "prefix_cache_hits", "gpu_prefix_cache_hits")
	first(count(&w.preemptions), "num_preemptions")
	for _, h := range []struct {
		to    *meanCounter
		names []string
	}{
		{&w.ttft, []string{serverTTFT}},
		{&w.tpot, []string{"request_time_per_output_token_seconds"}},
		{&w.itl, []string{"inter_token_latency_seconds", "time_per_output_token_seconds"}}, // the older name is a gap's too
		{&w.queue, []string{"request_queue_time_seconds"}},
	} {
		first(count(&h.to.sum), suffixed(h.names, "_sum")...)
		first(count(&h.to.count), suffixed(h.names, "_count")...)
	}
	for le, n := range buckets {
		if w.buckets[le] == nil {
			w.buckets[le] = new(counter)
		}
		w.buckets[le].add(n)
	}
}

func suffixed(names []string, suffix string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = name + suffix
	}
	return all
}

// report is nil when the server was never sampled.
func (w *serverWatch) report(ps []float64) *ServerSample {
	if w.samples == 0 {
		return nil
	}
	s := &ServerSample{
		Model: w.model, Models: w.models,
		TPOT: w.tpot.mean(), ITL: w.itl.mean(), Queue: w.queue.mean(),
		TTFT:          w.latency(ps),
		PrefixQueries: w.queries.delta(), PrefixHits: w.hits.delta(), Preemptions: w.preemptions.delta(),
	}
	for _, g := range []struct {
		from *gaugeWatch
		to   *Gauge
	}{{&w.running, &s.Running}, {&w.waiting, &s.Waiting}, {&w.cache, &s.CacheUsage}} {
		*g.to = g.from.gauge(samplesForMean)
		s.TooFew = s.TooFew || g.from.n > 0 && g.to.Samples == 0
	}
	return s
}

// near reports whether two counts are the same within a percent, or 1.
func near(a, b float64) bool { return math.Abs(a-b) <= slack(b) }

func slack(n float64) float64 { return max(1, 0.01*n) }

// compare fills in whether the server's counts are of the requests in this report.
// The prompts of requests without a usage are not known: the server may have looked
// them up or not.
func (g *gather) compare(s *Step) {
	v := s.Server
	if v == nil {
		return
	}
	v.TTFTOurs = v.TTFT != nil && near(float64(v.TTFT.Count), float64(s.Whole.Of(TTFT).Count))
	if v.PrefixQueries != nil {
		least, most := g.prompts()
		v.PrefixOurs = least == 0 && v.TTFTOurs || least > 0 && *v.PrefixQueries >= least-slack(least) && *v.PrefixQueries <= most+slack(most)
	}
}

// prompts are the tokens of all prompts as the server's usages tell them, at least
// and at most, 0 where they tell nothing.
func (g *gather) prompts() (least, most float64) {
	if g.checks.Answered == 0 {
		return 0, 0
	}
	least = float64(g.checks.PromptTokens)
	return least, least * float64(len(g.curve.starts)) / float64(g.checks.Answered)
}

// serverWarning is about load that was not this report's. While requests of a step
// that has no end may be in flight, they may be what the server counted.
func (g *gather) serverWarning(v *ServerSample) (list words.List) {
	if v == nil || slices.ContainsFunc(g.joined.parts, func(p *section) bool { return p.end == nil }) {
		return nil
	}
	const advice = "the load was not only ours, so run when nobody else uses the server"
	if v.TTFT != nil {
		sent := float64(len(g.curve.starts))
		others := float64(v.TTFT.Count) - sent
		list.If(others > slack(sent), "The server answered %s other requests meanwhile: %s.", words.Integer(others), advice)
		return list
	}
	if _, most := g.prompts(); v.PrefixQueries != nil && most > 0 {
		others := *v.PrefixQueries - most
		list.If(others > slack(most), "The server read %s other prompt tokens meanwhile: %s.", words.Integer(others), advice)
	}
	return list
}

// latency is the histogram's growth over the step.
func (w *serverWatch) latency(ps []float64) *Distribution {
	sum, count := w.ttft.sum.delta(), w.ttft.count.delta()
	if sum == nil || count == nil {
		return nil
	}
	if *count == 0 {
		return &Distribution{}
	}
	bounds := slices.Sorted(maps.Keys(w.buckets))
	grown := make([]float64, len(bounds))
	for i, le := range bounds {
		d := w.buckets[le].delta()
		if d == nil {
			return nil
		}
		grown[i] = *d
	}
	d := &Distribution{Count: int64(*count), Mean: *sum / *count}
	if len(bounds) > 0 && grown[len(grown)-1] == *count {
		for _, p := range ps {
			d.Percentiles = append(d.Percentiles, Percentile{p, bucketQuantile(bounds, grown, p)})
		}
	}
	return d
}

// bucketQuantile is the percentile p of a cumulative histogram, on a line from one
// bound to the next as Prometheus' histogram_quantile has it; the highest finite
// bound where it is beyond that.
func bucketQuantile(bounds, cumulative []float64, p float64) float64 {
	rank := p / 100 * cumulative[len(cumulative)-1]
	i, _ := slices.BinarySearch(cumulative, rank)
	if math.IsInf(bounds[i], 1) {
		if i == 0 {
			return 0
		}
		return bounds[i-1]
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = bounds[i-1], cumulative[i-1]
	}
	if cumulative[i] == below {
		return bounds[i]
	}
	return low + (bounds[i]-low)*(rank-below)/(cumulative[i]-below)
}
