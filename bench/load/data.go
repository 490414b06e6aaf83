package load

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	calibrationTimeout = 30 * time.Second // for one answer
	leastWords         = 8                // of the longer of the prompts asked with
	mostWords          = 256

	countTime    = time.Minute   // for the recorded texts of a step
	countPrompts = 4 * readAhead // of a step that says no number
)

// prepareDataset reads the data set's file and takes a first prompt, so that a file that
// cannot serve ends the run before a step begins. It calibrates prompts of words that are
// to have a length.
func (s *Session) prepareDataset(ctx context.Context) error {
	var err error
	if s.cfg.Dataset.Records, err = dataset.Read(s.dataset(runlog.Step{})); err != nil {
		return err
	}
	source, err := dataset.Open(s.dataset(runlog.Step{}))
	if err != nil {
		return err
	}
	defer source.Close()
	p, err := source.Next(ctx)
	if err != nil {
		return err
	}
	aimed := p.AimedTokens
	if len(p.Turns) > 0 {
		aimed = p.Turns[0].Tokens
	}
	if aimed > 0 {
		s.calibrate(ctx, aimed)
	}
	return nil
}

// countRecords has the server count the recorded texts that a step needs before it begins,
// so that the server does nothing beside the load and no request waits for that. What is
// left after countTime is counted as it is needed.
func (s *Session) countRecords(ctx context.Context, step runlog.Step) {
	source, err := dataset.Open(s.dataset(step))
	if err != nil {
		return // the step shows it
	}
	defer source.Close()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for range min(cmp.Or(step.Requests, countPrompts), len(s.cfg.Dataset.Records)) {
		if _, err := source.Next(ctx); err != nil {
			return
		}
	}
}

// dataset is the configuration of a step's prompts.
func (s *Session) dataset(step runlog.Step) dataset.Config {
	d, run := s.cfg.Dataset, &s.cfg.Run
	d.Seed, d.API = run.Seed, run.API
	if !run.ReusePrompts {
		d.Step = step.Index
	}
	d.Tokenizer = func(ctx context.Context, text string) (int, bool) {
		ids, failure := s.client.Tokenize(ctx, run.Model, text)
		return len(ids), failure == nil
	}
	return d
}

// calibrate asks for the shortest answers to two prompts of words: what the usage says
// of them is how many tokens a word is, and how many the server adds, as by the chat
// template. The prompts of the load have their length by that, within a few per cent.
func (s *Session) calibrate(ctx context.Context, aimed int) {
	long := min(max(aimed, leastWords), mostWords)
	short := long / 4
	inShort, inLong := s.countTokens(ctx, short), 0
	if inShort > 0 { // else a server that hangs is not waited for again
		inLong = s.countTokens(ctx, long)
	}
	perWord := float64(inLong-inShort) / float64(long-short)
	if inShort == 0 || perWord < 0.25 || perWord > 16 { // which no tokenizer makes of short English words
		s.note("the server's usage does not say how long prompts are: their length is one word a token")
		return
	}
	template := max(0, int(math.Round(float64(inLong)-perWord*float64(long))))
	s.cfg.Dataset.TokensPerWord = perWord
	s.note("prompt lengths are right within a few per cent: the server counts %.2f tokens a word and adds %d", perWord, template)
}

// countTokens is how many tokens the server counts in a prompt of so many words, 0
// where it does not say.
func (s *Session) countTokens(ctx context.Context, words int) int {
	source, err := dataset.Open(dataset.Config{Kind: dataset.Random, Seed: s.cfg.Run.Seed, Step: -words, InputLen: words, OutputLen: 1})
	if err != nil {
		return 0 // cannot be
	}
	p, err := source.Next(ctx)
	if err != nil {
		return 0 // ctx is over
	}
	t := s.client.Stream(ctx, openai.Request{
		API: s.cfg.Run.API, Model: s.cfg.Run.Model, Prompt: p.Text, MaxTokens: 1, Timeout: calibrationTimeout, Extra: s.cfg.Ask.Extra,
	})
	if t.Usage == nil {
		return 0
	}
	return t.Usage.PromptTokens
}
