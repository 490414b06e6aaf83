package collector

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// stuckPause is how often it is looked whether a tool that outlived SIGKILL has gone.
const stuckPause = time.Second

// runner runs one command of a tool and waits for its end.
type runner interface {
	// RunUntil ends the command when enough says so of what it has printed; nil for never.
	RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (process.Output, error)
	Stuck() int
}

// tool asks one program of a vendor, one call at a time.
type tool struct {
	runner   runner
	classify model.Classifier
	commands []model.Command // without the main table
	options  Options
	logger   log.Logger
	changed  chan struct{} // gets a token when there are other cards
	asked    func()        // is called when an inventory was asked for, nil for nobody

	mu        sync.Mutex // a scrape waits for it: held for assignments alone
	schedule  schedule
	questions map[questionKey]*question
	order     []questionKey // of precedence
	cards     []model.Device
	refused   map[string]bool // commands whose refusal was logged
	unread    uint64          // parts of all answers so far that could not be read
	runs      map[string]run  // the last of each command
}

// run is how one run of a command went.
type run struct {
	duration time.Duration
	success  bool
}

func newTool(commands []model.Command, r runner, classify model.Classifier, o Options) *tool {
	return &tool{
		runner: r, classify: classify, commands: commands, options: o, logger: o.Logger, changed: make(chan struct{}, 1),
		questions: map[questionKey]*question{}, refused: map[string]bool{}, runs: map[string]run{},
	}
}

// askUntil asks what is due until ctx ends or the time has come. A call that has begun is
// waited for.
func (t *tool) askUntil(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && time.Now().Before(until) {
		q, at, ok := t.next()
		if ok && !at.After(time.Now()) {
			if t.runner.Stuck() == 0 {
				t.ask(ctx, q)
				continue
			}
			at = time.Now().Add(stuckPause) // no card is to blame for a call that could not begin
		}
		if !ok || at.After(until) {
			at = until
		}
		select {
		case <-ctx.Done():
		case <-t.changed:
		case <-time.After(time.Until(at)):
		}
	}
}

// next returns the question to ask, as it is now, and when; false for none.
func (t *tool) next() (q question, at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key, at, ok := t.schedule.next()
	if ok {
		q = *t.questions[key]
	}
	return q, at, ok
}

// ask makes one call about a question and keeps the answer.
func (t *tool) ask(ctx context.Context, q question) {
	start := time.Now()
	a := t.call(ctx, q.command, q.command.Args(q.cards[0])[q.variant], q.cards)
	if ctx.Err() != nil {
		return // shutting down is no failure of the tool
	}
	if isNew := t.store(q.key, q.cards, start, a); isNew {
		logger := level.Warn(t.logger)
		if isRefusal(a.err) {
			logger = level.Info(t.logger)
		}
		logger.Log("msg", "command failed", "command", q.key.command, "part", q.key.part, "device", q.key.card, "err", a.err)
	}
	if t.asked != nil && q.command.Inventory {
		t.asked()
	}
}

// answer is what a call printed, as it was read.
type answer struct {
	report model.Report
	isRead bool // there is a report, of a part where there is an error too
	more   []model.Command
	err    error
}

// call runs a command and reads its answer.
func (t *tool) call(ctx context.Context, c model.Command, args []string, cards []model.Device) (a answer) {
	start := time.Now()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.runs[c.Name] = run{time.Since(start), a.err == nil}
	}()
	var enough func([]byte) bool
	if c.Enough != nil {
		enough = func(out []byte) bool { return c.Enough(out, cards) }
	}
	out, late := t.runner.RunUntil(ctx, enough, args...)
	// One call for all cards hangs at a sick one: what was printed of others holds.
	if late != nil && (c.Scope != model.Host || c.Inventory || failure.ReasonOf(late) != failure.Timeout) {
		return answer{err: late}
	}
	return t.readAnswer(c, out, late, cards)
}

// readAnswer reads what a call printed, which decides before the exit status does: tools print errors to stdout and may
// exit 0, and may exit 1 after a whole table. late is why the call was ended before its time, nil where it was not.
func (t *tool) readAnswer(c model.Command, out process.Output, late error, cards []model.Device) answer {
	text := printable(out.Stdout)
	report, err := c.Parse(text, cards)
	switch {
	case err == nil && out.ExitCode != 0 && c.Inventory:
		report.Warn("the %s is complete, but the tool exited with status %d", c.Name, out.ExitCode)
	case err != nil && late == nil && c.Stderr:
		if said, errs := c.Parse(printable(out.Stderr), cards); errs == nil {
			report, err = said, nil
		}
	}
	switch {
	case err != nil && late != nil:
		return answer{err: late}
	case err != nil && !c.Inventory && len(bytes.TrimSpace(out.Stdout))+len(bytes.TrimSpace(out.Stderr)) == 0 && out.ExitCode == 0:
		return answer{err: failure.Errorf(failure.Exit, "nothing printed")} // hccn_tool does: no text that could not be read
	case err != nil:
		return answer{err: explain(t.classify, out, err)}
	}
	report.Limit()
	a := answer{report: report, isRead: true, err: late}
	if c.More != nil {
		a.more = c.More(text, cards[0])
	}
	return a
}

// explain is why an output could not be parsed, by the tool's own words where it has any.
func explain(classify model.Classifier, out process.Output, err error) error {
	text := bytes.TrimSpace(printable(slices.Concat(out.Stderr, []byte("\n"), out.Stdout)))
	if reason, line, ok := classify(text); ok {
		return failure.Errorf(reason, "%s", line)
	}
	if out.ExitCode != 0 {
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return failure.Errorf(failure.Exit, "exit status %d: %s", out.ExitCode, cmp.Or(smitext.Excerpt(line), "nothing printed"))
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
