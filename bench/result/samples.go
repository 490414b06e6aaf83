package result

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Gauge sums up the samples of a gauge; of a card's, several of one poll are one. Samples is 0 when there were too few.
type Gauge struct {
	Samples int     `json:"samples"`
	Mean    float64 `json:"mean"` // over time
	Max     float64 `json:"max"`
}

// point is one value of a gauge or a counter, at so many nanoseconds since 1970.
type point struct {
	at    int64
	value float64
}

// series are the values of one metric, in the order of their instants.
type series []point

// with has one value more, unless it is no number or not newer than the last.
func (s series) with(at int64, v float64) series {
	if len(s) > 0 && at <= s[len(s)-1].at || math.IsNaN(v) || math.IsInf(v, 0) {
		return s
	}
	return append(s, point{at, v})
}

type readings map[string]series

func (r readings) add(at int64, values map[string]float64) {
	for name, v := range values {
		r[name] = r[name].with(at, v)
	}
}

// gauge sums up the values inside of the window, if there are at least so many: its mean is of
// straight lines from value to value, the first one before and the last one after them.
func (s series) gauge(w span, least int) Gauge {
	s = slices.DeleteFunc(slices.Clone(s), func(p point) bool { return !w.holds(p.at) })
	if len(s) < least {
		return Gauge{}
	}
	first, last := s[0], s[len(s)-1]
	integral := first.value*span{w.from, first.at}.seconds() + last.value*span{last.at, w.to}.seconds()
	highest := first.value
	for i, b := range s[1:] {
		a := s[i]
		integral += (a.value + b.value) / 2 * span{a.at, b.at}.seconds()
		highest = max(highest, b.value)
	}
	return Gauge{Samples: len(s), Mean: w.rate(integral), Max: highest}
}

// growth is how much a counter grew; not known of less than two values, nor of a process that was started again.
func (s series) growth() Value {
	if len(s) < 2 || !slices.IsSortedFunc(s, func(a, b point) int { return cmp.Compare(a.value, b.value) }) {
		return Unknown()
	}
	return Value(s[len(s)-1].value - s[0].value)
}

// pollsForMean is how many polls inside of a window it takes for a mean.
const pollsForMean = 2

// Card is what was seen of one card during a step, by the first machine that looked.
type Card struct {
	Vendor string `json:"vendor"`
	Device string `json:"device"`
	Name   string `json:"name,omitempty"`
	// Serves reports whether the card serves the endpoint: all do where the exporter knows the cards of no target.
	Serves      bool  `json:"serves"`
	Utilization Gauge `json:"utilization"` // 0 to 1
	Watts       Gauge `json:"watts"`
	Celsius     Gauge `json:"celsius"`
	MemoryUsed  Gauge `json:"memory_used"` // bytes

	targets  map[string]bool // of the exporter's probes, which it serves
	readings readings
}

type cardID struct{ vendor, device string }

// cards are what accelerator_exporter showed during a step.
type cards struct {
	endpoint string // a host and port: the exporter's name for it among its targets
	byID     map[cardID]*Card
	targets  map[string]bool  // of the exporter's probes, of which it knows the cards
	polled   map[string]int64 // when a vendor's cards were polled last
}

// add takes one scrape. Readings are of when the card was polled where that is known, else
// of the scrape. Memory comes in one series for each of its types.
func (c *cards) add(scraped int64, all []runlog.Series) {
	sums := map[cardID]map[string]float64{}
	for _, s := range all {
		id := cardID{s.Labels["vendor"], s.Labels["device"]}
		switch {
		case s.Name == "accelerator_collector_last_success_timestamp_seconds":
			vendor := s.Labels["collector"]
			c.polled[vendor] = max(c.polled[vendor], int64(min(float64(scraped), s.Value*1e9)))
		case id.device == "" || s.Name == "accelerator_temperature_celsius" && s.Labels["sensor"] != "chip":
		case s.Name == "accelerator_probe_target_device_info":
			c.targets[s.Labels["target"]] = true
			c.card(id).targets[s.Labels["target"]] = true
		case s.Name == "accelerator_info":
			c.card(id).Name = s.Labels["name"]
		default:
			if sums[id] == nil {
				sums[id] = map[string]float64{}
			}
			sums[id][s.Name] += s.Value
		}
	}
	for id, values := range sums {
		c.card(id).readings.add(cmp.Or(c.polled[id.vendor], scraped), values)
	}
}

func (c *cards) card(id cardID) *Card {
	if c.byID[id] == nil {
		c.byID[id] = &Card{Vendor: id.vendor, Device: id.device, targets: map[string]bool{}, readings: readings{}}
	}
	return c.byID[id]
}

// report are the cards in the order of their devices, 2 before 10. A poll outside of the window says
// nothing about it. The endpoint is the target of its host and port, else the only one.
func (c *cards) report(w span) []Card {
	target := c.endpoint
	if !c.targets[target] && len(c.targets) == 1 {
		target = slices.Collect(maps.Keys(c.targets))[0]
	}
	cards := slices.SortedFunc(maps.Values(c.byID), func(a, b *Card) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor),
			cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device))
	})
	var all []Card
	for _, one := range cards {
		gauge := func(name string) Gauge { return one.readings[name].gauge(w, pollsForMean) }
		one.Serves = one.targets[target] || len(c.targets) == 0
		one.Utilization, one.Watts = gauge(Utilization), gauge(Watts)
		one.Celsius, one.MemoryUsed = gauge("accelerator_temperature_celsius"), gauge("accelerator_memory_used_bytes")
		all = append(all, *one)
	}
	return all
}

