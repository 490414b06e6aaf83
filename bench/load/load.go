// Package load puts load on an endpoint, step by step, and keeps in a log what became of every request, and what the
// cards and the server showed meanwhile.
//
// In a closed loop, users send one request after the other, each as soon as its last has ended. In an open loop, requests
// come at instants that do not depend on the server: a request that is due is sent, late if this program is late or a
// bound holds it back, and never left out for that. Every request that was admitted is accounted for.
package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Run runs all steps, or as many as come before one that ends early ([runlog.Stop.Early]).
// What was measured until then is in the log and in Attempted also when an error is returned.
func Run(ctx context.Context, cfg Config, watchers ...Watcher) (Result, error) {
	s, err := Open(ctx, cfg, watchers...)
	if err != nil {
		return s.result, err
	}
	for _, step := range cfg.Steps {
		if err = s.run(ctx, step); err != nil || s.result.Stop.Early() {
			break
		}
	}
	result, closing := s.Close()
	return result, cmp.Or(err, closing)
}

// Session is a run whose steps are chosen as it goes, each by the records of those before.
type Session struct {
	cfg      Config
	watchers []Watcher
	sources  []*source
	log      *runlog.Writer
	result   Result
	prefixes *prefixes // of all steps: a server's cache outlives them
	// modelLength is that of prompt and answer, in tokens, 0 where it is not known.
	modelLength int
	aimed       int // tokens of the first prompt, 0 where its length is not made
	clock       *clock
	blockSize   int   // of the server's prefix cache, 0 where its metrics do not say
	lead        *Lead // of no others where another machine leads
	share       Share
	// begin waits for all machines, and fills in when the step begins and by which clock.
	begin func(ctx context.Context, step *runlog.Step, m *Meter)

	mu       sync.Mutex      // samples come beside requests
	runs     []runlog.Record // of all machines
	keeps    bool            // the caller of Step, or a leader, wants records
	kept     []runlog.Record // of the runs and the present step, or those that the leader does not have
	watching sync.Mutex      // one call of a watcher at a time
}

// Open checks the endpoint and the data set and begins the log, which names cfg.Steps as planned. The session must be
// closed unless there is an error. What can be known to go wrong does so before a log is made.
func Open(ctx context.Context, cfg Config, watchers ...Watcher) (*Session, error) {
	s := newSession(cfg, watchers)
	s.lead = cmp.Or(cfg.Lead, s.lead)
	s.begin, s.share = s.lead.begin, s.lead.Share
	for _, check := range []func(context.Context) error{s.checkModels, s.openSources, s.prepareDataset, s.checkLoad, s.lead.gather, s.openLog} {
		if err := check(ctx); err != nil {
			return s, err
		}
	}
	s.lead.open(s)
	return s, nil
}

func newSession(cfg Config, watchers []Watcher) *Session {
	return &Session{cfg: cfg, watchers: watchers, prefixes: &prefixes{sent: map[uint64]int{}}, clock: newClock(time.Now()), lead: new(Lead)}
}

const (
	// modelsTimeout bounds the question for the list of models: a server under load may
	// take its time, one that hangs is still worth measuring.
	modelsTimeout = 10 * time.Second
	readyPause    = 500 * time.Millisecond // between questions to a server that starts
)

