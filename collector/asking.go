package collector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// spend asks what is due until ctx ends or the time has come. A call that has begun is
// waited for.
func (d *details) spend(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && time.Now().Before(until) {
		key, due, again := d.next()
		if due {
			d.ask(ctx, key)
			continue
		}
		if again.IsZero() || again.After(until) {
			again = until
		}
		select {
		case <-ctx.Done():
		case <-d.changed:
		case <-time.After(time.Until(again)):
		}
	}
}

func (d *details) next() (key detailKey, due bool, again time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agenda.Next(time.Now())
}

// call is one run of the tool.
type call struct {
	detail smi.Detail
	cards  []model.Device
	args   []string
}

// answer is what a call brought.
type answer struct {
	told []smi.Told
	more []smi.Detail
	err  error
}

// ask makes one call and keeps what it told.
func (d *details) ask(ctx context.Context, key detailKey) {
	start := time.Now()
	c, ok := d.begin(key, start)
	if !ok {
		return
	}
	a := d.run(ctx, c)
	if ctx.Err() != nil {
		return // shutting down is no failure of the tool
	}
	d.commands.ran(key.command, time.Since(start), a.err == nil)
	d.end(key, start, a)
}

// begin says what to run for a question, false for nothing.
func (d *details) begin(key detailKey, now time.Time) (call, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := d.asked[key]
	if st == nil {
		return call{}, false
	}
	args := st.arguments(now)
	if args == nil {
		d.agenda.Done(now, key, 0, restTimedOut)
		return call{}, false
	}
	return call{detail: st.detail, cards: st.cards, args: args}, true
}

// arguments are those of the next call, nil where there is no way to ask.
func (st *detailState) arguments(now time.Time) []string {
	var about model.Device
	if st.detail.Scope != smi.Host {
		about = st.cards[0]
	}
	lists := st.detail.Args(about)
	if len(lists) == 0 {
		return nil
	}
	args := lists[min(st.variant, len(lists)-1)]
	if len(st.detail.Flags) == 0 {
		return args
	}
	flags := st.flags.next(st.detail.Flags, now)
	if len(flags) == 0 {
		return nil
	}
	return slices.Concat(args, flags)
}

func (d *details) run(ctx context.Context, c call) answer {
	var enough func([]byte) bool
	if c.detail.Enough != nil {
		enough = func(out []byte) bool { return c.detail.Enough(out, c.cards) }
	}
	out, late := d.runner.RunUntil(ctx, enough, c.args...)
	if late != nil && (enough == nil || failure.ReasonOf(late) != failure.Timeout) {
		return answer{err: late}
	}
	text := printable(out.Stdout)
	told, err := c.detail.Parse(text, c.cards)
	switch {
	case err != nil && late != nil:
		return answer{err: late}
	case err != nil:
		return answer{err: explain(d.classify, out, err)}
	}
	a := answer{told: told}
	if c.detail.More != nil {
		a.more = c.detail.More(text, c.cards[0])
	}
	return a
}

// end keeps what a call brought, and says when to ask again.
func (d *details) end(key detailKey, start time.Time, a answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, st := time.Now(), d.asked[key]
	if st == nil {
		return // its card has gone meanwhile
	}
	rest := restAfter(a.err)
	trying := st.flags.trying
	again := st.tryAgain(now, a.err, rest)
	if again {
		d.agenda.Spent(now, key, now.Sub(start))
	} else {
		d.agenda.Done(now, key, now.Sub(start), rest)
	}
	if a.err != nil {
		if !again || trying != "" {
			d.logFailure(key, st, a.err)
		}
		return // what was told before grows old by itself
	}
	st.failed, st.taken = "", start
	told := tellings(a.told)
	if trying != "" {
		told = slices.Concat(st.told, told)
	}
	st.told = told
	if st.detail.More != nil {
		st.more = a.more
		d.replan()
	}
}

// tryAgain reports whether the question is to be asked in another way at once.
func (st *detailState) tryAgain(now time.Time, err error, rest time.Duration) bool {
	refused := err != nil && failure.ReasonOf(err) == failure.Unsupported
	if len(st.detail.Flags) > 0 {
		return st.flags.tried(st.detail.Flags, now, err == nil, refused, rest)
	}
	if refused && st.variant+1 < len(st.detail.Args(st.cards[0])) {
		st.variant++
		return true
	}
	if refused {
		st.variant = 0
	}
	return false
}

// restAfter is how long a question rests after a failure.
func restAfter(err error) time.Duration {
	if err == nil {
		return 0
	}
	switch failure.ReasonOf(err) {
	case failure.Unsupported:
		return restRefused
	case failure.Timeout, failure.Stuck:
		return restTimedOut
	}
	return 0
}

// logFailure logs a failure once, not at every call that repeats it, and a refusal once
// for all cards. Under mu.
func (d *details) logFailure(key detailKey, st *detailState, err error) {
	if failure.ReasonOf(err) == failure.Unsupported {
		st.failed = ""
		if !d.refused[key.command] {
			d.refused[key.command] = true
			level.Info(d.logger).Log("msg", "the tool does not tell this", "command", key.command, "device", key.card, "err", err)
		}
		return
	}
	if text := err.Error(); text != st.failed {
		st.failed = text
		level.Warn(d.logger).Log("msg", "asking for a detail failed", "command", key.command, "device", key.card, "err", err)
	}
}

// flags are the arguments of a command that are tried one by one and then asked together.
type flags struct {
	accepted []string
	rest     map[string]time.Time // of those that were not accepted, when to try again
	trying   string               // the one of the call under way, "" for all that are accepted
}

// next returns the arguments of the next call, none when no flag is accepted.
func (f *flags) next(all []string, now time.Time) []string {
	f.trying = ""
	for _, flag := range all {
		if !slices.Contains(f.accepted, flag) && !f.rest[flag].After(now) {
			f.trying = flag
			return []string{flag}
		}
	}
	return f.accepted
}

// tried takes the outcome of a call, and reports whether there is another flag to try.
func (f *flags) tried(all []string, now time.Time, ok, refused bool, rest time.Duration) bool {
	switch {
	case f.trying == "" && refused: // another version of the tool: from the beginning
		f.accepted, f.rest = nil, nil
		return true
	case f.trying == "":
		return false
	case ok:
		f.accepted = append(f.accepted, f.trying)
	default:
		if f.rest == nil {
			f.rest = map[string]time.Time{}
		}
		f.rest[f.trying] = now.Add(max(rest, restTimedOut))
	}
	return slices.ContainsFunc(all, func(flag string) bool {
		return !slices.Contains(f.accepted, flag) && !f.rest[flag].After(now)
	})
}

// told is what the details tell now, the one that holds first.
func (d *details) told() []*telling {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*telling
	for _, key := range d.order {
		st := d.asked[key]
		if time.Since(st.taken) <= 3*d.agenda.Interval(key)+d.timeout {
			all = append(all, st.told...)
		}
	}
	return all
}

// warnings are the questions that fail now, and what their answers hold that cannot be read.
func (d *details) warnings() (all model.Warnings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range d.order {
		st := d.asked[key]
		if st.failed != "" {
			all.Add("asking for %s: %s", key, st.failed)
		}
		for _, t := range st.told {
			for _, text := range t.Warnings {
				all.Add("%s: %s", key, text)
			}
		}
	}
	return all
}

// String is the question in words.
func (k detailKey) String() string {
	text := k.command
	if k.card != "" {
		text += " of card " + k.card
	}
	if k.port > 0 {
		text += fmt.Sprintf(", port %d", k.port)
	}
	return text
}
