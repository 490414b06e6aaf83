package main

import (
	"time"
)

// loadFlags say how many requests come when.
type loadFlags struct {
	users          []int
	rates          []float64 // requests a second
	maxConcurrency int
	burstiness     float64
	burstinessSet  bool
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
	start          time.Time
}

func (l *loadFlags) register(c flagSet) {
	bind(c.Flag("concurrency", "Closed loop: number of users, who each wait for their answer; a list is a sweep. Default: 1; on a command line of vLLM's tool all requests at once."),
		users(&l.users))
	bind(c.Flag("request-rate", "Open loop: requests per second, independent of the server; a list is a sweep, inf sends all at once."), rates(&l.rates))
	c.Flag("requests", "Number of requests of each step. Default: 1000; unlimited with --duration.").IsSetByUser(&l.requestsSet).IntVar(&l.requests)
	bind(c.Flag("duration", "Duration of each step: how long it sends requests."), duration(&l.duration))
	l.registerShape(c)
	c.Flag("max-concurrency", "Maximum number of requests in flight. Without a rate it is a closed loop of that many users.").IntVar(&l.maxConcurrency)
	c.Flag("self-timed", "Send the requests of a replay at the times of its trace, which is always so.").Hidden().
		IsSetByUser(&l.selfTimedSet).BoolVar(&l.selfTimed)
	c.Flag("max-failure-ratio", "Ratio of failed requests above which the run stops with exit code 3; 0 for never.").Default("0").Float64Var(&l.maxFailures)
	c.Flag("repeat", "Number of times the whole sweep is run, for a comparison.").Default("1").IntVar(&l.repeat)
	bind(c.Flag("start-at", "Time to start at, such as 2026-03-04T05:06:07Z, so that several machines start together. Default: at once."), instant(&l.start))
}

// registerShape adds what a load has whoever chooses its levels.
func (l *loadFlags) registerShape(c flagSet) {
	bind(c.Flag("burstiness", "Burstiness of an open loop: 1 is Poisson, below 1 burstier, above 1 more even, inf constant.").
		Default("1").IsSetByUser(&l.burstinessSet), scalar(&l.burstiness, number(positive, "number above 0, nor inf")))
	c.Flag("warmup-requests", "Number of requests before each step, to warm up; they are in no figure. Default: none.").IntVar(&l.warmups)
	bind(c.Flag("ramp-up", "Duration of the ramp-up, over which users start or the rate rises; 0 for none. Default: 20ms per user, none for a rate.").
		IsSetByUser(&l.rampUpSet), duration(&l.rampUp))
	l.timeout = 10 * time.Minute
	bind(c.Flag("timeout", "Timeout of a request, such as 2m or 120 (seconds); 0 for none. Default: 10m; on a command line of evalscope-perf 30s, as there."),
		duration(&l.timeout))
	bind(c.Flag("idle-timeout", "Maximum silence of a stream after its first text. Default: none."), duration(&l.idle))
	c.Flag("seed", "Seed of prompts and gaps.").Default("0").Uint64Var(&l.seed)
}