// checkModels asks the endpoint for its models until it is ready: for the one to use where none is named, else
// whether the named one is served. A list that cannot be had is no reason to stop where completions may work.
func (s *Session) checkModels(ctx context.Context) error {
	url, model := s.cfg.Run.URL, s.cfg.Run.Model
	var models []openai.Model
	var failure *openai.Failure
	for until := time.Now().Add(s.cfg.Ready); ; sleepUntil(ctx, time.Now().Add(readyPause)) {
		asking, cancel := context.WithTimeout(ctx, modelsTimeout)
		models, failure = s.cfg.Endpoint.Models(asking)
		cancel()
		if failure == nil || ctx.Err() != nil || !time.Now().Before(until) {
			break
		}
	}
	at := slices.IndexFunc(models, func(m openai.Model) bool { return model == "" || m.ID == model })
	switch {
	case failure == nil && at < 0:
		var names []string
		for _, m := range models {
			names = append(names, m.ID)
		}
		served := openai.Excerpt(strings.Join(names, ", "))
		return fmt.Errorf("the endpoint does not serve the model %q; it serves %s", model, served)
	case failure == nil:
		s.cfg.Run.Model, s.modelLength = models[at].ID, models[at].MaxLength
	case failure.Reason.Unreached():
		return fmt.Errorf("asking %s for its models: %w", url, failure)
	case model == "":
		return fmt.Errorf("asking %s for its models: %w; name one with --model", url, failure)
	default:
		s.note("the endpoint's list of models could not be had (%v), so whether it serves %q is not known", failure, model)
	}
	return nil
}

func (s *Session) openLog(context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host's name: %w", err)
	}
	run := &s.cfg.Run
	run.Schema, run.ID = runlog.Schema, fmt.Sprintf("%016x", rand.Uint64())
	run.Started, run.Host, run.GOMAXPROCS = s.clock.logged, host, runtime.GOMAXPROCS(0)
	run.Rank, run.Machines, run.AllowFewer = s.share.Rank, s.share.Machines, s.lead.AllowFewer
	run.Steps = nil
	for _, step := range s.cfg.Steps {
		run.Steps = append(run.Steps, step.Label(false).Short)
	}
	folder := s.cfg.Folder
	if s.cfg.FolderSuffix != nil {
		folder += s.cfg.FolderSuffix(run.Model)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("making the folder of the results: %w", err)
	}
	first, err := folder, os.Mkdir(folder, 0o755)
	for n := 2; errors.Is(err, fs.ErrExist); n++ { // two runs may begin in one second
		folder = fmt.Sprintf("%s-%d", first, n)
		err = os.Mkdir(folder, 0o755)
	}
	if err != nil {
		return err
	}
	s.result.Folder = folder
	if s.log, err = runlog.Create(s.result.Folder, *run); err != nil {
		return err
	}
	s.keep(runlog.Record{Run: run, Rank: run.Rank})
	for _, w := range s.watchers {
		w.RunStarted(*run)
	}
	return nil
}

// Step runs a step and returns the records of the run and the step, also of one that an error ended.
// [runlog.Stop.Early] of its end says whether another step makes sense.
func (s *Session) Step(ctx context.Context, step runlog.Step) ([]runlog.Record, error) {
	s.mu.Lock()
	s.keeps, s.kept = true, slices.Clone(s.runs)
	s.mu.Unlock()
	err := s.run(ctx, step)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, err
}

// Close ends the log and returns how the run ended. Nothing of the run is lost where it fails.
func (s *Session) Close() (Result, error) {
	for _, o := range s.sources {
		if o.failed > 0 {
			s.note("%d samples of the %s's metrics failed; the first: %v", o.failed, o.kind, o.firstErr)
		}
	}
	// A run that failed has an end too: one without was killed.
	err := s.write(runlog.Record{RunEnd: &runlog.RunEnd{Ended: s.clock.now(), Stop: s.result.Stop}})
	s.lead.dismiss()
	return s.result, cmp.Or(err, s.log.Close())
}

