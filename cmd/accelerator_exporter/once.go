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

// printSingle writes a line for each fact of a request.
func printSingle(out io.Writer, t probe.Target, s probe.Single) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }() // who does not read gets nothing
	fact := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	fact("target", "%s", t.Name())
	fact("url", "%s", t.URL())
	fact("api", "%s", t.API())
	if s.Model != "" {
		fact("model", "%s", s.Model)
	}
	if s.RequestID != "" {
		fact("request id", "%s", s.RequestID)
	}
	if s.Trace != nil {
		p := s.Trace.Phases
		fact("resolve", "%s", took(p.Resolve))
		fact("connect", "%s", took(p.Connect))
		fact("tls", "%s", took(p.TLS))
		fact("send", "%s", took(p.Send))
		fact("wait", "%s", until(p.Wait, "the response's headers"))
		fact("TTFT", "%s", took(s.TTFT))
		fact("TPOT", "%s", took(s.TPOT))
		if gaps := openai.ITLs(s.Trace); len(gaps) > 0 {
			mean, longest := summary(gaps)
			fact("ITL", "mean %s, max %s of %d gaps", took(mean), took(longest), len(gaps))
		}
		fact("E2E", "%s", took(s.E2E))
		if s.Trace.Usage != nil || len(s.Trace.Chunks) > 0 {
			fact("tokens", "%s", tokens(s.Trace))
		}
	}
	for _, objective := range slices.Sorted(maps.Keys(s.Missed)) {
		switch {
		case s.Missed[objective]:
			fact("slo", "%s missed", objective)
		case s.Failure == nil:
			fact("slo", "%s met", objective)
		}
	}
	if s.Failure == nil {
		fact("result", "success")
		return
	}
	fact("result", "%s", failed(s.Outcome))
	if s.Failure.Detail != "" {
		fact("detail", "%s", s.Failure.Detail)
	}
	if s.Hint != "" {
		fact("hint", "%s", s.Hint)
	}
}

// until is a duration with what it ended with.
func until(d time.Duration, end string) string {
	if d == 0 {
		return took(d)
	}
	return took(d) + " until " + end
}

// failed is a failure's reason, status and meaning.
func failed(o probe.Outcome) string {
	switch {
	case !o.Sent():
		return o.Words()
	case o.Failure.Status != 0:
		return fmt.Sprintf("%s, status %d: %s", o.Failure.Reason, o.Failure.Status, o.Words())
	}
	return fmt.Sprintf("%s: %s", o.Failure.Reason, o.Words())
}

// tokens are the server's counts, or that it told none.
func tokens(tr *openai.Trace) string {
	output, source := openai.OutputTokens(tr)
	if tr.Usage == nil || source == openai.TokensChunks {
		return fmt.Sprintf("%d chunks with text; the server told no count", output)
	}
	return fmt.Sprintf("%d prompt, %d output", tr.Usage.PromptTokens, output)
}

// summary is the mean and the longest of at least one duration.
func summary(all []time.Duration) (mean, longest time.Duration) {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all)), slices.Max(all)
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
