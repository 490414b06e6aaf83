package main

import (
	"context"
	"fmt"
	"io"
	"slices"

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

// findings are what a check found of cards and targets: a line for each, by status.
type findings [3][]string

func (f *findings) add(status int, format string, args ...any) {
	f[status] = append(f[status], fmt.Sprintf(format, args...))
}

// runCheck looks once at what is asked for, prints a line for each card and target, the worst last, and returns the exit status.
func runCheck(ctx context.Context, s *settings, targets []probe.Target, out io.Writer) int {
	var found findings
	if s.checkWhat != "targets" {
		s.checkCards(ctx, &found)
	}
	if s.checkWhat != "cards" {
		checkTargets(ctx, targets, out, s.checkWhat == "targets", &found)
	}
	if len(slices.Concat(found[:]...)) == 0 {
		found.add(checkNotKnown, "nothing to check: no vendor's tool was found, or no target is configured")
	}
	status := checkWell
	for _, next := range []int{checkWell, checkNotKnown, checkBad} {
		for _, line := range found[next] {
			fmt.Fprintln(out, line)
			status = next
		}
	}
	return status
}

// checkTargets sends one request to each target, one after the other, and prints all that it took where that is asked for.
func checkTargets(ctx context.Context, targets []probe.Target, out io.Writer, withPhases bool, found *findings) {
	for _, t := range targets {
		single := probe.Once(ctx, t)
		if withPhases {
			printSingle(out, t, single)
			fmt.Fprintln(out)
		}
		line := fmt.Sprintf("%s: %s", t.Name, result(single.Outcome))
		switch f := single.Failure; {
		case f == nil:
			found.add(checkWell, "%s, TTFT %s", line, durationText(single.TTFT))
		case !single.Sent(), ctx.Err() != nil:
			found.add(checkNotKnown, "%s (%s)", line, f.Detail)
		default:
			found.add(checkBad, "%s (%s)", line, f.Detail)
		}
	}
}

// checkCards looks once at the cards of every vendor.
func (s *settings) checkCards(ctx context.Context, found *findings) {
	options := s.collector
	options.Vendors, options.Logger = s.enabledVendors(), log.NewNopLogger()
	options.Detail, options.Processes, options.NUMA, options.PodResources = collector.DetailOff, false, false, ""
	for _, v := range s.vendors {
		isEnabled := slices.ContainsFunc(options.Vendors, func(o collector.VendorOptions) bool { return o.Name == v.Name })
		if v.ExpectedDevices > 0 && !isEnabled {
			found.add(checkBad, "%s: %d cards expected, and its tool is not found", v.Name, v.ExpectedDevices)
		}
	}
	hardware := collector.New(options)
	hardware.Look(ctx)
	for _, status := range hardware.Statuses() {
		switch {
		case status.LastReason == failure.NoDevice:
			found.add(checkBad, "%s: %s: %s", status.Collector, status.LastReason, status.LastError)
		case !status.Success:
			found.add(checkNotKnown, "%s: %s: %s", status.Collector, status.LastReason, status.LastError)
		}
	}
	for _, c := range hardware.Cards() {
		for i := range c.Devices {
			v := newCardView(&c.Devices[i])
			if v.Bad {
				found.add(checkBad, "%s %s: %s %s", c.Vendor, v.Device, v.State, c.Devices[i].Health.Reason)
				continue
			}
			found.add(checkWell, "%s %s: %s", c.Vendor, v.Device, v.State)
		}
		if c.Known && c.Seen < c.Expected {
			summary, _ := cardsSummary(c)
			found.add(checkBad, "%s: %s", c.Vendor, summary)
		}
	}
}
