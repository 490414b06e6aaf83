package collector

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// looker looks where the processes run that a tool lists, right after the list. asked is when the tool was started.
type looker interface {
	look(listed []model.Process, asked time.Time) host.Look
}

// hardware is one vendor's cards as a source of snapshots.
type hardware struct {
	vendor     model.Vendor
	tools      []*tool // the vendor's own, then the network tool
	looker     looker
	configured int // cards there ought to be, 0 where nobody said
	interval   time.Duration

	// Of the goroutine that polls.
	table     model.Report   // the last one
	taken     time.Time      // when it was read, zero for never
	known     []model.Device // cards of the last table, and the missing ones
	everyPoll []model.Command
	beside    map[string]outcome // of the commands beside the table, by name
	found     host.Look          // of the processes of table

	mostSeen  atomic.Int64
	announced atomic.Int64
}

// outcome is how the last call of a command beside the table went, and when it is asked again.
type outcome struct {
	err     error
	retryAt time.Time
}

func newHardware(v model.Vendor, r runner, l looker, configured int, o Options) *hardware {
	h := &hardware{vendor: v, looker: l, configured: configured, interval: o.Interval, beside: map[string]outcome{}}
	h.vendor.Table.Inventory = true // its errors are those of the tool, and a part of it is no table
	h.everyPoll = slices.DeleteFunc(slices.Clone(v.Commands), func(c model.Command) bool { return !c.EveryPoll || c.Processes && !o.Processes })
	h.addTool(r, false, v.Classify, o)
	return h
}

// addTool has the commands of a program asked.
func (h *hardware) addTool(r runner, network bool, classify model.Classifier, o Options) {
	commands := slices.DeleteFunc(slices.Clone(h.vendor.Commands), func(c model.Command) bool { return c.EveryPoll || c.Network != network || !o.wants(c) })
	h.tools = append(h.tools, newTool(commands, r, classify, o))
}

// read asks for the main table and joins it with what the other commands have answered.
func (h *hardware) read(ctx context.Context) (result[model.Snapshot], error) {
	start, c := time.Now(), h.vendor.Table
	a := h.tools[0].call(ctx, c, c.Args(model.Device{})[0], nil)
	taken, unread := time.Now(), 0
	if a.err == nil {
		unread = h.askBeside(ctx, &a.report)
		a.err = ctx.Err() // shutting down is no failure of a command
	}
	found := h.looker.look(a.report.Processes, start)
	if a.err != nil {
		return result[model.Snapshot]{}, a.err
	}
	h.table, h.taken, h.found = a.report, taken, found
	s := h.merge()
	warnings := a.report.Warnings
	h.addBesideTo(&warnings)
	warnings.Join(s.Warnings)
	return result[model.Snapshot]{value: s, taken: taken, newWarnings: a.report.Warnings.Count + unread, warnings: warnings}, nil
}

// askBeside adds to the table what its tool prints apart, and returns how many answers could not be read. What fails costs
// its own series: a poll waits for one call that hangs, and then polls do without it for a while.
func (h *hardware) askBeside(ctx context.Context, table *model.Report) (unread int) {
	for _, c := range h.everyPoll {
		if time.Now().Before(h.beside[c.Name].retryAt) {
			continue
		}
		start := time.Now()
		a := h.tools[0].call(ctx, c, c.Args(model.Device{})[0], table.Devices)
		end, retry := time.Now(), retryAfter(a.err, 0)
		if !isRefusal(a.err) { // what every poll is to have
			retry = min(retry, max(2*h.interval, backoffFactor*end.Sub(start)))
		}
		h.beside[c.Name] = outcome{a.err, end.Add(retry)}
		if failure.ReasonOf(a.err) == failure.Parse {
			unread++
		}
		table.Join(a.report)
		if failure.ReasonOf(a.err) == failure.Timeout {
			break
		}
	}
	return unread
}

// addBesideTo adds the commands beside the table that fail now. Unlike that of another command, a refusal is among them:
// with it a part of the main table is missing.
func (h *hardware) addBesideTo(warnings *model.Warnings) {
	for _, c := range h.everyPoll {
		if err := h.beside[c.Name].err; err != nil {
			warnings.Add("asking for %s: %v", c.Name, err)
		}
	}
}

// merge joins the last table with the inventories, and has the other commands asked of its cards.
func (h *hardware) merge() model.Snapshot {
	s := model.Merge(h.table, h.tools[0].inventory(), h.vendor.Resolve)
	h.found.AddTo(&s)
	h.mostSeen.Store(max(h.mostSeen.Load(), int64(s.Seen)))
	h.announced.Store(int64(s.Announced))
	shown := s.Devices[:s.Seen]
	s.Missing = model.Missing(shown, slices.Concat(s.Devices[s.Seen:], s.Missing, h.known), min(h.expected(), model.MaxDevices)-s.Seen)
	h.known = slices.Concat(shown, s.Missing)
	for _, t := range h.tools {
		t.setCards(h.table.Devices) // as printed: what inventories add comes later, and makes no other card of one
	}
	return s
}

// expected is how many cards there ought to be; 0 while nothing is known.
func (h *hardware) expected() int {
	if h.configured > 0 {
		return h.configured
	}
	return int(max(h.mostSeen.Load(), h.announced.Load()))
}
