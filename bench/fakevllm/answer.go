package fakevllm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	s.mu.Lock()
	fault := cmp.Or(Fault(r.PathValue("fault")), s.fault)
	s.mu.Unlock()
	req, ok := readRequest(w, r)
	if !ok || s.refuse(w, r, &req, fault) {
		return
	}
	q := s.newSequence(w, &req)
	if q == nil {
		return
	}
	a := newAnswer(w, r, req, s.cfg.Model)
	a.prompt, a.isBroken = q.prompt, fault == FaultDegenerate
	if s.cache != nil {
		a.cached = &q.cached
	}
	if fault == FaultSlowStream { // without the engine, until the client has gone
		for a.failed == nil && a.ctx.Err() == nil {
			a.sendTokens(a.sent + 1)
			time.Sleep(slowStreamGap)
		}
		return
	}
	s.submit(q)
	defer s.cancel(q)
	s.stream(a, q, fault)
}

// stream sends tokens as the engine makes them; those made during the last write are one chunk.
func (s *Server) stream(a *answer, q *sequence, fault Fault) {
	for chunks := 0; a.failed == nil; {
		s.wait(a.ctx, q.wake)
		made := int(q.made.Load())
		if made > a.sent {
			a.sendTokens(made)
			chunks++
		}
		complete := made == q.limit
		if fault == FaultStall && (complete || chunks >= stallAfter) {
			s.wait(a.ctx, nil)
		}
		if complete {
			a.finish(q.finish)
			return
		}
	}
}

// wait waits for wake, and aborts when the client has gone or the engine has stopped.
func (s *Server) wait(ctx context.Context, wake <-chan struct{}) {
	select {
	case <-wake:
		return
	case <-ctx.Done():
	case <-s.stopped:
	}
	panic(http.ErrAbortHandler)
}

const endMark = "data: [DONE]\n\n"

// answer is one stream of events to a client.
type answer struct {
	w        http.ResponseWriter
	ctx      context.Context // of the request
	rc       *http.ResponseController
	req      request
	frame    chunk         // of every event
	prompt   int           // tokens
	cached   *atomic.Int64 // of these, from the prefix cache; nil without one
	sent     int           // tokens
	isBroken bool          // see FaultDegenerate
	failed   error         // the first write that failed
}

// newAnswer starts the event stream.
func newAnswer(w http.ResponseWriter, r *http.Request, req request, model string) *answer {
	frame := chunk{ID: "cmpl-" + r.Header.Get("X-Request-Id"), Object: "text_completion", Created: time.Now().Unix(), Model: model}
	if req.chat {
		frame.ID, frame.Object = "chat"+frame.ID, "chat.completion.chunk"
	}
	a := &answer{w: w, ctx: r.Context(), rc: http.NewResponseController(w), req: req, frame: frame}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	a.failed = a.rc.Flush()
	return a
}

type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta,omitempty"`
	Text         *string  `json:"text,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	// Details are nil without a prefix cache.
	Details map[string]int64 `json:"prompt_tokens_details,omitempty"`
}

func (a *answer) textChunk(text string) chunk {
	c := a.frame
	c.Choices = []choice{{Text: &text}}
	if a.req.chat {
		c.Choices = []choice{{Delta: &message{Content: text}}}
	}
	return c
}

func (a *answer) usage() *usage {
	u := &usage{PromptTokens: a.prompt, TotalTokens: a.prompt + a.sent, CompletionTokens: a.sent}
	if a.cached != nil {
		u.Details = map[string]int64{"cached_tokens": a.cached.Load()}
	}
	return u
}

func (a *answer) send(c chunk) {
	if a.req.StreamOptions.ContinuousUsageStats {
		c.Usage = a.usage()
	}
	a.write(fmt.Appendf(nil, "data: %s\n\n", encode(c)))
}

func (a *answer) write(event []byte) {
	if a.failed != nil {
		return
	}
	if _, a.failed = a.w.Write(event); a.failed == nil {
		a.failed = a.rc.Flush()
	}
}

var vocabulary = strings.Fields(`the a queue fills while cards decode each step adds one token per request and latency
grows with load memory holds keys values pages blocks of every prompt so long answers take more room than short ones
when users arrive faster wait longer until batch has free slot power rises temperature follows fans spin up`)

// answerTokens are those of every answer from one up to another.
func answerTokens(from, to int) (tokens []string) {
	for n := from; n < to; n++ {
		tokens = append(tokens, vocabulary[n%len(vocabulary)])
	}
	return tokens
}

// sendTokens sends the text of the tokens up to n; a chat's first event names the assistant.
func (a *answer) sendTokens(n int) {
	if a.req.chat && a.sent == 0 {
		c := a.frame
		c.Choices = []choice{{Delta: &message{Role: "assistant"}}}
		a.send(c)
	}
	text := strings.Join(answerTokens(a.sent, n), " ")
	if a.isBroken {
		text = strings.Repeat("!!!!!!!!", n-a.sent)
	}
	if a.sent > 0 {
		text = " " + text
	}
	a.sent = n
	a.send(a.textChunk(text))
}

func (a *answer) finish(reason string) {
	last := a.textChunk("")
	last.Choices[0].FinishReason = &reason
	a.send(last)
	if a.req.StreamOptions.IncludeUsage {
		c := a.frame
		c.Choices, c.Usage = []choice{}, a.usage()
		a.send(c)
	}
	a.write([]byte(endMark))
}
