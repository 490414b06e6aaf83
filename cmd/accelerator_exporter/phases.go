package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// printSingle writes a line for each fact of a request that is known.
func printSingle(out io.Writer, t probe.Target, s probe.Single) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = w.Flush() }()
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	line("target", t.Name)
	line("url", t.Base.String())
	line("api", string(t.API))
	line("model", s.Model)
	line("request id", s.RequestID)
	if s.Trace != nil {
		p := s.Trace.Phases
		line("resolve", durationText(p.Resolve))
		line("connect", durationText(p.Connect))
		line("tls", durationText(p.TLS))
		line("send", durationText(p.Send))
		line("wait", durationText(p.Wait))
		line("TTFT", durationText(s.TTFT))
		line("TPOT", durationText(s.TPOT))
		line("ITL", gaps(openai.ITLs(s.Trace)))
		line("E2E", durationText(s.E2E))
		line("tokens", tokens(s.Trace))
	}
	for _, objective := range slices.Sorted(maps.Keys(s.Missed)) {
		if s.Missed[objective] {
			line("slo", objective+" missed")
		} else if s.Failure == nil {
			line("slo", objective+" met")
		}
	}
	line("result", result(s.Outcome))
	if s.Failure != nil {
		line("detail", s.Failure.Detail)
	}
	line("hint", s.Hint)
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

// tokens are the server's counts, or that it sent none; empty without either.
func tokens(tr *openai.Trace) string {
	output, source := openai.OutputTokens(tr)
	switch {
	case tr.Usage == nil && len(tr.Chunks) == 0:
		return ""
	case tr.Usage == nil || source == openai.TokensChunks:
		return fmt.Sprintf("%d chunks with a token; the server sent no token count", output)
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
	return fmt.Sprintf("mean %s, max %s of %d gaps", durationText(sum/time.Duration(len(all))), durationText(slices.Max(all)), len(all))
}

// durationText is a duration in ms or, from a second on, in s; "-" for none.
func durationText(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
