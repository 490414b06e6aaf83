// Package sweep runs a load test: it checks the endpoint, goes through the steps,
// and keeps in a log what became of every request and what the cards and the
// server showed meanwhile.
package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Config says what to run.
type Config struct {
	Client openai.Config
	// Run is what the log says of the run; its id, host and times are filled in.
	// Its URL, API, Model, seed and dataset are those that are used. An empty
	// Model is the first that the endpoint lists.
	Run   runlog.Run
	Steps []runlog.Step
	// Next, where it is not nil, chooses each step in place of Steps, given the folder of
	// the log with those before; ok is false after the last. A step that too many
	// failures ended is one like others then.
	Next func(folder string) (s runlog.Step, ok bool, err error)
	Ask  Ask
	// Dataset makes the prompts; what depends on the run and on the step is
	// filled in.
	Dataset dataset.Config
	// Folder is where the log is made, or a folder of that name with a number when
	// it is there already.
	Folder string
	// FolderSuffix ends Folder's name, given the model in use; nil for none.
	FolderSuffix func(model string) string
	Metrics      Metrics
	// Ready is how long to wait for an endpoint that does not list its models yet,
	// 0 for not at all.
	Ready time.Duration
	// Unchecked leaves out the question whether the endpoint is there and serves
	// the model.
	Unchecked bool
}

// Ask is what every request asks beside its prompt.
type Ask struct {
	IdleTimeout     time.Duration // without text after the first text, 0 for none
	IgnoreEOS       bool
	ContinuousUsage bool
	Extra           map[string]json.RawMessage // see [openai.Request.Extra]
}

// Watcher follows a run. Its methods are called one at a time but for
// StepStarted's meter, which changes meanwhile.
type Watcher interface {
	RunStarted(runlog.Run) // before anything else
	StepStarted(runlog.Step, *load.Meter)
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
	// NotStarted are the sides that were given up, since their server could not be
	// started.
	NotStarted []string
}

// Run runs all steps, or as many as come before a failure limit or the end of
// ctx. What was measured until then is in the log also when an error is
// returned, and then Attempted counts it.
func Run(ctx context.Context, cfg Config, watchers ...Watcher) (Result, error) {
	s, err := Open(ctx, cfg, watchers...)
	if err != nil {
		return s.run.result, err
	}
	err = s.run.steps(ctx)
	result, closing := s.Close()
	return result, cmp.Or(err, closing)
}

// Session is a run whose steps are chosen as it goes, each by the records of those
// before.
type Session struct{ run *run }

// StepRecords are the records of one step, as they are in the log.
type StepRecords struct {
	Run      runlog.Run
	Step     runlog.Step
	Requests []runlog.Request
	Samples  []runlog.Sample
	End      *runlog.StepEnd
}

// Open checks the endpoint and the data set and begins the log. The session must be
// closed unless there is an error. cfg's Steps and Next are without effect but that the
// log names Steps.
func Open(ctx context.Context, cfg Config, watchers ...Watcher) (*Session, error) {
	r := &run{cfg: cfg, watchers: watchers}
	s := &Session{r}
	var err error
	if r.client, err = openai.NewClient(cfg.Client); err != nil {
		return s, err
	}
	if err := r.begin(ctx); err != nil {
		r.client.CloseIdleConnections()
		return s, err
	}
	return s, nil
}

// Step runs a step and returns its records, also those of a step that an error ended.
// [runlog.Stop.Early] of its end says whether another step makes sense.
func (s *Session) Step(ctx context.Context, step runlog.Step) (*StepRecords, error) {
	kept := &StepRecords{Run: s.run.cfg.Run, Step: step}
	s.run.kept = kept
	defer func() { s.run.kept = nil }()
	end, err := s.run.count(s.run.step(ctx, step))
	kept.End = &end
	return kept, err
}

// Close ends the log and returns how the run ended. Nothing of the run is lost where it
// fails.
func (s *Session) Close() (Result, error) {
	r := s.run
	defer r.client.CloseIdleConnections()
	r.noteFailedSamples()
	// A run that failed has an end too: one without was killed.
	end := r.log.Write(runlog.Record{RunEnd: &runlog.RunEnd{Ended: time.Now(), Stop: r.result.Stop}})
	return r.result, cmp.Or(end, r.log.Close())
}

