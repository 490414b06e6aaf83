package load

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// given is a source of prompts that a test wrote, and ends after them.
type given struct {
	prompts
	all []dataset.Prompt
}

func (g *given) Next(ctx context.Context) (dataset.Prompt, error) {
	p, err := g.prompts.Next(ctx)
	if err != nil {
		return p, err
	}
	return g.all[p.ExpectedTokens-1], nil
}

func givenPrompts(all ...dataset.Prompt) *given {
	return &given{prompts: prompts{at: make([]time.Duration, len(all))}, all: all}
}

// chats are n conversations of so many turns, each after 3 s of thinking time.
func chats(n, turns int) *given {
	var all []dataset.Prompt
	for i := range n {
		p := dataset.Prompt{Messages: []openai.Message{{Role: "system", Content: "s"}}, Shared: []dataset.Shared{{ID: 1, Tokens: 8}}}
		for turn := range turns {
			p.Turns = append(p.Turns, dataset.Turn{Content: fmt.Sprintf("%d.%d", i, turn+1), Tokens: 10, MaxTokens: 5, Delay: 3 * time.Second})
		}
		all = append(all, p)
	}
	return givenPrompts(all...)
}

// listener answers in a second, each answer by its number, and keeps what it was asked.
type listener struct {
	fails     string // the turn of this text
	reasoning int    // of 10 chunks
	counted   int    // tokens of reasoning that the usage tells
	mu        sync.Mutex
	asked     []job
}

func (l *listener) send(ctx context.Context, j job) *openai.Trace {
	j.prompt.Messages = slices.Clone(j.prompt.Messages)
	l.mu.Lock()
	l.asked = append(l.asked, j)
	l.mu.Unlock()
	t := (&standIn{takes: always(time.Second)}).send(ctx, j)
	said := j.prompt.Messages
	if t.Failure != nil || said == nil {
		return t
	}
	text := said[len(said)-1].Content
	if text == l.fails {
		t.Failure = &openai.Failure{Reason: openai.ReasonTruncated}
	}
	t.Answer = "to " + text
	t.Usage = &openai.Usage{PromptTokens: 100 * len(said), CompletionTokens: 5, ReasoningTokens: l.counted}
	if l.reasoning > 0 || l.counted > 0 {
		t.Usage.CompletionTokens = 1000
	}
	for i := range 10 {
		t.Chunks = append(t.Chunks, openai.Chunk{Reasoning: i < l.reasoning})
	}
	return t
}

// talk runs a step of conversations and returns its end, its requests in the order in which
// they were over, and the error.
func talk(t *testing.T, step runlog.Step, s dataset.Source, l *listener, modelLength int) (e runlog.StepEnd, all []*runlog.Request, most int64) {
	t.Helper()
	r := newStep(l.send, nil)
	m := r.meter
	r.modelLength, r.done = modelLength, func(q *runlog.Request) error {
		all = append(all, q)
		most = max(most, m.InFlight.Load())
		return nil
	}
	e, err := r.run(t.Context(), step, s)
	if err != nil || m.InFlight.Load() != 0 || m.Queued.Load() != 0 {
		t.Errorf("error %v, %d in flight and %d queued at the end", err, m.InFlight.Load(), m.Queued.Load())
	}
	e.Ended, e.Dataset = time.Time{}, runlog.DatasetCount{}
	return e, all, most
}