// Serving are the Cards that serve the endpoint.
func (s *Step) Serving() []Card {
	return slices.DeleteFunc(slices.Clone(s.Cards), func(c Card) bool { return !c.Serves })
}

// joules are not known where no card serves, nor where the power of one that does is not.
func (s *Step) joules() Value {
	serving, watts := s.Serving(), 0.0
	if len(serving) == 0 || slices.ContainsFunc(serving, func(c Card) bool { return c.Watts.Samples == 0 }) {
		return Unknown()
	}
	for _, c := range serving {
		watts += c.Watts.Mean
	}
	return Value(watts * s.Whole.Window.Duration().Seconds())
}

// samplesForServer is how many samples it takes for a mean: the two at the ends are before and after the load.
const samplesForServer = 3

// ServerSample is what the server's own metrics showed during a step, over all
// of its engines, as seen by the first machine that looked.
type ServerSample struct {
	Running    Gauge `json:"running"`
	Waiting    Gauge `json:"waiting"`
	CacheUsage Gauge `json:"cache_usage"` // 0 to 1
	// TTFT is the growth of the server's own histogram, nil where it has none; of it only Count and Mean are known.
	TTFT *Distribution `json:"ttft,omitempty"`
	// TTFTOurs reports whether TTFT is of as many requests as Whole.Of(TTFT), within a percent or 1: only then
	// one can be held against the other. Else others used the server too, or samples are missing.
	TTFTOurs bool `json:"ttft_ours,omitempty"`
	// PrefixQueries and PrefixHits are tokens.
	PrefixQueries Value `json:"prefix_queries,omitzero"`
	PrefixHits    Value `json:"prefix_hits,omitzero"`
	// Speculation is nil where the server drafted nothing.
	Speculation *Speculation `json:"speculation,omitempty"`
}

// Speculation is what a server drafted during a step, and what came of it.
type Speculation struct {
	Drafts         float64 `json:"drafts"`
	DraftTokens    float64 `json:"draft_tokens"`
	AcceptedTokens float64 `json:"accepted_tokens"`
	Acceptance     float64 `json:"acceptance"`           // of the draft tokens, 0 to 1
	AcceptedLength float64 `json:"mean_accepted_length"` // tokens of a draft, with the model's own behind them
}

// server is what the model server says of itself: vLLM's metrics of every version, and those without "vllm:".
type server struct {
	model  string   // that was asked for
	values readings // by name without vllm: and _total, of all engines
}

// add takes one scrape: the series of the model that was asked for where there are any, else those of all.
func (v *server) add(at int64, all []runlog.Series) {
	const modelLabel = "model_name" // in vLLM the first of the model's served names
	isServed := slices.ContainsFunc(all, func(s runlog.Series) bool { return s.Labels[modelLabel] == v.model })
	sums, engines := map[string]float64{}, map[string]float64{}
	for _, s := range all {
		if model := s.Labels[modelLabel]; isServed && model != "" && model != v.model {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "vllm:"), "_total")
		sums[name] += s.Value
		engines[name]++
	}
	for name, sum := range sums {
		if strings.HasSuffix(name, "cache_usage_perc") {
			sums[name] = sum / engines[name]
		}
	}
	v.values.add(at, sums)
}

// report is nil when the server was never sampled. answers are the requests of this program that have a TTFT.
func (v *server) report(w span, answers int64) *ServerSample {
	if len(v.values) == 0 {
		return nil
	}
	// first are the values by the first name that there is: an older one beside it tells the same twice.
	first := func(names ...string) series {
		i := slices.IndexFunc(names, func(name string) bool { return len(v.values[name]) > 0 })
		return v.values[names[max(0, i)]]
	}
	s := &ServerSample{
		Running:       first("num_requests_running").gauge(w, samplesForServer),
		Waiting:       first("num_requests_waiting").gauge(w, samplesForServer),
		CacheUsage:    first("kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc").gauge(w, samplesForServer),
		PrefixQueries: first("prefix_cache_queries", "gpu_prefix_cache_queries").growth(),
		PrefixHits:    first("prefix_cache_hits", "gpu_prefix_cache_hits").growth(),
	}
	sum, count := first("time_to_first_token_seconds_sum").growth(), first("time_to_first_token_seconds_count").growth()
	if count > 0 && sum.Known() {
		s.TTFT = &Distribution{Count: int64(count), Mean: float64(sum / count), MeanError: Unknown()}
		s.TTFTOurs = math.Abs(float64(s.TTFT.Count-answers)) <= max(1, 0.01*float64(answers))
	}
	drafts, tokens := first("spec_decode_num_drafts").growth(), first("spec_decode_num_draft_tokens").growth()
	accepted := first("spec_decode_num_accepted_tokens").growth()
	if drafts > 0 && tokens > 0 && accepted >= 0 {
		s.Speculation = &Speculation{
			Drafts: float64(drafts), DraftTokens: float64(tokens), AcceptedTokens: float64(accepted),
			Acceptance: float64(accepted / tokens), AcceptedLength: float64(1 + accepted/drafts),
		}
	}
	return s
}
