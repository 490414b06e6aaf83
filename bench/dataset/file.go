package dataset

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Record is what a record of a file gives.
type Record struct {
	prompt  Prompt
	answers []string // that were recorded, to each turn of a conversation; empty for none
}

// openData opens a file behind the mark of its encoding, which files of Windows have.
func openData(path string) (*os.File, *bufio.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // which are there
	}
	return f, in, nil
}

// readFile reads a file of JSON objects of type T as [readObjects] does.
func readFile[T any](path, example string, record func(T) error) error {
	f, in, err := openData(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := readObjects(in, example, record)
	if err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	return err
}

// readObjects reads JSON objects of type T, one after the other or in one array, until record
// fails, and returns their number. Its errors show an example of one.
func readObjects[T any](in *bufio.Reader, example string, record func(T) error) (n int, err error) {
	first, _ := in.Peek(1)
	array := string(first) == "["
	d := json.NewDecoder(in)
	if array {
		_, _ = d.Token() // the bracket
	}
	for ; d.More(); n++ {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // an array was cut behind a comma; io.EOF is a proper end
		}
		if err != nil {
			return n, fmt.Errorf("record %d is no JSON object such as %s: %w", n+1, example, err)
		}
		if err := record(v); err != nil {
			return n, fmt.Errorf("record %d: %w", n+1, err)
		}
	}
	if _, err := d.Token(); array && err != nil {
		return n, fmt.Errorf("after record %d: %w", n, io.ErrUnexpectedEOF)
	}
	return n, nil
}

const questionExample = `{"question": "…"}`

// textKind is files with a prompt in each record, of type T.
func textKind[T any](name Kind, keys []string, example string, record func(Config, T) (Record, error)) kind {
	read := func(c Config) (all []Record, err error) {
		err = readFile(c.Path, example, func(v T) error {
			r, err := record(c, v)
			all = append(all, r)
			return err
		})
		return all, err
	}
	return kind{name: name, keys: keys, read: read, open: openFile}
}

var openQA = textKind(OpenQA, []string{"question"}, questionExample,
	func(_ Config, v struct{ Question string }) (Record, error) {
		return Record{prompt: Prompt{Text: v.Question}}, nil
	})

// The bounds on a question and its answer in tokens, vLLM's (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
)

// shareGPT takes of a conversation the first question and its answer, as vLLM does.
var shareGPT = textKind(ShareGPT, []string{"conversations"}, `{"conversations": [{"value": "…"}, {"value": "…"}]}`,
	func(_ Config, v struct{ Conversations []struct{ Value string } }) (Record, error) {
		if len(v.Conversations) < 2 || v.Conversations[1].Value == "" {
			return Record{}, nil
		}
		return Record{prompt: Prompt{Text: v.Conversations[0].Value}, answers: []string{v.Conversations[1].Value}}, nil
	})

type customRecord struct {
	Prompt       string
	Messages     []openai.Message
	MaxTokens    float64 `json:"max_tokens"`
	OutputTokens float64 `json:"output_tokens"`
}

// custom is prompts or conversations; messages go before a prompt where the API has them.
var custom = textKind(Custom, []string{"prompt", "messages"}, `{"prompt": "…"}`,
	func(c Config, v customRecord) (Record, error) {
		p := Prompt{Text: v.Prompt, MaxTokens: max(0, int(cmp.Or(v.MaxTokens, v.OutputTokens)))}
		switch {
		case len(v.Messages) == 0:
		case c.API != openai.Completions:
			p.Text, p.Messages = "", v.Messages
		case v.Prompt == "":
			return Record{}, errors.New("messages need the chat API: give --backend openai-chat")
		}
		return Record{prompt: p}, nil
	})

// fileSource gives out the prompts of a file, again and again.
type fileSource struct {
	cfg    Config
	order  []int // of the records
	at     int   // in order
	pass   int   // from 0
	usable bool  // a record was
	counter
}

func openFile(cfg Config) Source {
	s := &fileSource{cfg: cfg, order: random(cfg.Seed, "order", 0).Perm(len(cfg.Records))}
	if cfg.DisableShuffle {
		slices.Sort(s.order)
	}
	return s
}

func (s *fileSource) Next(ctx context.Context) (Prompt, error) {
	for ctx.Err() == nil {
		switch {
		case s.at < len(s.order):
		case !s.usable:
			return Prompt{}, fmt.Errorf("no record of data set %s gives a prompt: of %d, %d are longer than asked for and %d shorter, empty or without an answer",
				s.cfg.Path, len(s.order), s.count.TooLong, s.count.Skipped)
		case s.cfg.NoOversample:
			return Prompt{}, io.EOF
		default:
			s.at, s.pass = 0, s.pass+1
			s.count.Passes++
		}
		s.at++
		if p, ok := s.prompt(ctx, &s.cfg.Records[s.order[s.at-1]]); ok {
			s.usable = true
			s.count.Prompts++
			if p.Estimated {
				s.count.Estimated++
			}
			return p, nil
		}
	}
	return Prompt{}, ctx.Err()
}