// A conversation has its place in flight in its thinking time too; its turns come behind
// the live answers, and all have one session.
func TestConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, begin := &listener{}, time.Now()
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Requests: 4}
		end, all, most := talk(t, step, chats(4, 3), l, 0)
		if diff := gocmp.Diff(runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Attempted: 12, Succeeded: 12}}, end); diff != "" || most != 2 {
			t.Errorf("%d in flight\n%s", most, diff)
		}
		// Three answers of 1 s and two times of thinking, by two after the other.
		if took := time.Since(begin); took != 18*time.Second {
			t.Errorf("took %s, want 18s", took)
		}
		sessions := map[string]int{}
		for _, j := range l.asked {
			sessions[j.session]++
		}
		if len(sessions) != 4 || sessions[""] != 0 {
			t.Errorf("turns by session: %v, want 4 of 3", sessions)
		}
		shared := map[int]int{} // tokens, by turn
		for _, q := range all {
			if shared[q.Turn] += q.SharedTokens; q.Trace.Started != q.Trace.Planned {
				t.Errorf("conversation %d, turn %d was sent %s late", q.Seq, q.Turn, q.Trace.Started.Sub(q.Trace.Planned))
			}
		}
		// The system prompt of all but the first to be sent; then all but the last token of
		// the prompt before and its answer.
		equal(t, "tokens shared by turn", map[int]int{1: 3 * 8, 2: 4 * (205 - 1), 3: 4 * (405 - 1)}, shared)
		last := l.asked[slices.IndexFunc(l.asked, func(j job) bool { return j.seq == 3 && len(j.prompt.Messages) == 6 })]
		var said []string
		for _, m := range last.prompt.Messages {
			said = append(said, m.Role+" "+m.Content)
		}
		want := []string{"system s", "user 3.1", "assistant to 3.1", "user 3.2", "assistant to 3.2", "user 3.3"}
		if diff := gocmp.Diff(want, said); diff != "" || last.prompt.MaxTokens != 5 {
			t.Errorf("the last turn asks for %d tokens behind (-want +got):\n%s", last.prompt.MaxTokens, diff)
		}
	})
}

// What ends a conversation before its last turn, and how that is accounted for.
func TestConversationsEnd(t *testing.T) {
	closed := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Requests: 2}
	for name, tt := range map[string]struct {
		step        runlog.Step
		fails       string
		modelLength int
		want        runlog.StepEnd
		took        time.Duration
	}{
		"a turn that failed": {
			closed, "1.2", 0,
			runlog.StepEnd{Stop: runlog.StopRequests, TurnsNotSent: 2, Account: runlog.Account{Attempted: 6, Succeeded: 5, Failed: map[openai.Reason]int{openai.ReasonTruncated: 1}}},
			13 * time.Second,
		},
		// Turn 3 would be of 405 + 10 + 5 tokens, turn 4 of 605 + 10 + 5.
		"the model's length": {closed, "", 420, runlog.StepEnd{Stop: runlog.StopRequests, TurnsNotSent: 2, AtModelLength: 2, Account: runlog.Account{Attempted: 6, Succeeded: 6}}, 12 * time.Second},
		"one less":           {closed, "", 419, runlog.StepEnd{Stop: runlog.StopRequests, TurnsNotSent: 4, AtModelLength: 2, Account: runlog.Account{Attempted: 4, Succeeded: 4}}, 8 * time.Second},
		"the duration, in an answer": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Duration: 4500 * time.Millisecond},
			"", 0,
			runlog.StepEnd{Stop: runlog.StopDuration, TurnsNotSent: 4, Account: runlog.Account{Attempted: 4, Succeeded: 4}},
			5 * time.Second,
		},
		"the duration, in thinking time": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Duration: 6 * time.Second},
			"", 0,
			runlog.StepEnd{Stop: runlog.StopDuration, TurnsNotSent: 4, Account: runlog.Account{Attempted: 4, Succeeded: 4}},
			6 * time.Second,
		},
		"the duration, at a rate, behind the last conversation": {
			runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 2, Duration: 6500 * time.Millisecond},
			"", 0,
			runlog.StepEnd{Stop: runlog.StopRequests, TurnsNotSent: 4, Account: runlog.Account{Attempted: 4, Succeeded: 4}},
			6500 * time.Millisecond,
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			begin := time.Now()
			end, _, _ := talk(t, tt.step, chats(2, 4), &listener{fails: tt.fails}, tt.modelLength)
			if diff := gocmp.Diff(tt.want, end); diff != "" || time.Since(begin) != tt.took {
				t.Errorf("took %s, want %s\n%s", time.Since(begin), tt.took, diff)
			}
		})
	}
}

// Conversations that were withdrawn before they were sent have turns that were not sent.
func TestWithdrawnConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var never int
		r := newStep((&listener{}).send, func(q *runlog.Request) error {
			if q.Never && q.Turn == 1 {
				never++
			}
			return nil
		})
		end, err := r.run(ctx, runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 3, MaxConcurrency: 1}, chats(3, 4))
		if err != nil || never != 2 || end.TurnsNotSent != 9 || end.Attempted != 3 || end.Canceled != 2 {
			t.Errorf("%d never sent, %+v, error %v", never, end, err)
		}
	})
}

