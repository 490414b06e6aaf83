package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// The exit statuses of a check, which are those that Node Problem Detector's plugins have.
const (
	checkWell = iota
	checkBad
	checkNotKnown
)

// finding is what a check found of a card or a target.
type finding struct {
	status int
	line   string
}

// runCheck looks once at what is asked for, prints a line for each card and target, the worst last, and returns the exit status.
func runCheck(ctx context.Context, s *settings, targets []probe.Target, out io.Writer) int {
	var all []finding
	if s.checkWhat != "targets" {
		all = s.checkCards(ctx)
	}
	if s.checkWhat != "cards" {
		all = append(all, checkTargets(ctx, targets, out, s.checkWhat == "targets")...)
	}
	if len(all) == 0 {
		all = []finding{{checkNotKnown, "nothing to check: no vendor's tool was found, or no target is configured"}}
	}
	rank := map[int]int{checkWell: 0, checkNotKnown: 1, checkBad: 2}
	slices.SortStableFunc(all, func(a, b finding) int { return rank[a.status] - rank[b.status] })
	for _, f := range all {
		fmt.Fprintln(out, f.line)
	}
	return all[len(all)-1].status
}

// checkTargets sends one request to each target, one after the other, and prints all that it took where that is asked for.
func checkTargets(ctx context.Context, targets []probe.Target, out io.Writer, withPhases bool) (all []finding) {
	for _, t := range targets {
		single := probe.Once(ctx, t)
		if withPhases {
			printSingle(out, t, single)
			fmt.Fprintln(out)
		}
		f := finding{checkBad, fmt.Sprintf("%s: %s", t.Name(), result(single.Outcome))}
		switch {
		case single.Failure == nil:
			f = finding{checkWell, fmt.Sprintf("%s, TTFT %s", f.line, took(single.TTFT))}
		case !single.Sent(), ctx.Err() != nil:
			f.status = checkNotKnown
		}
		if single.Failure != nil && single.Failure.Detail != "" {
			f.line = fmt.Sprintf("%s (%s)", f.line, single.Failure.Detail)
		}
		all = append(all, f)
	}
	return all
}

// checkCards looks once at the cards of every vendor.
func (s *settings) checkCards(ctx context.Context) (all []finding) {
	options := s.collector
	options.Vendors, options.Logger = s.enabledVendors(), log.NewNopLogger()
	options.Detail, options.Processes, options.NUMA, options.PodResources = collector.DetailOff, false, false, ""
	hardware := collector.New(options)
	hardware.Look(ctx)
	for _, status := range hardware.Statuses() {
		f := finding{checkNotKnown, fmt.Sprintf("%s: %s: %s", status.Collector, status.LastReason, status.LastError)}
		if status.LastReason == failure.NoDevice {
			f.status = checkBad
		}
		if !status.Success {
			all = append(all, f)
		}
	}
	for _, c := range hardware.Cards() {
		for i := range c.Devices {
			v := newCardView(&c.Devices[i])
			f := finding{checkWell, fmt.Sprintf("%s %s: %s", c.Vendor, v.Device, v.State)}
			if v.Bad {
				f = finding{checkBad, strings.TrimSuffix(f.line+": "+c.Devices[i].Health.Reason, ": ")}
			}
			all = append(all, f)
		}
		if c.Known && c.Seen < c.Expected {
			summary, _ := cardsSummary(c)
			all = append(all, finding{checkBad, fmt.Sprintf("%s: %s", c.Vendor, summary)})
		}
	}
	return all
}