// prompt makes a prompt of a record, or counts why there is none.
func (s *fileSource) prompt(ctx context.Context, r *Record) (Prompt, bool) {
	p, text := r.prompt, ""
	p.Messages, p.Turns = slices.Clone(p.Messages), slices.Clone(p.Turns) // the record keeps its own
	for _, m := range p.said() {
		text += m.Content
	}
	length := utf8.RuneCountInString(text)
	tooLong := s.cfg.MaxPromptLength > 0 && length > s.cfg.MaxPromptLength
	tooShort := strings.TrimSpace(text) == "" || length < s.cfg.MinPromptLength
	switch {
	case !tooLong && !tooShort && s.setLengths(ctx, &p, r.answers):
		s.finish(ctx, &p)
		return p, true
	case s.pass > 0: // which brings nothing new
	case tooLong:
		s.count.TooLong++
	default:
		s.count.Skipped++
	}
	return p, false
}

// setLengths sets the length of each answer: OutputLen, else max_tokens of the record, else
// the length of the recorded answer. It reports whether the record is one that vLLM takes.
func (s *fileSource) setLengths(ctx context.Context, p *Prompt, answers []string) bool {
	p.MaxTokens = cmp.Or(s.cfg.OutputLen, p.MaxTokens)
	for i := range p.Turns {
		t := &p.Turns[i]
		if t.MaxTokens = cmp.Or(s.cfg.OutputLen, t.MaxTokens); t.MaxTokens == 0 && answers[i] != "" {
			n, counted := s.tokens(ctx, answers[i])
			t.MaxTokens, p.Estimated = n, p.Estimated || !counted
		}
		if i > 0 && t.Delay == 0 {
			t.Delay = s.cfg.Delay.draw(random(s.cfg.Seed, "delay", uint64(s.at)<<16|uint64(i)))
		}
	}
	if s.cfg.Kind != ShareGPT {
		return true
	}
	question, _ := s.tokens(ctx, p.Text)
	if p.MaxTokens == 0 {
		n, counted := s.tokens(ctx, answers[0])
		p.MaxTokens, p.Estimated = n, !counted
		if n < minTurn {
			return false
		}
	}
	return question >= minTurn && question <= maxQuestion && question+p.MaxTokens <= maxExchange
}

func (p *Prompt) said() []openai.Message {
	all := slices.Clone(p.Messages)
	if p.Text != "" {
		all = append(all, openai.Message{Role: "user", Content: p.Text})
	}
	for _, t := range p.Turns {
		all = append(all, openai.Message{Role: "user", Content: t.Content})
	}
	return all
}

// tokens returns the length of a text, and whether the server counted it.
func (s *fileSource) tokens(ctx context.Context, text string) (n int, counted bool) {
	if s.cfg.Tokenizer != nil {
		n, counted = s.cfg.Tokenizer(ctx, text)
	}
	if !counted {
		n = (len(text) + 3) / 4
	}
	return n, counted
}

// finish puts the words of the step and the pass before a prompt, and sets the starts that others may share with it,
// one for each message: of a conversation up to its first turn, of a prompt sent verbatim all of it. Where the server
// does not count their tokens there are none, and the prompt is counted as SharedUnknown.
func (s *fileSource) finish(ctx context.Context, p *Prompt) {
	words := salt(s.cfg.Step, s.pass)
	if s.cfg.Verbatim {
		words = salt(s.cfg.Step, 0)
	}
	if said := p.said(); len(p.Turns) > 0 || s.cfg.Verbatim {
		h, tokens := fnv.New64a(), len(strings.Fields(words))
		_, _ = io.WriteString(h, words)                             // it cannot fail
		for _, m := range said[:len(said)-max(0, len(p.Turns)-1)] { // an answer is behind the first turn
			n, counted := s.tokens(ctx, m.Content)
			if !counted {
				s.count.SharedUnknown++
				p.Shared = nil
				break
			}
			tokens += n
			_, _ = fmt.Fprintf(h, "%s %q ", m.Role, m.Content)
			p.Shared = append(p.Shared, Shared{ID: h.Sum64(), Tokens: tokens})
		}
	}
	switch {
	case len(p.Messages) > 0:
		p.Messages[0].Content = words + p.Messages[0].Content
	case len(p.Turns) > 0:
		p.Turns[0].Content = words + p.Turns[0].Content
	default:
		p.Text = words + p.Text
	}
	if s.cfg.ChatTokens != nil && p.Text != "" {
		if ids, ok := s.cfg.ChatTokens(ctx, p.Text); ok {
			p.Text, p.Tokens, p.ExpectedTokens = "", ids, len(ids)
		}
	}
}

// salt returns the words before the prompts of a pass, other ones for each: a number whose
// digits are words. A step that is no digit, as a warm-up, stands as it is.
func salt(step, pass int) (text string) {
	digits := Words()
	if step < 0 || step >= len(digits) {
		return fmt.Sprintf("%d %d ", step, pass)
	}
	for n := pass*len(digits) + step; n > 0; n /= len(digits) {
		text = digits[n%len(digits)] + " " + text
	}
	return text
}
