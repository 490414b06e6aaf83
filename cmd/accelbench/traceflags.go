package main

import (
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// timedTrace is vLLM's name for a replay, and what it takes a record to be.
const (
	timedTrace       = "timed_trace"
	timedTraceSecond = 1
	timedTraceBlock  = 16
)

// traceFlags say how the records of a replay are read.
type traceFlags struct {
	second                 float64 // seconds of one unit
	secondSet              bool
	block                  int // tokens
	blockSet               bool
	at, input, output, ids string // keys
}

func (t *traceFlags) register(c flagSet) {
	c.Flag("timed-trace-sec-multiplier", "Seconds that one unit of a replay's timestamps is. Default: 0.001; 1 for --dataset-name timed_trace, as vLLM's tool has it.").
		IsSetByUser(&t.secondSet).Float64Var(&t.second)
	c.Flag("timed-trace-chunk-hash-size", "Tokens of a block that one of a replay's hash ids names. Default: 512; 16 for --dataset-name timed_trace.").
		IsSetByUser(&t.blockSet).IntVar(&t.block)
	for _, key := range []struct {
		flag, name string
		into       *string
	}{
		{"timestamp", "timestamp", &t.at},
		{"input-length", "input_length", &t.input},
		{"output-length", "output_length", &t.output},
		{"hash-ids", "hash_ids", &t.ids},
	} {
		c.Flag("timed-trace-label-"+key.flag, "Key of a replay's records that holds the "+key.flag+".").Hidden().Default(key.name).StringVar(key.into)
	}
}

// config is the layout of the records of a data set that the command line calls kind.
func (t *traceFlags) config(kind string) (dataset.Trace, error) {
	trace := dataset.Trace{Timestamp: t.at, InputLength: t.input, OutputLength: t.output, HashIDs: t.ids}
	if slices.Contains([]string{timedTrace, "timed-trace"}, kind) {
		trace.Second, trace.Block = timedTraceSecond, timedTraceBlock
	}
	if t.secondSet {
		if !(t.second > 0) {
			return trace, fmt.Errorf("--timed-trace-sec-multiplier must be above 0")
		}
		trace.Second = t.second
	}
	if t.blockSet {
		if t.block < 1 {
			return trace, fmt.Errorf("--timed-trace-chunk-hash-size must be at least 1")
		}
		trace.Block = t.block
	}
	return trace, nil
}
