package collector

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// runner runs one command of a tool and waits for its end.
type runner interface {
	Run(ctx context.Context, args ...string) (command.Output, error)
	// RunUntil ends the command when enough says so of what it has printed; nil for never.
	RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (command.Output, error)
	Stuck() int
}

// locator finds a card's NUMA node where the tool's topology has none.
type locator interface {
	locate(devices []model.Device, warnings *model.Warnings)
}

// hardware is one vendor's tool as a source of snapshots.
type hardware struct {
	vendor     smi.Vendor
	runner     runner
	locator    locator
	places     *places    // nil where nobody asks where processes may run
	procfs     process.FS // by which listed processes are known again, "" where nobody asks for that
	configured int        // cards there ought to be, 0 where nobody said
	inventory  time.Duration
	retry      time.Duration // until a failed side command is asked again
	maxAge     time.Duration // of the main table, for a side command to be asked still
	sides      []side
	commands   *commands
	details    []*details     // of the tool itself, and of its network tool
	known      []model.Device // cards of the last table, and the missing ones
	mostSeen   atomic.Int64
	announced  atomic.Int64
}

// side is what a side command told last, and when to ask it again.
type side struct {
	report   model.Report
	warnings model.Warnings // of the last question, a failure's among them
	due      time.Time
}

func newHardware(v smi.Vendor, r runner, l locator, configured int, o Options) *hardware {
	return &hardware{
		configured: configured,
		vendor:     v,
		runner:     r,
		locator:    l,
		inventory:  o.InventoryInterval,
		retry:      max(o.Interval, o.InventoryInterval/5),
		maxAge:     o.Interval,
		sides:      make([]side, len(v.Sides)),
		commands:   &commands{},
	}
}

func (h *hardware) stuck() int {
	n := h.runner.Stuck()
	for _, d := range h.details {
		if d.runner != h.runner {
			n += d.runner.Stuck()
		}
	}
	return n
}

func (h *hardware) beside() (now model.Warnings, leftOut uint64) {
	for _, d := range h.details {
		warnings, n := d.warnings()
		now.Join(warnings)
		leftOut += n
	}
	return now, leftOut
}

// read asks for the main table and publishes it with what the side commands
// told before; then it asks the side commands that are due, and publishes after
// each, so that a slow one delays nobody but itself.
func (h *hardware) read(ctx context.Context, publish func(result[model.Snapshot])) error {
	asked := time.Now()
	table, err := h.ask(ctx, h.vendor.Table)
	if err != nil {
		return err
	}
	taken := time.Now()
	starts := h.starts(table.Processes, asked)
	found := h.places.look(table.Processes)
	publishMerged := func(newWarnings int) {
		s := h.merge(table)
		found.tell(&s)
		s.Starts = starts
		known := table.Warnings
		known.Join(s.Warnings)
		for i := range h.sides {
			known.Join(h.sides[i].warnings)
		}
		publish(result[model.Snapshot]{value: s, taken: taken, newWarnings: newWarnings, warnings: known})
	}
	publishMerged(table.Warnings.Count)
	for i := range h.sides {
		if time.Now().Before(h.sides[i].due) {
			continue
		}
		if ctx.Err() != nil || time.Since(taken) > h.maxAge {
			break // the main table must not grow stale: the rest stays due
		}
		publishMerged(h.askSide(ctx, i))
	}
	return ctx.Err()
}

// starts looks when listed processes began, at once after the list, by PID. One that is gone has
// none, nor one that began after the tool was asked: it may have the number of one that is gone.
func (h *hardware) starts(listed []model.Process, asked time.Time) map[string]uint64 {
	if h.procfs == "" {
		return nil
	}
	starts := make(map[string]uint64, len(listed))
	for _, l := range listed {
		if _, known := starts[l.PID]; known {
			continue
		}
		pid, err := strconv.Atoi(l.PID)
		if err != nil || pid <= 0 {
			continue
		}
		if st, ok := h.procfs.Stat(pid); ok && !st.Began().After(asked) {
			starts[l.PID] = st.Start
		}
	}
	return starts
}

