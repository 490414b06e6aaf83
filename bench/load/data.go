package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	leastWords, mostWords = 8, 256        // of the longer of the prompts asked with
	usualBlockSize        = 16            // tokens, vLLM's on most cards
	countTime             = time.Minute   // for the recorded texts of a step
	countPrompts          = 4 * readAhead // of a step that says no number
)

// prepareDataset reads the file and takes a first prompt, so that what cannot serve ends the run before a step.
func (s *Session) prepareDataset(ctx context.Context) error {
	d, run := &s.cfg.Dataset, &s.cfg.Run
	d.Tokenizer = cached(func(ctx context.Context, text string) (int, *openai.Failure) {
		ids, failure := s.cfg.Endpoint.Tokenize(ctx, run.Model, text)
		return len(ids), failure
	})
	if d.Kind == dataset.Custom && run.API == openai.Completions && !d.SkipChatTemplate {
		d.ChatTokens = cached(func(ctx context.Context, text string) ([]int32, *openai.Failure) {
			return s.cfg.Endpoint.TokenizeChat(ctx, run.Model, []openai.Message{{Role: "user", Content: text}})
		})
	}
	var err error
	if d.Records, err = dataset.Read(*d); err != nil {
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
	if d.ChatTokens != nil && p.Tokens == nil {
		s.note("the server has no /tokenize for chats: prompts go as they are, without the chat template that vLLM's tool puts around them")
	}
	if s.aimed = p.AimedTokens; len(p.Turns) > 0 {
		s.aimed = p.Turns[0].Tokens
	}
	return nil
}

// checkLoad finds out how long prompts of words are, fails where the server would refuse all requests, and splits
// prompts that are to share what the server's prefix cache can hold.
func (s *Session) checkLoad(ctx context.Context) (err error) {
	if s.aimed > 0 {
		err = s.calibrate(ctx, s.aimed)
	} else if s.cfg.Ask.IgnoreEOS {
		_, err = s.try(ctx, leastWords)
	}
	if err != nil {
		return err
	}
	run := &s.cfg.Run
	prompt, answer := s.cfg.Dataset.Longest()
	if prompt += run.TemplateTokens; s.modelLength > 0 && prompt+answer > s.modelLength {
		return fmt.Errorf("prompts of up to %d tokens and answers of up to %d do not fit into the model's length of %d: give shorter ones", prompt, answer, s.modelLength)
	}
	run.BlockSize = cmp.Or(run.BlockSize, s.blockSize)
	return s.cfg.Dataset.SplitForCache(cmp.Or(run.BlockSize, usualBlockSize))
}

// cached keeps the answers of ask by text. After a failure it asks no more, as each failure may take the whole timeout.
func cached[V any](ask func(ctx context.Context, text string) (V, *openai.Failure)) func(ctx context.Context, text string) (V, bool) {
	known, silent := map[string]V{}, false
	return func(ctx context.Context, text string) (V, bool) {
		v, ok := known[text]
		if ok || silent {
			return v, ok
		}
		v, failure := ask(ctx, text)
		if failure == nil {
			known[text] = v
		}
		silent = failure != nil && ctx.Err() == nil
		return v, failure == nil
	}
}

// countRecords has the server count the tokens of a step's recorded texts before the step, so that it
// counts none during it. Texts that are left after countTime are counted when they are needed.
func (s *Session) countRecords(ctx context.Context, step runlog.Step) {
	source, err := dataset.Open(s.dataset(step))
	if err != nil {
		return // the step shows it
	}
	defer source.Close()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	prompts := cmp.Or(step.Requests, countPrompts)
	if s.cfg.Dataset.ChatTokens == nil { // else each pass has texts of its own
		prompts = min(prompts, len(s.cfg.Dataset.Records))
	}
	for range prompts {
		if _, err := source.Next(ctx); err != nil {
			return
		}
	}
}

func (s *Session) dataset(step runlog.Step) dataset.Config {
	d, run := s.cfg.Dataset, &s.cfg.Run
	d.Seed, d.API, d.Verbatim, d.Requests = run.Seed, run.API, run.ReusePrompts, step.Requests
	if !run.ReusePrompts {
		d.Step = step.Index
	}
	return d
}

// calibrate finds out of which words prompts can be made, and how long they are: exactly, of words that are one token
// each for the server; without a /tokenize within a few per cent, by the usages of two prompts.
func (s *Session) calibrate(ctx context.Context, aimed int) error {
	d, run := &s.cfg.Dataset, &s.cfg.Run
	if ids, failure := s.cfg.Endpoint.Tokenize(ctx, run.Model, dataset.VocabularyText()); failure == nil {
		d.Words = dataset.OneTokenWords(ids)
	}
	long := min(max(aimed, leastWords), mostWords)
	short, inLong := long/4, 0
	inShort, err := s.try(ctx, short)
	if d.Words != nil {
		run.TemplateTokens = max(0, inShort-short)
		return err
	}
	if inShort > 0 { // else a server that hangs is not waited for again
		inLong, err = s.try(ctx, long)
	}
	perWord := float64(inLong-inShort) / float64(long-short)
	switch {
	case err != nil:
		return err
	case perWord < 0.25 || perWord > 16: // which no tokenizer makes of short English words
		s.note("the server's usage does not say how long prompts are: their length is one word a token")
		return nil
	}
	d.TokensPerWord, run.TemplateTokens = perWord, max(0, int(math.Round(float64(inLong)-perWord*float64(long))))
	s.note("prompt lengths are right within a few per cent: the server counts %.2f tokens a word and adds %d", perWord, run.TemplateTokens)
	return nil
}

// try sends a made prompt of so many words for the shortest answer. It returns how many tokens the server counts in
// it, 0 where it does not say, and fails where it refuses such requests.
func (s *Session) try(ctx context.Context, words int) (tokens int, err error) {
	d := s.dataset(runlog.Step{})
	d.Step, d.PrefixLen = -words, words // no prompt of the load begins so
	request := s.request(runlog.Step{Timeout: 30 * time.Second}, job{prompt: dataset.SharedStart(d)})
	refused := func(t *openai.Trace) bool { return t.Failure != nil && t.Failure.Reason == openai.ReasonHTTP4xx }
	t := s.cfg.Endpoint.Stream(ctx, request)
	switch {
	case !refused(t):
		return cmp.Or(t.Usage, new(openai.Usage)).PromptTokens, nil
	case request.IgnoreEOS:
		request.IgnoreEOS = false
		if !refused(s.cfg.Endpoint.Stream(ctx, request)) {
			return 0, fmt.Errorf("the server refuses ignore_eos, give --no-ignore-eos: %w", t.Failure)
		}
	}
	return 0, fmt.Errorf("the server refuses the load's requests: %w", t.Failure)
}