// run runs a step, after its warm-up, which is in no sample.
func (s *Session) run(ctx context.Context, step runlog.Step) error {
	prompts, err := dataset.Open(s.dataset(step))
	if err != nil {
		return err
	}
	defer prompts.Close()
	running, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	s.lead.announce(step, withdraw)
	defer context.AfterFunc(ctx, func() { s.lead.update(func() { s.lead.stopAll(runlog.StopInterrupted) }) })()
	s.countRecords(running, step)
	if err := s.warmUp(running, step); err != nil {
		return err
	}
	var meter Meter
	s.begin(running, &step, &meter)
	if err := s.write(runlog.Record{Step: &step}); err != nil {
		return err
	}
	for _, w := range s.watchers {
		w.StepStarted(step, &meter)
	}
	stopSampling := s.startSampling(ctx, step.Index)
	r := s.newStep(step, &meter)
	r.seed = gapSeed(s.cfg.Run.Seed, step.Index)
	if s.share != (Share{}) {
		r.begin = s.clock.started.Add(step.Started.Sub(s.clock.logged)) // by the monotonic clock
	}
	r.done = func(q *runlog.Request) error {
		if err := s.write(runlog.Record{Request: q}); err != nil {
			return err
		}
		s.requestDone(q)
		return nil
	}
	end, err := r.run(running, step, prompts)
	err = cmp.Or(err, stopSampling())
	s.lead.end(ctx, &end)
	if !end.Stop.Early() && meter.tooManyFailed(step, 0) { // on all machines
		end.Stop = runlog.StopFailureRatio
	}
	for _, w := range s.watchers {
		w.StepEnded(end)
	}
	s.result.Attempted += int(meter.Attempted.Load())
	s.result.Succeeded += int(meter.Succeeded.Load())
	s.result.Stop = end.Stop
	return cmp.Or(err, s.write(runlog.Record{StepEnd: &end}))
}

func (s *Session) requestDone(q *runlog.Request) {
	s.watching.Lock()
	defer s.watching.Unlock()
	for _, w := range s.watchers {
		w.RequestDone(q)
	}
}

const warmUpUsers = 64 // requests of a warm-up in flight, where the step has no such bound

// warmUp sends the start that all prompts of a step share, where the data set asks for that, and
// then the step's warm-ups, as many at once as the step itself. They are in no log and in no
// figure. Warm-ups that fail do not end the run: the step will show what ails the server.
func (s *Session) warmUp(ctx context.Context, step runlog.Step) error {
	if s.cfg.Dataset.CacheHit > 0 {
		p := dataset.SharedStart(s.dataset(step))
		s.prefixes.take(p.Shared)
		if s.share.Rank == 0 {
			if t := s.cfg.Endpoint.Stream(ctx, s.request(step, job{prompt: p})); t.Failure != nil && ctx.Err() == nil {
				return fmt.Errorf("sending the prompts' shared start: %w", t.Failure)
			}
		}
	}
	if step.Warmups == 0 {
		return nil
	}
	d := s.dataset(step)
	d.Step = -1 - step.Index // other prompts than the step's, which must not be cached
	source, err := dataset.Open(d)
	if err != nil {
		return err
	}
	defer source.Close()
	var meter Meter
	_, err = s.newStep(step, &meter).run(ctx, runlog.Step{
		Arrival: runlog.ArrivalBurst, Requests: step.Warmups, MaxConcurrency: cmp.Or(step.Concurrency, step.MaxConcurrency, warmUpUsers),
	}, source)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the step shows it
	case err != nil:
		return fmt.Errorf("warming up: %w", err)
	case meter.Failed.Load() > 0:
		s.note("%d of %d warm-up requests of step %s failed", meter.Failed.Load(), step.Warmups, step.Label(false).Short)
	}
	return nil
}

// newStep returns a step that keeps no record of its requests. A caller that wants them sets done.
func (s *Session) newStep(step runlog.Step, meter *Meter) *activeStep {
	return &activeStep{
		send: func(ctx context.Context, j job) *openai.Trace {
			return s.cfg.Endpoint.Stream(ctx, s.request(step, j))
		},
		done:         func(*runlog.Request) error { return nil },
		meter:        meter,
		prefixes:     s.prefixes,
		modelLength:  s.modelLength,
		clock:        s.clock,
		share:        s.share,
		lastReceived: s.cfg.Endpoint.LastReceived,
		fineWait:     s.cfg.FineWait,
	}
}