func (h *hardware) merge(table model.Report) model.Snapshot {
	reports := make([]model.Report, len(h.sides))
	for i := range h.sides {
		reports[i] = h.sides[i].report
	}
	s := model.Merge(table, reports, h.vendor.Resolve)
	h.locator.locate(s.Devices, &s.Warnings)
	h.mostSeen.Store(max(h.mostSeen.Load(), int64(s.Seen)))
	h.announced.Store(int64(s.Announced))
	shown := s.Devices[:s.Seen]
	s.Missing = model.Missing(shown, slices.Concat(s.Devices[s.Seen:], s.Missing, h.known), min(h.expected(), model.MaxDevices)-s.Seen)
	h.known = slices.Concat(shown, s.Missing)
	for _, d := range h.details {
		d.setCards(shown)
	}
	return s
}

// askSide asks one side command and returns how many warnings that brought. Of one
// that fails, a topology and the number of cards are kept, which change slowly;
// states are not.
func (h *hardware) askSide(ctx context.Context, i int) int {
	// A slow tool is asked for its states less often, so that most of its time
	// is left to the main table.
	const restFactor = 4
	q, s, start := h.vendor.Sides[i], &h.sides[i], time.Now()
	report, err := h.ask(ctx, q)
	s.due = time.Now().Add(restFactor * time.Since(start))
	switch {
	case err != nil:
		s.warnings = model.Warnings{}
		s.warnings.Add("asking for the %s: %v", q.Name, err)
		s.report.Listed = nil
		s.due = time.Now().Add(h.retry)
	default:
		s.warnings = report.Warnings
		s.report = report
		if q.Inventory {
			s.due = time.Now().Add(h.inventory)
		}
	}
	return s.warnings.Count
}

// ask tries a query's argument lists until one gives an answer.
func (h *hardware) ask(ctx context.Context, q smi.Query) (report model.Report, err error) {
	for _, args := range q.Args {
		var out command.Output
		start := time.Now()
		out, err = h.runner.Run(ctx, args...)
		if err == nil {
			report, err = h.judge(q, out)
		}
		h.commands.ran(q.Name, time.Since(start), err == nil)
		if err == nil {
			if out.ExitCode != 0 {
				report.Warn("the %s is whole, but the tool exited with status %d", q.Name, out.ExitCode)
			}
			return report, nil
		}
		if reason := failure.ReasonOf(err); reason == failure.Timeout || reason == failure.Stuck || ctx.Err() != nil {
			break // asking such a tool again only costs another deadline
		}
	}
	return model.Report{}, err
}

// judge goes by what was printed before it goes by the exit status: the tools
// print errors to stdout and may exit 0, and may exit 1 after a whole table.
func (h *hardware) judge(q smi.Query, out command.Output) (model.Report, error) {
	report, err := q.Parse(printable(out.Stdout))
	if err != nil {
		return model.Report{}, explain(h.vendor.Classify, out, err)
	}
	report.Limit()
	return report, nil
}

// explain is why an output could not be parsed, by the tool's own words where it has any.
func explain(classify classifier, out command.Output, err error) error {
	text := printable(slices.Concat(out.Stdout, []byte("\n"), out.Stderr))
	if reason, line, ok := classify(text); ok {
		return failure.New(reason, "%s", line)
	}
	if out.ExitCode != 0 {
		return failure.New(failure.Exit, "exit status %d: %s", out.ExitCode, firstLine(out))
	}
	return err
}

// printable puts U+FFFD for what is no UTF-8 or cannot be seen: names become labels,
// where a scrape must not fail over them and a terminal must not obey them.
func printable(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return utf8.RuneError
	}, text)
}

func firstLine(out command.Output) string {
	for _, b := range [][]byte{out.Stderr, out.Stdout} {
		if b = bytes.TrimSpace(b); len(b) > 0 {
			line, _, _ := bytes.Cut(b, []byte("\n"))
			return failure.Excerpt(printable(line))
		}
	}
	return "nothing printed"
}

// expected is how many cards there ought to be; 0 when nothing has told yet.
func (h *hardware) expected() int {
	if h.configured > 0 {
		return h.configured
	}
	return int(max(h.mostSeen.Load(), h.announced.Load()))
}
