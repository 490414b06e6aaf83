package result

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// samplesForServer is how many samples of the server inside of a step it takes for a
	// mean: two at its ends show it before and after the load.
	samplesForServer = 3
	// modelLabel says which model a series of vLLM is of, by the first of its served names.
	modelLabel = "model_name"
)

// server is what the model server told of itself: vLLM's metrics of every version, and
// MindIE's, which have the same names without "vllm:".
type server struct {
	asked   []string // names of the model that was asked for, none for any
	model   string   // see [ServerSample.Model]
	samples int
	values  readings // by name without vllm: and _total, of all engines
}

func newServer(run runlog.Run) *server {
	asked := slices.DeleteFunc([]string{run.Model, run.ModelPath}, func(name string) bool { return name == "" })
	return &server{asked: asked, values: readings{}}
}

// add takes one scrape.
func (v *server) add(at int64, all []runlog.Series) {
	v.samples++
	sums, engines := map[string]float64{}, map[string]float64{}
	for _, s := range v.ofModel(all) {
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "vllm:"), "_total")
		sums[name] += s.Value
		engines[name]++
	}
	for name, sum := range sums {
		if strings.HasSuffix(name, "cache_usage_perc") {
			sum /= engines[name]
		}
		sums[name] = sum
	}
	v.values.add(at, sums)
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

// mean is that of a histogram's growth, nil where it did not grow or is not there.
func (v *server) mean(names ...string) *Mean {
	var sums, counts []string
	for _, name := range names {
		sums, counts = append(sums, name+"_sum"), append(counts, name+"_count")
	}
	sum, count := v.values.first(sums...).growth(), v.values.first(counts...).growth()
	if sum == nil || count == nil || *count <= 0 {
		return nil
	}
	return &Mean{Count: int64(*count), Mean: *sum / *count}
}

// report is nil when the server was never sampled.
func (v *server) report(w span) *ServerSample {
	if v.samples == 0 {
		return nil
	}
	s := &ServerSample{
		Model:         v.model,
		TPOT:          v.mean("request_time_per_output_token_seconds"),
		ITL:           v.mean("inter_token_latency_seconds", "time_per_output_token_seconds"), // the older name is a gap's too
		Queue:         v.mean("request_queue_time_seconds"),
		PrefixQueries: v.values.first("prefix_cache_queries", "gpu_prefix_cache_queries").growth(),
		PrefixHits:    v.values.first("prefix_cache_hits", "gpu_prefix_cache_hits").growth(),
		Preemptions:   v.values.first("num_preemptions").growth(),
	}
	if m := v.mean("time_to_first_token_seconds"); m != nil {
		s.TTFT = &Distribution{Count: m.Count, Mean: m.Mean}
	}
	s.Running = v.values.first("num_requests_running").gauge(w, samplesForServer)
	s.Waiting = v.values.first("num_requests_waiting").gauge(w, samplesForServer)
	s.CacheUsage = v.values.first("kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc").gauge(w, samplesForServer)
	return s
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
