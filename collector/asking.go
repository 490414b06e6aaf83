package collector

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// stuckPause is how often it is looked whether a tool that outlived SIGKILL has gone.
const stuckPause = time.Second

// spend asks what is due until ctx ends or the time has come. A call that has begun is
// waited for.
func (d *details) spend(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && time.Now().Before(until) {
		key, due, again := d.next()
		switch {
		case due && d.runner.Stuck() == 0:
			d.ask(ctx, key)
			continue
		case due: // no card is to blame for a call that could not begin
			again = time.Now().Add(stuckPause)
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
	err  error // why nothing was told, or a part only
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
	switch d.end(key, c, start, a) {
	case newRefusal:
		level.Info(d.logger).Log("msg", "the tool does not tell this", "command", key.command, "device", key.card, "err", a.err)
	case newFailure:
		level.Warn(d.logger).Log("msg", "asking for a detail failed", "command", key.command, "device", key.card, "port", key.port, "err", a.err)
	}
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

// lists are the argument lists to try.
func (st *detailState) lists() [][]string {
	if st.detail.Scope == smi.Host {
		return st.detail.Args(model.Device{})
	}
	return st.detail.Args(st.cards[0])
}

// arguments are those of the next call, nil where there is no way to ask.
func (st *detailState) arguments(now time.Time) []string {
	lists := st.lists()
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
	// One call for all cards hangs at a sick one: what was printed of others holds.
	if late != nil && (c.detail.Scope != smi.Host || failure.ReasonOf(late) != failure.Timeout) {
		return answer{err: late}
	}
	text := printable(out.Stdout)
	told, err := c.detail.Parse(text, c.cards)
	if err != nil && late == nil && c.detail.Stderr {
		if said, errs := c.detail.Parse(printable(out.Stderr), c.cards); errs == nil {
			told, err = said, nil
		}
	}
	switch {
	case err != nil && late != nil:
		return answer{err: late}
	case err != nil && out.ExitCode == 0 && len(bytes.TrimSpace(out.Stdout))+len(bytes.TrimSpace(out.Stderr)) == 0:
		return answer{err: failure.New(failure.Exit, "nothing printed")} // hccn_tool does: no text that could not be read
	case err != nil:
		return answer{err: explain(d.classify, out, err)}
	}
	a := answer{told: told, err: late}
	if c.detail.More != nil {
		a.more = c.detail.More(text, c.cards[0])
	}
	return a
}

// news is what of a call's outcome is to be logged.
type news uint8

const (
	nothingNew news = iota
	newRefusal
	newFailure
)

// end keeps what a call brought, and says when to ask again.
func (d *details) end(key detailKey, c call, start time.Time, a answer) news {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, st := time.Now(), d.asked[key]
	if st == nil || !slices.EqualFunc(st.cards, c.cards, sameCard) {
		d.agenda.Spent(now, key, now.Sub(start))
		return nothingNew // the answer is about a card that has gone meanwhile
	}
	trying, rest := st.flags.trying != "", restAfter(a, st.detail.Every)
	again, rests := st.tryAgain(now, a, rest), rest
	switch {
	case again:
		d.agenda.Spent(now, key, now.Sub(start))
	case trying: // the flag rests, not the question
		d.agenda.Done(now, key, now.Sub(start), 0)
	default:
		d.agenda.Done(now, key, now.Sub(start), rest)
		rests = d.agenda.Rest(key)
	}
	d.leftOut += a.unread()
	if a.told != nil {
		st.hear(a, start, rests, trying)
		if st.detail.More != nil {
			st.more = slices.DeleteFunc(a.more, func(more smi.Detail) bool { return !d.wants(more) })
			d.replan()
		}
	}
	if a.err != nil && again && !trying {
		return nothingNew
	}
	return d.fail(key.command, st, a.err)
}

// unread is how many parts of an answer could not be read.
func (a *answer) unread() (n uint64) {
	for _, t := range a.told {
		n += uint64(len(t.Warnings))
	}
	if a.err != nil && failure.ReasonOf(a.err) == failure.Parse {
		n++
	}
	return n
}

// hear keeps what was told. What a whole answer does not tell any more has gone; what
// only a part lacks grows old by itself, and so does all that was told before a failure.
func (st *detailState) hear(a answer, at time.Time, rests time.Duration, trying bool) {
	var all []heard
	for _, t := range a.told {
		all = append(all, heard{telling: &telling{Told: t}, at: at, rests: rests})
	}
	for _, old := range st.told {
		toldAgain := slices.ContainsFunc(a.told, func(t smi.Told) bool { return t.Device == old.Device })
		if trying || a.err != nil && !toldAgain {
			all = append(all, old)
		}
	}
	st.told = all
}

// tryAgain reports whether the question is to be asked in another way at once.
func (st *detailState) tryAgain(now time.Time, a answer, rest time.Duration) bool {
	refused := a.err != nil && failure.ReasonOf(a.err) == failure.Unsupported
	if len(st.detail.Flags) > 0 {
		return st.flags.tried(st.detail.Flags, now, a.told != nil, refused, rest)
	}
	if refused && st.variant+1 < len(st.lists()) {
		st.variant++
		return true
	}
	if refused {
		st.variant = 0
	}
	return false
}

// restAfter is how long a question rests after a failure, 0 for its interval. One that is
// asked rarely does not wait for that: the tool may have been busy. A timeout is one also
// where other cards were told: at a sick card the next call waits as long.
func restAfter(a answer, every time.Duration) time.Duration {
	switch {
	case a.err == nil:
		return 0
	case failure.ReasonOf(a.err) == failure.Unsupported:
		return restRefused
	case failure.ReasonOf(a.err) == failure.Timeout || every > restTimedOut:
		return restTimedOut
	}
	return 0
}

// fail keeps why a call failed, nil for not. A failure is news once, not at every call that
// repeats it, and a refusal once for all cards. Under mu.
func (d *details) fail(command string, st *detailState, err error) news {
	before := st.failed
	st.failed = ""
	switch {
	case err == nil:
	case failure.ReasonOf(err) != failure.Unsupported:
		if st.failed = err.Error(); st.failed != before {
			return newFailure
		}
	case !d.refused[command]:
		d.refused[command] = true
		return newRefusal
	}
	return nothingNew
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
		d.fresh(key, func(t *telling) { all = append(all, t) })
	}
	return all
}

// fresh passes on what was told within three intervals and a timeout. Under mu.
func (d *details) fresh(key detailKey, to func(*telling)) {
	every := d.agenda.Interval(key)
	for _, t := range d.asked[key].told {
		// The rest after a timeout is the first of the three for the cards that were told before it, so that a sick card
		// costs nobody else; for the sick card, which was not told, it is not.
		if time.Since(t.at) <= max(every, t.rests)+2*every+d.timeout {
			to(t.telling)
		}
	}
}

// warnings are the questions that fail now and what cannot be read of the others' answers,
// and how many parts of all answers so far could not be read.
func (d *details) warnings() (now model.Warnings, leftOut uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range d.order {
		if failed := d.asked[key].failed; failed != "" {
			now.Add("asking for %s: %s", key, failed)
		}
		d.fresh(key, func(t *telling) {
			for _, text := range t.Warnings {
				now.Add("%s: %s", key, text)
			}
		})
	}
	return now, d.leftOut
}

// String is the question in words.
func (k detailKey) String() string {
	text := k.command
	if k.card != "" {
		text += " of card " + k.card
	}
	if k.port != "" {
		text += ", port " + k.port
	}
	return text
}
