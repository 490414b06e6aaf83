package result

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// samplesForServer is how many samples of the server inside of a step it takes for a
	// mean: two at its ends show it before and after the load.
	samplesForServer = 3
	// serverTTFT is the server's own histogram of the time to the first token.
	serverTTFT = "time_to_first_token_seconds"
	// modelLabel says which model a series of vLLM is of, by the first of its served names.
	modelLabel = "model_name"
)

// server is what the model server told of itself: vLLM's metrics of every version, and
// MindIE's, which have the same names without "vllm:".
type server struct {
	asked   []string // names of the model that was asked for, none for any
	model   string   // see [ServerSample.Model]
	samples int
	values  map[string]*series  // by name without vllm: and _total, of all engines
	buckets map[float64]*series // of the TTFT, by upper bound
}

func newServer(run runlog.Run) *server {
	asked := slices.DeleteFunc([]string{run.Model, run.ModelPath}, func(name string) bool { return name == "" })
	return &server{asked: asked, values: map[string]*series{}, buckets: map[float64]*series{}}
}

// add takes one scrape.
func (v *server) add(at int64, all []runlog.Series) {
	v.samples++
	sums, engines, buckets := map[string]float64{}, map[string]float64{}, map[float64]float64{}
	for _, s := range v.ofModel(all) {
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "vllm:"), "_total")
		if name == serverTTFT+"_bucket" {
			if le, err := strconv.ParseFloat(s.Labels["le"], 64); err == nil && !math.IsNaN(le) {
				buckets[le] += s.Value
			}
			continue
		}
		sums[name] += s.Value
		engines[name]++
	}
	for name, sum := range sums {
		if strings.HasSuffix(name, "cache_usage_perc") {
			sum /= engines[name]
		}
		addTo(v.values, name, at, sum)
	}
	for le, n := range buckets {
		addTo(v.buckets, le, at, n)
	}
}

func addTo[K comparable](all map[K]*series, key K, at int64, v float64) {
	if all[key] == nil {
		all[key] = new(series)
	}
	all[key].add(at, v)
}

// ofModel are the series of the model that was asked for, by one of the names it is known
// by. The only model of a server is that one, whatever it is called; of several that are
// all called otherwise it is none. What carries no name is of all.
func (v *server) ofModel(all []runlog.Series) []runlog.Series {
	served := map[string]bool{}
	for _, s := range all {
		if name := s.Labels[modelLabel]; name != "" {
			served[name] = true
		}
	}
	asked := slices.IndexFunc(v.asked, func(name string) bool { return served[name] })
	only := slices.Collect(maps.Keys(served))
	name := ""
	switch {
	case len(served) == 0 || len(v.asked) == 0:
		return all
	case asked >= 0:
		name = v.asked[asked]
	case len(only) == 1:
		name, v.model = only[0], only[0]
	}
	return slices.DeleteFunc(slices.Clone(all), func(s runlog.Series) bool {
		of := s.Labels[modelLabel]
		return of != "" && of != name
	})
}

// first are the values by the first of several names that there are any of: a server that
// exports an older name beside the newer one tells the same twice.
func (v *server) first(names ...string) series {
	for _, name := range names {
		if s := v.values[name]; s != nil {
			return *s
		}
	}
	return nil
}

// mean is that of a histogram's growth, nil where it did not grow or is not there.
func (v *server) mean(names ...string) *Mean {
	var sums, counts []string
	for _, name := range names {
		sums, counts = append(sums, name+"_sum"), append(counts, name+"_count")
	}
	sum, count := v.first(sums...).growth(), v.first(counts...).growth()
	if sum == nil || count == nil || *count <= 0 {
		return nil
	}
	return &Mean{Count: int64(*count), Mean: *sum / *count}
}

// report is nil when the server was never sampled.
func (v *server) report(w span, percentiles []float64) *ServerSample {
	if v.samples == 0 {
		return nil
	}
	s := &ServerSample{
		Model:         v.model,
		TTFT:          v.ttft(percentiles),
		TPOT:          v.mean("request_time_per_output_token_seconds"),
		ITL:           v.mean("inter_token_latency_seconds", "time_per_output_token_seconds"), // the older name is a gap's too
		Queue:         v.mean("request_queue_time_seconds"),
		PrefixQueries: v.first("prefix_cache_queries", "gpu_prefix_cache_queries").growth(),
		PrefixHits:    v.first("prefix_cache_hits", "gpu_prefix_cache_hits").growth(),
		Preemptions:   v.first("num_preemptions").growth(),
	}
	s.Running = v.first("num_requests_running").gauge(w, samplesForServer)
	s.Waiting = v.first("num_requests_waiting").gauge(w, samplesForServer)
	s.CacheUsage = v.first("kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc").gauge(w, samplesForServer)
	return s
}

// ttft is the histogram's growth over the step.
func (v *server) ttft(percentiles []float64) *Distribution {
	sum, count := v.first(serverTTFT+"_sum").growth(), v.first(serverTTFT+"_count").growth()
	if sum == nil || count == nil {
		return nil
	}
	if *count == 0 {
		return &Distribution{}
	}
	d := &Distribution{Count: int64(*count), Mean: *sum / *count}
	bounds := slices.Sorted(maps.Keys(v.buckets))
	grown := make([]float64, len(bounds))
	for i, le := range bounds {
		growth := v.buckets[le].growth()
		if growth == nil {
			return nil
		}
		grown[i] = *growth
	}
	if len(bounds) > 0 && grown[len(grown)-1] == *count {
		for _, p := range percentiles {
			d.Percentiles = append(d.Percentiles, Percentile{p, bucketQuantile(bounds, grown, p)})
		}
	}
	return d
}

// bucketQuantile is the percentile p of a cumulative histogram, on a line from one bound to
// the next as Prometheus' histogram_quantile has it; the highest finite bound beyond that.
func bucketQuantile(bounds, cumulative []float64, p float64) float64 {
	rank := p / 100 * cumulative[len(cumulative)-1]
	i, _ := slices.BinarySearch(cumulative, rank)
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = bounds[i-1], cumulative[i-1]
	}
	if math.IsInf(bounds[i], 1) {
		return low
	}
	if cumulative[i] == below {
		return bounds[i]
	}
	return low + (bounds[i]-low)*(rank-below)/(cumulative[i]-below)
}

// compare fills in whether the server's counts are of the requests in this report: within
// a percent, or 1.
func (v *ServerSample) compare(requests, answered int, c *Checks) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= max(1, 0.01*b) }
	v.TTFTOurs = v.TTFT != nil && near(float64(v.TTFT.Count), float64(answered))
	if v.PrefixQueries == nil {
		return
	}
	if c.Answered == 0 { // no usage tells how long the prompts were
		v.PrefixOurs = v.TTFTOurs
		return
	}
	least := float64(c.PromptTokens)
	most := least * float64(requests) / float64(c.Answered)
	q := *v.PrefixQueries
	v.PrefixOurs = near(q, least) || near(q, most) || least < q && q < most
}
