package collector

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/vendor"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// runner runs one command of a tool and waits for its end.
type runner interface {
	Run(ctx context.Context, args ...string) (command.Output, error)
	Stuck() int
}

// locator finds a card's NUMA node where the tool's topology does not tell.
type locator interface {
	locate(devices []model.Device)
}

// hardware is one vendor's tool as a source of snapshots.
type hardware struct {
	vendor    vendor.Vendor
	runner    runner
	locator   locator
	inventory time.Duration
	retry     time.Duration // until a failed side command is asked again
	sides     []side
	mostSeen  atomic.Int64
	announced atomic.Int64
}

// side is what a side command told last, and when to ask it again.
type side struct {
	report model.Report
	known  bool
	due    time.Time
}

func newHardware(v vendor.Vendor, r runner, l locator, o Options) *hardware {
	return &hardware{
		vendor:    v,
		runner:    r,
		locator:   l,
		inventory: o.InventoryInterval,
		retry:     max(o.Interval, o.InventoryInterval/5),
		sides:     make([]side, len(v.Sides)),
	}
}

func (h *hardware) stuck() int { return h.runner.Stuck() }

// read asks for the main table and publishes it with what the side commands
// told before; then it asks the side commands that are due, so that a slow one
// delays nobody but itself.
func (h *hardware) read(ctx context.Context, publish func(model.Snapshot, []string)) error {
	table, warnings, err := h.ask(ctx, h.vendor.Table)
	if err != nil {
		return err
	}
	warnings = append(warnings, table.Warnings...)
	snapshot := h.merge(table)
	if !h.sidesDue() {
		publish(snapshot, append(warnings, snapshot.Warnings...))
		return nil
	}
	publish(snapshot, warnings)
	warnings = h.askSides(ctx)
	snapshot = h.merge(table)
	publish(snapshot, append(warnings, snapshot.Warnings...))
	return nil
}

func (h *hardware) sidesDue() bool {
	now := time.Now()
	return slices.ContainsFunc(h.sides, func(s side) bool { return !now.Before(s.due) })
}

func (h *hardware) merge(table model.Report) model.Snapshot {
	var reports []model.Report
	for _, s := range h.sides {
		if s.known {
			reports = append(reports, s.report)
		}
	}
	s := model.Merge(table, reports, h.vendor.Resolve)
	h.locator.locate(s.Devices)
	h.mostSeen.Store(max(h.mostSeen.Load(), int64(s.Seen)))
	h.announced.Store(int64(s.Announced))
	return s
}

func (h *hardware) askSides(ctx context.Context) (warnings []string) {
	for i, q := range h.vendor.Sides {
		s := &h.sides[i]
		if time.Now().Before(s.due) || ctx.Err() != nil {
			continue
		}
		report, w, err := h.ask(ctx, q)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("asking for the %s: %v", q.Name, err))
			s.known = s.known && q.Inventory // an old state is no state, an old topology is one
			s.due = time.Now().Add(h.retry)
			if reason := failure.ReasonOf(err); reason == failure.Timeout || reason == failure.Stuck {
				break // one lost deadline a poll is enough: the main table must not grow stale
			}
			continue
		}
		warnings = append(append(warnings, w...), report.Warnings...)
		s.report, s.known = report, true
		if q.Inventory {
			s.due = time.Now().Add(h.inventory)
		}
	}
	return warnings
}

// ask tries a query's argument lists until one gives an answer.
func (h *hardware) ask(ctx context.Context, q vendor.Query) (report model.Report, warnings []string, err error) {
	for _, args := range q.Args {
		var out command.Output
		out, err = h.runner.Run(ctx, args...)
		if err == nil {
			report, err = h.judge(q, out)
		}
		if err == nil {
			if out.ExitCode != 0 {
				warnings = append(warnings, fmt.Sprintf("the %s is whole, but the tool exited with status %d", q.Name, out.ExitCode))
			}
			return report, warnings, nil
		}
		if reason := failure.ReasonOf(err); reason == failure.Timeout || reason == failure.Stuck || ctx.Err() != nil {
			break // asking such a tool again only costs another deadline
		}
	}
	return model.Report{}, nil, err
}

// judge goes by what was printed before it goes by the exit status: the tools
// print errors to stdout and may exit 0, and may exit 1 after a whole table.
func (h *hardware) judge(q vendor.Query, out command.Output) (model.Report, error) {
	report, err := q.Parse(bytes.ToValidUTF8(out.Stdout, []byte("?")))
	if err == nil {
		return report, nil
	}
	text := bytes.ToValidUTF8(slices.Concat(out.Stdout, []byte("\n"), out.Stderr), []byte("?"))
	if reason, line, ok := h.vendor.Classify(text); ok {
		return model.Report{}, failure.New(reason, "%s", line)
	}
	if out.ExitCode != 0 {
		return model.Report{}, failure.New(failure.Exit, "exit status %d: %s", out.ExitCode, lastWords(out))
	}
	return model.Report{}, err
}

func lastWords(out command.Output) string {
	for _, b := range [][]byte{out.Stderr, out.Stdout} {
		if b = bytes.TrimSpace(b); len(b) > 0 {
			line, _, _ := bytes.Cut(b, []byte("\n"))
			return failure.Excerpt(bytes.ToValidUTF8(line, []byte("?")))
		}
	}
	return "nothing printed"
}

// expected is how many cards there ought to be; 0 when nothing has told yet.
func (h *hardware) expected(configured int) int {
	if configured > 0 {
		return configured
	}
	return int(max(h.mostSeen.Load(), h.announced.Load()))
}