// begin checks what can be checked and makes the log.
func (r *run) begin(ctx context.Context) error {
	err := r.prepare(ctx)
	if err != nil {
		return err
	}
	folder := r.cfg.Folder
	if r.cfg.FolderSuffix != nil {
		folder += r.cfg.FolderSuffix(r.cfg.Run.Model)
	}
	if r.result.Folder, err = makeFolder(folder); err != nil {
		return err
	}
	if r.log, err = runlog.Create(r.result.Folder, r.cfg.Run); err != nil {
		return err
	}
	for _, w := range r.watchers {
		w.RunStarted(r.cfg.Run)
	}
	return nil
}

// count adds a step to the result.
func (r *run) count(end runlog.StepEnd, err error) (runlog.StepEnd, error) {
	r.result.Attempted += end.Attempted
	r.result.Succeeded += end.Succeeded
	r.result.Stop = end.Stop
	return end, err
}

// write keeps a record in the log, and for the caller of Session.Step.
func (r *run) write(record runlog.Record) error {
	r.mu.Lock()
	switch {
	case r.kept == nil:
	case record.Step != nil:
		r.kept.Step = *record.Step
	case record.Request != nil:
		r.kept.Requests = append(r.kept.Requests, *record.Request)
	case record.Sample != nil:
		r.kept.Samples = append(r.kept.Samples, *record.Sample)
	}
	r.mu.Unlock()
	return r.log.Write(record)
}

// gapSeed decides the gaps of a step's arrivals. Load generators that share a load
// must not send at the same instants, so each is given a seed of its own.
func gapSeed(r runlog.Run, s runlog.Step) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d", r.Seed, s.Index)
	return h.Sum64()
}

type run struct {
	cfg       Config
	client    *openai.Client
	watchers  []Watcher
	samplers  []*sampler
	readAhead int // prompts, 0 for as many as usual
	// lengths says how prompts of words get their length, nil where none are made.
	lengths *runlog.Lengths
	log     *runlog.Writer
	result  Result

	mu   sync.Mutex   // samples come beside requests
	kept *StepRecords // of the present step, nil where nobody reads them
}

// prepare finds out what can be known to go wrong before the first request.
func (r *run) prepare(ctx context.Context) error {
	if err := r.checkModels(ctx); err != nil {
		return err
	}
	if err := describe(&r.cfg.Run, r.cfg.Steps); err != nil {
		return err
	}
	if err := r.checkDataset(ctx); err != nil {
		return err
	}
	return r.openSamplers(ctx)
}

// checkDataset takes a first prompt, so that a file that cannot serve is told
// before a step begins.
func (r *run) checkDataset(ctx context.Context) error {
	if err := r.fitLengths(ctx, tokenizeTimeout); err != nil {
		return err
	}
	source, err := dataset.Open(r.dataset(runlog.Step{}))
	if err != nil {
		return err
	}
	defer source.Close()
	p, err := source.Next(ctx)
	if err != nil {
		return err
	}
	r.readAhead = readAheadOf(&p)
	if p.AimedTokens > 0 && p.ExpectedTokens == 0 {
		r.estimateLengths(ctx, p.AimedTokens)
		r.cfg.Run.Lengths = r.lengths
	}
	return nil
}

// readAheadOf is how many prompts such as the first may be held ready, 0 for as
// many as usual: long ones must not fill the memory.
func readAheadOf(p *dataset.Prompt) int {
	const (
		room  = 64 << 20 // bytes
		least = 16
		usual = 1024
	)
	size := len(p.Text) + 4*len(p.Tokens)
	for _, m := range p.Messages {
		size += len(m.Content)
	}
	if size*usual <= room {
		return 0
	}
	return max(least, room/size)
}

// dataset is the configuration of a step's prompts.
func (r *run) dataset(s runlog.Step) dataset.Config {
	d := r.cfg.Dataset
	d.Seed, d.API, d.RunID, d.Step = r.cfg.Run.Seed, r.cfg.Run.API, r.cfg.Run.ID, s.Index
	d.ReusePrompts = r.cfg.Run.ReusePrompts
	if r.lengths == nil {
		d.Tokenizer = tokenizer{client: r.client, model: r.cfg.Run.Model}
	}
	if d.Kind == dataset.ShareGPT && d.OutputLen == 0 {
		d.OutputLen = s.MaxTokens // the recorded answers need not be counted then
	}
	return d
}

