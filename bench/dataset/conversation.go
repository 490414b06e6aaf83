package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Turn is what the user says in a conversation, and what is asked for in answer.
type Turn struct {
	Content string
	// MaxTokens is the length of the answer, 0 for the server's.
	MaxTokens int
	// Tokens is about how long Content is, 0 where it is not made.
	Tokens int
	// Delay is the thinking time before the turn, without effect before the first.
	Delay time.Duration
}

// Conversations say how made conversations look.
type Conversations struct {
	Turns Range
	Delay Delay
}

// Delay is a thinking time: the mean of an exponential distribution, or always the same.
type Delay struct {
	Mean     time.Duration
	Constant bool
}

// Range is from From to To, both of them in it.
type Range struct{ From, To int }

// ParseRange reads 4 or 2-8.
func ParseRange(text string) (Range, error) {
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	low, errLow := strconv.Atoi(from)
	high, errHigh := strconv.Atoi(to)
	if errLow != nil || errHigh != nil || low < 1 || high < low {
		return Range{}, fmt.Errorf("%q is no number of turns such as 4 or 2-8", text)
	}
	return Range{low, high}, nil
}

// ParseDelay reads 5s, the mean of an exponential distribution, or constant:5s.
func ParseDelay(text string) (d Delay, err error) {
	text, d.Constant = strings.CutPrefix(text, "constant:")
	d.Mean, err = time.ParseDuration(text)
	if err == nil && d.Mean < 0 {
		err = fmt.Errorf("%s is below 0", d.Mean)
	}
	return d, err
}

// multiTurn is conversations: made, or from a file.
var multiTurn = kind{
	name: MultiTurn, keys: []string{"session_id"}, made: true, chat: true,
	open: func(c Config) Source {
		if c.Path != "" {
			return openFile(c)
		}
		return &conversationSource{maker: newMaker(c)}
	},
	read: func(c Config) ([]Record, error) {
		reader := newConversationReader()
		_, err := readFile(c.Path, `{"messages": [{"role": "user", "content": "…"}]}`, func(l conversationLine) (Record, error) { return Record{}, reader.add(l) })
		return reader.all, err
	},
}

// conversationSource makes conversations without end.
type conversationSource struct {
	maker maker
	seq   uint64
	counter
}

// Next implements [Source].
func (s *conversationSource) Next(ctx context.Context) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	p := s.maker.conversation(s.seq)
	s.seq++
	s.count.Prompts++
	return p, nil
}

// draw draws a thinking time.
func (d Delay) draw(r *rand.Rand) time.Duration {
	if d.Constant {
		return d.Mean
	}
	return time.Duration(r.ExpFloat64() * float64(d.Mean))
}

// conversation makes the i-th conversation: turns of InputLen tokens, behind a system
// prompt of PrefixLen tokens that all share.
func (m maker) conversation(i uint64) Prompt {
	r := m.random("conversation", i)
	turns := m.cfg.Conversations.Turns
	p := Prompt{Shared: m.shared("prefix", 0, m.cfg.PrefixLen)}
	if m.cfg.PrefixLen > 0 {
		units := m.draw(nil, m.units(m.cfg.PrefixLen), m.random("prefix", 0))
		p.Messages = []openai.Message{{Role: "system", Content: m.text(units)}}
	}
	for n := range turns.From + r.IntN(turns.To-turns.From+1) {
		t := Turn{
			Tokens:    spread(r, m.cfg.InputLen, m.cfg.InputRangeRatio),
			MaxTokens: spread(r, m.cfg.OutputLen, m.cfg.OutputRangeRatio),
		}
		t.Content = m.text(m.draw(nil, m.units(t.Tokens), r))
		if n > 0 {
			t.Delay = m.cfg.Conversations.Delay.draw(r)
		}
		p.Turns = append(p.Turns, t)
	}
	return p
}

// conversationLine is a record of a file of conversations: ShareGPT's, messages as the
// API has them, or one turn of a session.
type conversationLine struct {
	Conversations []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
	Messages  []openai.Message `json:"messages"`
	SessionID json.RawMessage  `json:"session_id"`
	Delay     float64          `json:"delay"` // ms
	Prompt    string           `json:"prompt"`
	MaxTokens int              `json:"max_tokens"`
}

