package load

import (
	"cmp"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// bytesPerToken is about how long a token of text is.
const bytesPerToken = 4

// converse sends the turns of a conversation, each behind the answer to the one before and its thinking time. A turn
// that fails ends it, as do the end of the step's time and the model's length.
func (s *activeStep) converse(j job, queued time.Duration) (endedAt time.Time, failure *openai.Failure) {
	turns := j.prompt.Turns
	j.session = rand.Text()
	j.prompt.Messages = slices.Clip(j.prompt.Messages)
	for i, turn := range turns {
		if i > 0 {
			j.planned = endedAt.Add(turn.Delay)
			sleepUntil(s.talking, j.planned)
			tokens := j.used + cmp.Or(turn.Tokens, len(turn.Content)/bytesPerToken) + turn.MaxTokens
			isTooLong, timeEnded := s.modelLength > 0 && tokens > s.modelLength, s.talking.Err() != nil
			if isTooLong && !timeEnded {
				s.atModelLength.Add(1)
			}
			if isTooLong || timeEnded {
				s.turnsNotSent.Add(int64(len(turns) - i))
				break
			}
			s.meter.Attempted.Add(1)
		}
		j.prompt.MaxTokens = turn.MaxTokens
		j.prompt.Messages = append(j.prompt.Messages, openai.Message{Role: "user", Content: turn.Content})
		t := s.send(s.inFlight, j)
		endedAt = time.Now()
		s.finish(j, &runlog.Request{Queued: queued, Turn: i + 1, Trace: *t})
		if t.Failure != nil {
			s.turnsNotSent.Add(int64(len(turns) - i - 1))
			return endedAt, t.Failure
		}
		j.afterTurn(t)
		queued = 0 // of the first turn
	}
	return endedAt, nil
}

func (j *job) afterTurn(t *openai.Trace) {
	j.count = runlog.DatasetCount{} // which was of the first turn
	j.prompt.Messages = append(j.prompt.Messages, openai.Message{Role: "assistant", Content: t.Answer})
	u := t.Usage
	if u == nil {
		return
	}
	reasoning := u.ReasoningTokens // of the answer, which no later prompt holds
	if reasoning == 0 {
		chunks := 0
		for _, c := range t.Chunks {
			if c.Reasoning {
				chunks++
			}
		}
		reasoning = u.CompletionTokens * chunks / max(1, len(t.Chunks))
	}
	j.used = u.PromptTokens + u.CompletionTokens - reasoning
	j.shared = j.used - 1 // the last token of an answer is not computed on
	if reasoning > 0 {
		j.shared = u.PromptTokens // behind it the answer is at another place
	}
}

// prefixes are the starts of prompts that were sent, each with the most tokens of it.
type prefixes struct {
	mu   sync.Mutex
	sent map[uint64]int
}

// take returns how many tokens of a prompt began one that was sent before, and notes its own starts.
func (p *prefixes) take(starts []dataset.Shared) (tokens int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, start := range starts {
		sent := p.sent[start.ID]
		tokens = max(tokens, min(start.Tokens, sent))
		p.sent[start.ID] = max(sent, start.Tokens)
	}
	return tokens
}