func (r *run) steps(ctx context.Context) error {
	next := r.cfg.Next
	if next == nil {
		next = given(r.cfg.Steps)
	}
	for {
		s, more, err := next(r.result.Folder)
		if err != nil || !more {
			return err
		}
		end, err := r.count(r.step(ctx, s))
		if err != nil {
			return err
		}
		if end.Stop.Early() && (r.cfg.Next == nil || end.Stop != runlog.StopFailureRatio) {
			return nil
		}
	}
}

// given gives steps one after the other.
func given(steps []runlog.Step) func(string) (runlog.Step, bool, error) {
	n := 0
	return func(string) (s runlog.Step, more bool, err error) {
		if more = n < len(steps); more {
			s = steps[n]
		}
		n++
		return s, more, nil
	}
}

func (r *run) step(ctx context.Context, s runlog.Step) (runlog.StepEnd, error) {
	source, err := dataset.Open(r.dataset(s))
	if err != nil {
		return runlog.StepEnd{}, err
	}
	defer source.Close()
	if err := r.warmUp(ctx, s); err != nil {
		return runlog.StepEnd{}, err
	}
	first := r.sampleOnce(ctx, s.Index) // behind the warm-up, which is in no figure
	s.Started = time.Now()
	for _, record := range append([]runlog.Record{{Step: &s}}, first...) {
		if err := r.write(record); err != nil {
			return runlog.StepEnd{}, err
		}
	}
	stopSampling := r.keepSampling(ctx, s.Index)
	var meter load.Meter
	for _, w := range r.watchers {
		w.StepStarted(s, &meter)
	}
	runner := load.Runner{
		Send:  func(ctx context.Context, j load.Job) *openai.Trace { return r.client.Stream(ctx, r.request(s, j)) },
		Done:  r.done,
		Meter: &meter,
	}
	end, err := runner.Run(ctx, load.Plan{Step: s, Seed: gapSeed(r.cfg.Run, s), ReadAhead: r.readAhead}, source)
	for _, w := range r.watchers {
		w.StepEnded(end)
	}
	return end, cmp.Or(err, stopSampling(), r.write(runlog.Record{StepEnd: &end}))
}

func (r *run) done(q *runlog.Request) error {
	if err := r.write(runlog.Record{Request: q}); err != nil {
		return err
	}
	for _, w := range r.watchers {
		w.RequestDone(q)
	}
	return nil
}

// request is what a job asks of the endpoint. The step's own limit of tokens
// comes before the dataset's.
func (r *run) request(s runlog.Step, j load.Job) openai.Request {
	q := openai.Request{
		API: r.cfg.Run.API, Model: r.cfg.Run.Model,
		Prompt: j.Prompt.Text, Messages: j.Prompt.Messages, PromptTokens: j.Prompt.Tokens,
		MaxTokens: j.Prompt.MaxTokens, Planned: j.Planned,
		Timeout: s.Timeout, IdleTimeout: r.cfg.Ask.IdleTimeout,
		IgnoreEOS: r.cfg.Ask.IgnoreEOS, ContinuousUsage: r.cfg.Ask.ContinuousUsage, Extra: r.cfg.Ask.Extra,
	}
	if s.MaxTokens > 0 {
		q.MaxTokens = s.MaxTokens
	}
	return q
}

// tokenizer is the server's own.
type tokenizer struct {
	client *openai.Client
	model  string
}

func (t tokenizer) Tokenize(ctx context.Context, text string) ([]int32, error) {
	ids, failure := t.client.Tokenize(ctx, t.model, text)
	if failure != nil {
		return nil, fmt.Errorf("asking the server to tokenize: %w", failure)
	}
	return ids, nil
}

func (t tokenizer) Detokenize(ctx context.Context, ids []int32) (string, error) {
	text, failure := t.client.Detokenize(ctx, t.model, ids)
	if failure != nil {
		return "", fmt.Errorf("asking the server to detokenize: %w", failure)
	}
	return text, nil
}