// messages are those of the record in the API's words.
func (l *conversationLine) messages() []openai.Message {
	roles := map[string]string{"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
	all := slices.Clone(l.Messages)
	for _, c := range l.Conversations {
		all = append(all, openai.Message{Role: roles[c.From], Content: c.Value})
	}
	if l.Prompt != "" {
		all = append(all, openai.Message{Role: "user", Content: l.Prompt})
	}
	return all
}

// form tells records of one file apart from those of another kind.
func (l *conversationLine) form() string {
	switch {
	case l.SessionID != nil:
		return "session_id"
	case l.Conversations != nil:
		return "conversations"
	}
	return "messages"
}

// conversationReader makes conversations of the records of a file.
type conversationReader struct {
	form     string                      // of the first record
	last     map[string][]openai.Message // of the record before, of the same session where there are sessions
	sessions map[string]int              // where the conversation of a session is in all
	all      []Record
}

func newConversationReader() *conversationReader {
	return &conversationReader{last: map[string][]openai.Message{}, sessions: map[string]int{}}
}

// add takes a record. Assistant's messages are left out: live answers take their place.
func (c *conversationReader) add(l conversationLine) error {
	messages, session := l.messages(), strings.TrimPrefix(string(l.SessionID), "null")
	last := c.last[session]
	switch {
	case c.form != "" && l.form() != c.form:
		return fmt.Errorf("it has %q, and those before %q: give files of one kind", l.form(), c.form)
	case len(last) > 0 && len(messages) > len(last) && slices.Equal(messages[:len(last)], last):
		return errors.New("it repeats the messages of the record before and adds to them: keep only the last record of each conversation")
	}
	c.form, c.last[session] = l.form(), messages
	p, answers, err := conversationPrompt(messages)
	if err != nil && c.form == "conversations" { // published data has many: it is counted as skipped
		c.all = append(c.all, Record{})
		return nil
	}
	if err != nil {
		return err
	}
	delay := time.Duration(l.Delay * float64(time.Millisecond))
	for i := range p.Turns {
		p.Turns[i].Delay, p.Turns[i].MaxTokens = delay, l.MaxTokens
	}
	return c.join(session, p, answers)
}

// join adds a conversation, or turns to that of their session.
func (c *conversationReader) join(session string, p Prompt, answers []counted) error {
	at, known := c.sessions[session]
	switch {
	case session == "" || !known:
		c.sessions[session] = len(c.all)
		c.all = append(c.all, Record{prompt: p, answers: answers})
	case len(p.Messages) > 0:
		return fmt.Errorf("a system message is in it, and session %s has begun: keep only the first", session)
	default:
		r := &c.all[at]
		r.prompt.Turns = append(r.prompt.Turns, p.Turns...)
		r.answers = append(r.answers, answers...)
	}
	return nil
}

// conversationPrompt splits messages into what stands before the first turn, the turns of
// the user, and the recorded answers to them.
func conversationPrompt(messages []openai.Message) (p Prompt, answers []counted, err error) {
	for i, m := range messages {
		isUser := m.Role == "user"
		switch {
		case strings.TrimSpace(m.Content) == "":
			return p, nil, fmt.Errorf("message %d is empty", i+1)
		case isUser && i > 0 && messages[i-1].Role == "user":
			return p, nil, fmt.Errorf("messages %d and %d are both of the user", i, i+1)
		case isUser:
			p.Turns = append(p.Turns, Turn{Content: m.Content})
			answers = append(answers, counted{})
		case m.Role == "assistant" && len(answers) > 0:
			answers[len(answers)-1].text = m.Content
		case m.Role == "system" && len(p.Turns) == 0:
			p.Messages = append(p.Messages, m)
		default:
			return p, nil, fmt.Errorf("message %d is of %q: want an optional system message, then user and assistant in turns", i+1, m.Role)
		}
	}
	if len(p.Turns) == 0 {
		return p, nil, errors.New("it has no message of the user")
	}
	return p, answers, nil
}
