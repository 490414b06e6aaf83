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

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// Runner runs one program of a vendor, one call at a time.
type Runner interface {
	// RunUntil ends the program when enough says so of what it has printed; nil for never.
	RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (process.Output, error)
	// Stuck is how many children outlived SIGKILL.
	Stuck() int
	Close()
}

// tool asks one program of a vendor, one call at a time.
type tool struct {
	runner   Runner
	classify model.Classifier
	commands []model.Command // without the main table
	options  Options
	health   *health
	changed  chan struct{} // gets a token from each setCards

	mu       sync.Mutex // a scrape waits for it: held for assignments alone
	schedule schedule
	cards    []model.Device
	refused  map[string]bool // commands whose refusal was logged
	runs     map[string]run  // the last of each command
}

type run struct {
	duration time.Duration
	success  bool
}

func newTool(commands []model.Command, r Runner, classify model.Classifier, h *health, o Options) *tool {
	return &tool{
		runner: r, classify: classify, commands: commands, options: o, health: h, changed: make(chan struct{}, 1),
		refused: map[string]bool{}, runs: map[string]run{},
	}
}

// askUntil asks the questions that are due until ctx ends or the time has come. It returns true at once after a question
// for an inventory. It waits for a call that has begun.
func (t *tool) askUntil(ctx context.Context, until time.Time) (hasInventory bool) {
	for ctx.Err() == nil && time.Now().Before(until) {
		q, at, ok := t.next()
		if ok && !at.After(time.Now()) {
			if t.runner.Stuck() == 0 {
				if t.ask(ctx, q); q.command.Inventory {
					return true
				}
				continue
			}
			at = time.Now().Add(time.Second) // no card is to blame for a call that could not begin
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
	return false
}

// next returns the question to ask, as it is now, and when; false for none.
func (t *tool) next() (q question, at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, at := t.schedule.next()
	if first == nil {
		return question{}, at, false
	}
	return *first, at, true
}

// askEveryPoll adds the answers of the EveryPoll commands to the table. One that fails costs only its own series. Once a
// call of this poll has timed out, those that were refused or timed out the last time are skipped.
func (t *tool) askEveryPoll(ctx context.Context, table *model.Report) {
	hangs := false
	for _, q := range t.everyPoll() {
		if ctx.Err() != nil || hangs && q.retry > 0 {
			continue
		}
		a := t.ask(ctx, q)
		a.report.Warnings = model.Warnings{} // which have an account of their own
		table.Join(a.report)
		hangs = hangs || failure.ReasonOf(a.err) == failure.Timeout
	}
}

// hasProcesses reports whether the last run of each command that lists processes succeeded; true without such a command.
func (t *tool) hasProcesses() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(t.commands, func(c model.Command) bool { return c.Processes && !t.runs[c.Name].success })
}

// everyPoll are the questions of every poll that are due.
func (t *tool) everyPoll() (due []question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.schedule.questions {
		if q.command.EveryPoll && !q.due.After(time.Now()) {
			due = append(due, *q)
		}
	}
	return due
}

// ask makes one call about a question and keeps the answer.
func (t *tool) ask(ctx context.Context, q question) answer {
	start := time.Now()
	a := t.call(ctx, q.command, q.command.Args(q.cards[0])[q.variant], q.cards)
	if ctx.Err() != nil {
		return a // shutting down is no failure of the tool
	}
	if !t.store(q, start, a) {
		return a
	}
	if isRefusal(a.err) && !q.command.EveryPoll { // a refused EveryPoll command is a failure: a part of the table is missing
		t.logRefusal(q.key, a.err)
		a.err = nil
	}
	t.health.setFailure(q.key, a.err)
	if a.isRead { // else the known warnings hold
		t.health.setWarnings(q.key.String(), a.report.Warnings)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.schedule.questions, func(planned *question) bool { return planned.key == q.key }) { // it went while that was logged
		t.health.forget(q.key)
	}
	return a
}

// logRefusal logs a refusal once for all cards.
func (t *tool) logRefusal(k questionKey, err error) {
	t.mu.Lock()
	command := k.command + " " + k.part
	isKnown := t.refused[command]
	t.refused[command] = true
	t.mu.Unlock()
	if !isKnown {
		level.Info(t.health.logger).Log("msg", "command refused", "command", k.command, "part", k.part, "device", k.card, "err", err)
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
		return answer{err: failure.Errorf(failure.Exit, "nothing printed")} // as hccn_tool does: not a parse error
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
