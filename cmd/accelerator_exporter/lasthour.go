package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

const (
	lastHourStep   = 30 * time.Second
	lastHourPoints = 120
	lineHeight     = 24.0 // of a small line, whose width is its points
)

// lastHour keeps what the landing page draws of each target.
type lastHour struct {
	mu      sync.Mutex
	targets map[string]targetHour
}

// targetHour has a value for each half minute, the newest last, NaN where nothing was known.
type targetHour struct {
	ttft        []float64 // seconds, of the last success
	utilization []float64 // 0 to 1, the mean of the cards that serve the target
}

// keepLastHour adds a point each half minute until ctx ends.
func (d *daemon) keepLastHour(ctx context.Context) {
	ticker := time.NewTicker(lastHourStep)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			d.lastHour.add(now, d.prober.Statuses(), d.targetCards.byTarget(), d.hardware.Cards())
		}
	}
}

// add gives each target a point. What is a target no more is forgotten.
func (h *lastHour) add(now time.Time, targets []probe.Status, serving map[string]map[servingCard]bool, vendors []collector.Cards) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.targets
	h.targets = map[string]targetHour{}
	appended := func(all []float64, v float64) []float64 {
		return append(slices.Clone(all[max(0, len(all)+1-lastHourPoints):]), v)
	}
	for _, s := range targets {
		ttft := math.NaN()
		isRecent := now.Sub(s.LastSuccess.At) <= time.Duration(s.Interval)+lastHourStep // a probe takes its time
		if s.Last.Failure == nil && isRecent && s.LastSuccess.TTFT > 0 {                // an answer may have no text
			ttft = s.LastSuccess.TTFT.Seconds()
		}
		hour := old[s.Name]
		h.targets[s.Name] = targetHour{appended(hour.ttft, ttft), appended(hour.utilization, meanUtilization(serving[s.Name], vendors))}
	}
}

// meanUtilization is that of the cards that show one, 0 to 1, NaN where none does.
func meanUtilization(cards map[servingCard]bool, vendors []collector.Cards) float64 {
	sum, n := 0.0, 0
	for _, v := range vendors {
		for i := range v.Devices {
			u, ok := v.Devices[i].Readings.Get("utilization_ratio")
			if ok && cards[servingCard{v.Vendor, v.Devices[i].ID}] {
				sum, n = sum+u, n+1
			}
		}
	}
	return sum / float64(n)
}

// lineView is a small line of the last hour.
type lineView struct {
	Name, Range string
	Path        string // of SVG, from 0 at the bottom to the top of a box of 120 by 24
}

// lines are those of a target that has values.
func (h *lastHour) lines(target string) (all []lineView) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hour := h.targets[target]
	add := func(name string, values []float64, top float64, text func(v float64) string) {
		known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
		if len(known) == 0 {
			return
		}
		low, high := slices.Min(known), slices.Max(known)
		all = append(all, lineView{name, text(low) + " to " + text(high), linePath(values, max(top, high))})
	}
	add("TTFT", hour.ttft, 0, func(v float64) string { return durationText(time.Duration(v * float64(time.Second))) })
	add("utilization", hour.utilization, 1, func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) })
	return all
}

// linePath ends at the right. Where nothing was known it is broken.
func linePath(values []float64, top float64) string {
	var b strings.Builder
	step := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			step = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%d %.1f", step, lastHourPoints-len(values)+i, lineHeight*(1-v/top))
		if step == "M" {
			b.WriteString("h.1") // one point alone is a dot
		}
		step = "L"
	}
	return b.String()
}
