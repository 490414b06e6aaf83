package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Turn is what the user says in a conversation, and what is asked for in answer.
type Turn struct {
	Content   string
	MaxTokens int           // the length of the answer, 0 for the server's
	Tokens    int           // about how long Content is, 0 where it is not made
	Delay     time.Duration // the thinking time before the turn, without effect before the first
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

var multiTurn = kind{
	name: MultiTurn, keys: []string{"session_id"}, made: true, chat: true,
	open: func(c Config) Source {
		if c.Path != "" {
			return openFile(c)
		}
		return &madeSource{prompt: newMaker(c).conversation}
	},
	read: func(c Config) ([]Record, error) {
		reader := conversationReader{sessions: map[string]int{}, wholes: map[uint64]int{}, starts: map[uint64]int{}}
		err := readFile(c.Path, `{"messages": [{"role": "user", "content": "…"}]}`, reader.add)
		return reader.all, err
	},
}

func (d Delay) draw(r *rand.Rand) time.Duration {
	if d.Constant {
		return d.Mean
	}
	return time.Duration(r.ExpFloat64() * float64(d.Mean))
}

// conversation makes the i-th: turns of InputLen tokens behind a shared system prompt of PrefixLen tokens.
func (m maker) conversation(i uint64) Prompt {
	r := m.random("conversation", i)
	turns := m.cfg.Turns
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
			t.Delay = m.cfg.Delay.draw(r)
		}
		p.Turns = append(p.Turns, t)
	}
	return p
}

// conversationLine is a record of a file: ShareGPT's, messages as the API has them, or one turn of a session.
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

var roles = map[string]string{"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}

type conversationReader struct {
	records  int            // until now
	sessions map[string]int // where the conversation of a session is in all
	all      []Record
	// Records by the hashes of all their messages, and of their first ones.
	wholes, starts map[uint64]int
}

// add takes a record: a conversation, or turns of that of its session.
func (c *conversationReader) add(l conversationLine) error {
	c.records++
	messages, session := l.Messages, strings.TrimPrefix(string(l.SessionID), "null")
	for _, said := range l.Conversations {
		messages = append(messages, openai.Message{Role: roles[said.From], Content: said.Value})
	}
	if l.Prompt != "" {
		messages = append(messages, openai.Message{Role: "user", Content: l.Prompt})
	}
	p, answers, err := conversationPrompt(messages)
	isPublished := l.SessionID == nil && l.Conversations != nil
	switch {
	case isPublished && err != nil: // there are many such: it is counted as skipped
		p, answers, err = Prompt{}, nil, nil
	case !isPublished && err == nil:
		err = c.checkHistory(session, messages)
	}
	if err != nil {
		return err
	}
	if !(l.Delay >= 0 && l.Delay <= float64(longestTrace.Milliseconds())) {
		return fmt.Errorf("a delay of %g ms is not within 0 and a year", l.Delay)
	}
	for i := range p.Turns {
		p.Turns[i].Delay, p.Turns[i].MaxTokens = time.Duration(l.Delay*float64(time.Millisecond)), l.MaxTokens
	}
	at, known := c.sessions[session]
	if session == "" || !known {
		c.sessions[session] = len(c.all)
		c.all = append(c.all, Record{prompt: p, answers: answers})
		return nil
	}
	if len(p.Messages) > 0 {
		return fmt.Errorf("a system message is in it, and session %s has begun: keep only the first", session)
	}
	r := &c.all[at]
	r.prompt.Turns, r.answers = append(r.prompt.Turns, p.Turns...), append(r.answers, answers...)
	return nil
}

// checkHistory fails where an earlier record has the start of these messages, or starts with them. Outside a session
// the common start must have an answer in it, as conversations may open alike.
func (c *conversationReader) checkHistory(session string, messages []openai.Message) error {
	for _, within := range slices.Compact([]string{"", session}) {
		h, counts := fnv.New64a(), within != ""
		_, _ = io.WriteString(h, within) // it cannot fail
		for i, m := range messages {
			_, _ = fmt.Fprintf(h, "%s %q ", m.Role, m.Content)
			mine, others := c.starts, c.wholes
			if i == len(messages)-1 {
				mine, others = c.wholes, c.starts
			}
			if counts = counts || m.Role == "assistant"; !counts {
				continue
			}
			if at := others[h.Sum64()]; at > 0 {
				return fmt.Errorf("it is the conversation of record %d at another length: keep only the longest record of each conversation", at)
			}
			mine[h.Sum64()] = c.records
		}
	}
	return nil
}

// conversationPrompt makes system messages and turns of messages. The recorded answers to the
// turns, which may be empty, are not sent: live ones take their place.
func conversationPrompt(messages []openai.Message) (p Prompt, answers []string, err error) {
	for i, m := range messages {
		isUser := m.Role == "user"
		switch {
		case m.Role == "assistant" && len(answers) > 0:
			answers[len(answers)-1] = m.Content
		case strings.TrimSpace(m.Content) == "":
			return p, nil, fmt.Errorf("message %d is empty", i+1)
		case isUser && i > 0 && messages[i-1].Role == "user":
			return p, nil, fmt.Errorf("messages %d and %d are both of the user", i, i+1)
		case isUser:
			p.Turns = append(p.Turns, Turn{Content: m.Content})
			answers = append(answers, "")
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
