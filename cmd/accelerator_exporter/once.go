package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// probeOnce sends one request to each target, one after the other, prints what it
// cost, and returns the exit status: 0 when all went well, 1 when one did not.
func probeOnce(ctx context.Context, targets []probe.Target, out io.Writer) int {
	status := 0
	if len(targets) == 0 {
		fmt.Fprintln(out, "no target: the configuration has none")
		status = 1
	}
	for i, t := range targets {
		if i > 0 {
			fmt.Fprintln(out)
		}
		single := probe.Once(ctx, t)
		printSingle(out, t, single)
		if single.Failure != nil {
			status = 1
		}
		if ctx.Err() != nil {
			return 1
		}
	}
	return status
}

// printSingle writes a line for each fact of a request that is known.
func printSingle(out io.Writer, t probe.Target, s probe.Single) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }() // who does not read gets nothing
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	fact("target", t.Name())
	fact("url", t.URL().String())
	fact("api", string(t.API()))
	fact("model", s.Model)
	fact("request id", s.RequestID)
	if s.Trace != nil {
		p, wait := s.Trace.Phases, ""
		if p.Wait != 0 {
			wait = " until the response's headers"
		}
		fact("resolve", took(p.Resolve))
		fact("connect", took(p.Connect))
		fact("tls", took(p.TLS))
		fact("send", took(p.Send))
		fact("wait", took(p.Wait)+wait)
		fact("TTFT", took(s.TTFT))
		fact("TPOT", took(s.TPOT))
		fact("ITL", gaps(openai.ITLs(s.Trace)))
		fact("E2E", took(s.E2E))
		fact("tokens", tokens(s.Trace))
	}
	for _, objective := range slices.Sorted(maps.Keys(s.Missed)) {
		switch {
		case s.Missed[objective]:
			fact("slo", objective+" missed")
		case s.Failure == nil:
			fact("slo", objective+" met")
		}
	}
	fact("result", result(s.Outcome))
	if s.Failure != nil {
		fact("detail", s.Failure.Detail)
	}
	fact("hint", s.Hint)
}

// result is how a probe ended: of a failure the reason, status and meaning.
func result(o probe.Outcome) string {
	switch {
	case o.Failure == nil, !o.Sent():
		return o.Words()
	case o.Failure.Status != 0:
		return fmt.Sprintf("%s, status %d: %s", o.Failure.Reason, o.Failure.Status, o.Words())
	}
	return fmt.Sprintf("%s: %s", o.Failure.Reason, o.Words())
}

// tokens are the server's counts, or that it told none; empty without either.
func tokens(tr *openai.Trace) string {
	output, source := openai.OutputTokens(tr)
	switch {
	case tr.Usage == nil && len(tr.Chunks) == 0:
		return ""
	case tr.Usage == nil || source == openai.TokensChunks:
		return fmt.Sprintf("%d chunks with text; the server told no count", output)
	}
	return fmt.Sprintf("%d prompt, %d output", tr.Usage.PromptTokens, output)
}

// gaps are the mean and the longest of some durations, empty for none.
func gaps(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return fmt.Sprintf("mean %s, max %s of %d gaps", took(sum/time.Duration(len(all))), took(slices.Max(all)), len(all))
}

// took is a duration with the digits that a reader compares, "-" for none.
func took(d time.Duration) string {
	const ms = time.Millisecond
	switch {
	case d == 0:
		return "-"
	case d < 10*ms:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(ms))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(ms))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
