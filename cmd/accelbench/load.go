package main

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// loadFlags say how many requests come when.
type loadFlags struct {
	users          []int
	rates          []float64 // requests a second
	maxConcurrency int
	burstiness     float64
	burstinessSet  bool
	rise           string
	from, to       float64 // requests a second of a rise
	fromSet, toSet bool
	requests       int
	requestsSet    bool
	warmups        int
	duration       time.Duration
	rampUp         time.Duration
	rampUpSet      bool
	selfTimed      bool
	selfTimedSet   bool
	timeout, idle  time.Duration
	maxFailures    float64 // a share of the requests
	repeat         int
	seed           uint64
	machine        string
	start          time.Time
}

func (l *loadFlags) register(c flagSet) {
	bind(c.Flag("concurrency", "Closed loop: users that each wait for their answer; a list is a sweep. Default: 1; on a command line of vLLM's tool all requests at once."),
		users(&l.users))
	c.Flag("max-concurrency", "Most requests in flight. Without a rate it is a closed loop of so many users.").IntVar(&l.maxConcurrency)
	bind(c.Flag("request-rate", "Open loop: requests a second, whatever the server does; a list is a sweep, inf sends all at once."), rates(&l.rates))
	bind(c.Flag("burstiness", "Shape of the gaps between requests: 1 is Poisson, below 1 burstier, above 1 more even, inf constant.").
		Default("1").IsSetByUser(&l.burstinessSet), one(&l.burstiness, number(positive, "number above 0, nor inf")))
	bind(c.Flag("ramp-up-strategy", "Raise the rate of an open loop from the first request to the last: linear or exponential; in place of --request-rate."),
		choice(&l.rise, "", string(runlog.RiseLinear), string(runlog.RiseExponential)))
	c.Flag("ramp-up-start-rps", "Requests a second at the first request of such a load.").IsSetByUser(&l.fromSet).Float64Var(&l.from)
	c.Flag("ramp-up-end-rps", "Requests a second at the last.").IsSetByUser(&l.toSet).Float64Var(&l.to)
	c.Flag("requests", "Requests of each step. Default: 1000, without limit if there is a --duration.").IsSetByUser(&l.requestsSet).IntVar(&l.requests)
	c.Flag("warmup-requests", "Requests before each step, to warm up: they are in no figure. Default: none.").IntVar(&l.warmups)
	bind(c.Flag("duration", "Time for which a step sends requests."), duration(&l.duration))
	bind(c.Flag("ramp-up", "Time over which users start, or the rate rises; 0 is all at once. Default: 20ms a user, none for a rate.").
		IsSetByUser(&l.rampUpSet), duration(&l.rampUp))
	c.Flag("self-timed", "Send the requests of a replay at the times of its trace, which is always so.").Hidden().
		IsSetByUser(&l.selfTimedSet).BoolVar(&l.selfTimed)
	l.timeout = 10 * time.Minute
	bind(c.Flag("timeout", "Longest duration of a request, such as 2m or 120 (seconds); 0 for none. Default: 10m; on a command line of evalscope-perf 30s, as there."),
		duration(&l.timeout))
	bind(c.Flag("idle-timeout", "Longest silence after the first text. Default: none."), duration(&l.idle))
	c.Flag("max-failure-ratio", "Stop when a larger share of the requests fails, up to 1, and exit with 3; 0 for never.").Default("0").Float64Var(&l.maxFailures)
	c.Flag("repeat", "Times the whole sweep is run, for a comparison.").Default("1").IntVar(&l.repeat)
	c.Flag("seed", "Decides prompts and gaps.").Default("0").Uint64Var(&l.seed)
	c.Flag("machine", "Name of this load generator among several of one load, whose gaps must differ. Default: JOB_COMPLETION_INDEX, else the host's name.").
		Envar("JOB_COMPLETION_INDEX").StringVar(&l.machine)
	bind(c.Flag("start-at", "When to begin, such as 2026-03-04T05:06:07Z: the machines of one load begin together. Default: at once."), instant(&l.start))
}
