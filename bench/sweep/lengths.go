package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	tokenizeTimeout = 10 * time.Second // to find out whether the server tokenizes
	answerTimeout   = 30 * time.Second // for one of the answers that tell a length
	tokenizeIDs     = 8                // token ids to try it with
	maxWords        = 256              // of the prompts of those answers
)

// fitLengths finds out how prompts that are made to a length get it: as token ids
// that the model has, as text that the server tokenizes, or as words where it does
// not. A server that gives no answer within timeout does not tokenize: it may still
// complete.
func (r *run) fitLengths(ctx context.Context, timeout time.Duration) error {
	ids, kind := r.cfg.Run.API == openai.Completions, r.cfg.Dataset.Kind
	if kind != dataset.Random && kind != dataset.Prefix && (kind != dataset.Replay || !ids) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tooFew := r.fitVocabulary(asking)
	if ids {
		return tooFew
	}
	if tooFew != nil {
		r.lengths = &runlog.Lengths{Why: plaintext.Brief(tooFew.Error())}
		return nil
	}
	f := r.tryTokenizer(asking)
	switch {
	case f == nil:
	case asking.Err() != nil && ctx.Err() == nil:
		r.lengths = &runlog.Lengths{Why: fmt.Sprintf("the server does not tokenize: no answer within %s", timeout)}
	case unreachable(f) && f.Status == 0:
		return fmt.Errorf("asking the server to tokenize: %w", f)
	default:
		r.lengths = &runlog.Lengths{Why: plaintext.Brief("the server does not tokenize: " + f.Error())}
	}
	return nil
}

// tryTokenizer asks both ways once, with the lowest ids that prompts are made of.
func (r *run) tryTokenizer(ctx context.Context) *openai.Failure {
	ids := make([]int32, tokenizeIDs)
	for i := range ids {
		ids[i] = int32(dataset.FirstToken + i)
	}
	text, f := r.client.Detokenize(ctx, r.cfg.Run.Model, ids)
	if f == nil {
		_, f = r.client.Tokenize(ctx, r.cfg.Run.Model, text)
	}
	return f
}

// fitVocabulary lowers the token ids of prompts to those that the model has, where
// that can be found out.
func (r *run) fitVocabulary(ctx context.Context) error {
	d := &r.cfg.Dataset
	wanted := cmp.Or(d.VocabularySize, dataset.DefaultVocabulary)
	if r.cfg.Unchecked || wanted < dataset.LeastVocabulary {
		return nil // which opening the data set tells
	}
	source := "its card"
	size, _ := r.client.Vocabulary(ctx, r.cfg.Run.Model)
	if size == 0 {
		size, source = r.usableIDs(ctx, wanted), "what it detokenizes"
	}
	switch {
	case size == 0 || size >= wanted:
		return nil
	case size < dataset.LeastVocabulary:
		return fmt.Errorf("the model's vocabulary has %d tokens by %s, fewer than the %d that prompts of token ids need: use the chat API, or a data set of texts",
			size, source, dataset.LeastVocabulary)
	}
	r.note("the model's vocabulary has %d tokens by %s: prompts are made of the ids below, not of those below %d", size, source, wanted)
	d.VocabularySize = size
	return nil
}

// usableIDs is a number of token ids, at most wanted, of which the highest is a text
// to the server; 0 where it does not detokenize, or not the lowest id. Ids without
// text may be between, so it may be less than the vocabulary has.
func (r *run) usableIDs(ctx context.Context, wanted int) int {
	known := func(id int) (yes, told bool) {
		_, f := r.client.Detokenize(ctx, r.cfg.Run.Model, []int32{int32(id)})
		// What lies beyond the vocabulary has no text, or is refused.
		return f == nil, f == nil || f.Reason == openai.ReasonEmpty || f.Reason == openai.ReasonHTTP4xx || f.Reason == openai.ReasonHTTP5xx
	}
	switch highest, told := known(wanted - 1); {
	case highest:
		return wanted
	case !told:
		return 0
	}
	if lowest, _ := known(dataset.FirstToken); !lowest {
		return 0
	}
	low, high := dataset.FirstToken, wanted-1
	for high-low > 1 {
		middle := (low + high) / 2
		yes, told := known(middle)
		switch {
		case !told:
			return 0
		case yes:
			low = middle
		default:
			high = middle
		}
	}
	return low + 1
}

// estimateLengths asks for the shortest answers to two prompts of words: what the
// usage tells of them says how many tokens a word is, and how many the chat
// template adds. aimed is the length that a prompt is to have.
func (r *run) estimateLengths(ctx context.Context, aimed int) {
	if r.lengths == nil {
		r.lengths = &runlog.Lengths{Why: "a replay does not wait for a tokenizer"}
	}
	many := min(max(aimed, tokenizeIDs), maxWords)
	few := many / 4
	short := r.tokensOfWords(ctx, few)
	long := 0
	if short > 0 {
		long = r.tokensOfWords(ctx, many)
	}
	perWord := float64(long-short) / float64(many-few)
	if !dataset.PlausibleTokensPerWord(perWord) {
		r.note("the length of prompts is estimated, one word a token: %s; and no usage tells it", r.lengths.Why)
		return
	}
	r.lengths.TokensPerWord = perWord
	r.lengths.Template = max(0, int(math.Round(float64(long)-perWord*float64(many))))
	r.cfg.Dataset.TokensPerWord = perWord
	r.note("the length of prompts is estimated, %.2f tokens a word beside %d of the chat template by the usage of 2 short answers before the load: %s",
		perWord, r.lengths.Template, r.lengths.Why)
}

// tokensOfWords is how many tokens the server counts in a prompt of so many words, 0
// where it does not tell.
func (r *run) tokensOfWords(ctx context.Context, words int) int {
	source, err := dataset.Open(dataset.Config{
		Kind: dataset.Random, API: openai.Chat, Seed: r.cfg.Run.Seed, RunID: fmt.Sprintf("%s/%d words", r.cfg.Run.ID, words), InputLen: words, OutputLen: 1,
	})
	if err != nil {
		return 0 // cannot be
	}
	defer source.Close()
	p, err := source.Next(ctx)
	if err != nil {
		return 0 // ctx is over
	}
	t := r.client.Stream(ctx, openai.Request{
		API: openai.Chat, Model: r.cfg.Run.Model, Prompt: p.Text, MaxTokens: 1, Timeout: answerTimeout, Extra: r.cfg.Ask.Extra,
	})
	if t.Usage == nil {
		return 0
	}
	return t.Usage.PromptTokens
}