// An answer with reasoning is at another place in the next prompt, which leaves that out.
func TestSharedBehindReasoning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, all, _ := talk(t, runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1}, chats(1, 3), &listener{reasoning: 5}, 0)
		var shared []int
		for _, q := range all {
			shared = append(shared, q.SharedTokens)
		}
		equal(t, "tokens shared", []int{0, 200, 400}, shared)
	})
}

// Reasoning is left out of the next prompt, and so takes no room of the model's length: as
// many tokens as the usage tells, else the share of chunks that held it.
func TestReasoningTakesNoRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		l    *listener
		want int // turns of 8 that fit into 2,000 tokens
	}{
		// Prompts have 200, 400, … tokens; behind them an answer of 1,000, then 10 + 5 of the next turn.
		"none":                  {&listener{}, 8},
		"counted by the server": {&listener{counted: 900}, 8},
		"known by its chunks":   {&listener{reasoning: 9}, 8},
		"half of the chunks":    {&listener{reasoning: 5}, 8},
		"a small part":          {&listener{reasoning: 1}, 6},
		"hidden, but counted":   {&listener{counted: 100}, 6},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, all, _ := talk(t, runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1}, chats(1, 8), tt.l, 2000)
			if len(all) != tt.want {
				t.Errorf("%d turns were sent, want %d", len(all), tt.want)
			}
		})
	}
}

// A request of a trace waits for the one that it continues, and for no place meanwhile:
// with one place for all, that could never come.
func TestSessionsKeepTheirOrder(t *testing.T) {
	at := func(seconds int, id, after string) dataset.Prompt {
		return dataset.Prompt{At: time.Duration(seconds) * time.Second, ID: id, After: after}
	}
	trace := []dataset.Prompt{at(0, "s", "s"), at(0, "s", "s"), at(0, "t", "t"), at(0, "", ""), at(9, "s", "s"), at(9, "2", "1"), at(9, "3", "2")}
	for places, want := range map[int][]time.Duration{0: {0, 1, 0, 0, 9, 9, 10}, 1: nil} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				end, all, most := talk(t, runlog.Step{Arrival: runlog.ArrivalReplay, MaxConcurrency: places}, givenPrompts(trace...), &listener{}, 0)
				slices.SortFunc(all, func(a, b *runlog.Request) int { return a.Seq - b.Seq })
				var got []time.Duration
				for _, q := range all {
					got = append(got, q.Trace.Started.Sub(all[0].Trace.Planned)/time.Second)
					if late := q.Trace.Started.Sub(q.Trace.Planned); late != q.Queued || late > 0 && places == 0 {
						t.Errorf("%d places: request %d was queued for %s and sent %s late", places, q.Seq, q.Queued, late)
					}
				}
				if diff := gocmp.Diff(want, got); diff != "" && want != nil || end.Succeeded != 7 || got[1] <= got[0] || got[6] <= got[5] {
					t.Errorf("%d places, %d in flight, sent at %v, want %v", places, most, got, want)
				}
			})
		}
	}
}

// A trace may be long: of a request that is over nothing is kept.
func TestSessionsForget(t *testing.T) {
	s := newStep((&standIn{takes: always(0)}).send, func(*runlog.Request) error { return nil })
	if _, err := s.run(t.Context(), runlog.Step{Arrival: runlog.ArrivalReplay}, givenPrompts(dataset.Prompt{ID: "a"}, dataset.Prompt{ID: "a", After: "a"})); err != nil {
		t.Fatal(err)
	}
	s.last.Range(func(id, _ any) bool {
		t.Errorf("%v is kept", id)
		return true
	})
}

// The server gets one session with all turns of a conversation.
func TestSessionsOnTheWire(t *testing.T) {
	sent := map[string]int{} // turns by session
	cfg := plan(t, endpoint(t, watching(func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		sent[r.Header.Get("X-Session-ID")]++
		return false
	})))
	cfg.Run.API, cfg.Steps = openai.Chat, cfg.Steps[:1]
	cfg.Dataset = dataset.Config{Kind: dataset.MultiTurn, InputLen: 20, OutputLen: 5, Turns: dataset.Range{From: 3, To: 3}}
	if result, err := Run(t.Context(), cfg); err != nil || result.Succeeded != 30 {
		t.Fatalf("%+v %v", result, err)
	}
	delete(sent, "") // models and calibration
	if turns := slices.Collect(maps.Values(sent)); !slices.Equal(turns, slices.Repeat([]int{3}, 10)) {
		t.Errorf("turns by session: %v, want 10 of 3", turns)
	}
}