// write writes a record to the log, and keeps it for the caller of Step.
func (s *Session) write(record runlog.Record) error {
	record.Rank = s.share.Rank
	s.keep(record)
	return s.log.Write(record)
}

// keep keeps a record of any machine for the caller of Step.
func (s *Session) keep(record runlog.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if record.Run != nil {
		s.runs = append(s.runs, record)
	}
	if s.keeps {
		s.kept = append(s.kept, record)
	}
}

func (s *Session) request(step runlog.Step, j job) openai.Request {
	ask, d := s.cfg.Ask, &s.cfg.Dataset
	// Random words may be answered by anything, and beyond its end any text may repeat itself.
	isChecked := d.Path != "" && d.Kind != dataset.Replay && !ask.IgnoreEOS && string(ask.Extra["ignore_eos"]) != "true"
	return openai.Request{
		API: s.cfg.Run.API, Model: s.cfg.Run.Model,
		Prompt: j.prompt.Text, Messages: j.prompt.Messages, PromptTokens: j.prompt.Tokens,
		MaxTokens: j.prompt.MaxTokens, MaxCompletionTokens: true, Planned: j.planned,
		Timeout: step.Timeout, IdleTimeout: ask.IdleTimeout,
		IgnoreEOS: ask.IgnoreEOS, ContinuousUsage: ask.ContinuousUsage, Extra: ask.Extra,
		SessionID: j.session, KeepAnswer: j.session != "", Traced: ask.TraceParent,
		CheckAnswer: isChecked,
	}
}

func (s *Session) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Notes = append(s.result.Notes, fmt.Sprintf(format, args...))
}

// Endpoint is what a load is put on: an [openai.Client].
type Endpoint interface {
	Stream(ctx context.Context, r openai.Request) *openai.Trace
	Models(ctx context.Context) ([]openai.Model, *openai.Failure)
	Tokenize(ctx context.Context, model, text string) ([]int32, *openai.Failure)
	TokenizeChat(ctx context.Context, model string, messages []openai.Message) ([]int32, *openai.Failure)
	LastReceived() time.Time
}

// Config says what to run.
type Config struct {
	Endpoint Endpoint
	// Run is what the log says of the run; its id, host and times are filled in. An empty
	// Model is the first that the endpoint lists.
	Run runlog.Run
	// Steps are taken as they are: whoever makes one has checked it.
	Steps []runlog.Step
	Ask   Ask
	// Dataset makes the prompts; what depends on the run and on the step is filled in.
	Dataset dataset.Config
	// Folder is where the log is made; a number is added where it is there already.
	Folder string
	// FolderSuffix ends Folder's name, given the model in use; nil for none.
	FolderSuffix func(model string) string
	Metrics      Metrics
	// Ready is how long to wait for an endpoint that does not list its models yet.
	Ready time.Duration
	// FineWait is how long before an arrival the kernel's timer takes over from the runtime's, which may be 1 ms late.
	FineWait time.Duration // 0 in virtual time
	// Lead leads other machines, which put on their shares of each step; nil for a load of one machine.
	Lead *Lead
}

// Ask is what every request asks beside its prompt.
type Ask struct {
	IdleTimeout     time.Duration // without text after the first text, 0 for none
	IgnoreEOS       bool
	ContinuousUsage bool
	TraceParent     bool                       // see [openai.Request.Traced]
	Extra           map[string]json.RawMessage // see [openai.Request.Extra]
}

// Watcher follows a run. Its methods are called one at a time but for StepStarted's meter, which changes meanwhile.
type Watcher interface {
	RunStarted(runlog.Run) // before anything else
	StepStarted(runlog.Step, *Meter)
	RequestDone(*runlog.Request)
	StepEnded(runlog.StepEnd)
}

// Result is how a run ended.
type Result struct {
	Folder               string // of the log
	Stop                 runlog.Stop
	Attempted, Succeeded int // requests
	// Notes are what the user should know beside the report, one sentence each.
	Notes []string
}
