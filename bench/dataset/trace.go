package dataset

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trace is the layout of a trace's records, and which of them to take. vLLM's timed_trace counts in seconds and has
// blocks of 16 tokens, Mooncake's counts in milliseconds and has blocks of 512.
type Trace struct {
	Second float64       // how many seconds one unit of a timestamp is
	Block  int           // the tokens of a block that one of the hash ids names
	Speed  float64       // how much faster than recorded, 1 when 0
	From   time.Duration // requests recorded before, since the first, are left out
}

// trace is a file of instants and lengths, whose prompts are made. It is read as it goes.
var trace = kind{name: Replay, keys: []string{"timestamp"}, open: func(cfg Config) Source {
	s := &traceSource{cfg: cfg, maker: newMaker(cfg)}
	s.next, s.stop = iter.Pull2(traceRows(cfg.Path))
	return s
}}

type row struct {
	at            float64 // timestamp in its unit
	input, output int     // tokens; no output where none was recorded
	blocks        []int64 // hash ids
	id, after     string  // see [Prompt.ID]
	failed        bool    // in the original
}

// traceColumns are names in published traces: Mooncake, Bailian and vLLM; Azure 2023 and 2024; BurstGPT.
var traceColumns = map[string][]string{
	"timestamp": {"timestamp", "TIMESTAMP", "Timestamp"},
	"input":     {"input_length", "ContextTokens", "Request tokens"},
	"output":    {"output_length", "GeneratedTokens", "Response tokens"},
	"session":   {"session_id", "Session ID"},
	"id":        {"chat_id"},
	"after":     {"parent_chat_id"},
}

// longestTrace bounds the time from the first record to the last.
const longestTrace = 365 * 24 * time.Hour

// newRow reads a record; value returns what has a name in it, "" for none.
func newRow(value func(name string) string) (r row, err error) {
	first := func(column string) (text string) {
		for _, name := range traceColumns[column] {
			text = cmp.Or(text, value(name))
		}
		return text
	}
	session, output := first("session"), first("output")
	r.id, r.after = cmp.Or(session, first("id")), cmp.Or(session, first("after"))
	if r.after == "-1" { // in Bailian's traces, of no parent
		r.after = ""
	}
	var errAt, errInput error
	r.at, errAt = parseTimestamp(first("timestamp"))
	r.input, errInput = parseTokens("an input length", first("input"))
	if output != "" {
		r.output, err = parseTokens("an output length", output)
	}
	r.failed = r.input == 0 || output != "" && r.output == 0
	return r, cmp.Or(errAt, errInput, err)
}

// parseTimestamp reads a number, or a date as Azure's traces have it, in seconds.
func parseTimestamp(text string) (float64, error) {
	if text == "" {
		return 0, errors.New("no timestamp in it")
	}
	if at, err := strconv.ParseFloat(text, 64); err == nil {
		return at, nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04:05Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return float64(at.UnixMicro()) / 1e6, nil
		}
	}
	return 0, fmt.Errorf("%.40q is no timestamp", text)
}

func parseTokens(name, text string) (int, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= maxPromptTokens) {
		return 0, fmt.Errorf("%s of %.40q tokens", name, text)
	}
	return int(n), nil
}

// traceRows reads a trace: JSON objects, or CSV with names in its first line. An error ends it.
func traceRows(path string) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		f, in, err := openData(path)
		if err != nil {
			yield(row{}, err)
			return
		}
		defer f.Close()
		take := func(r row, err error) error {
			if err == nil && !yield(r, nil) {
				return io.EOF // no more are wanted
			}
			return err
		}
		if begin, _ := in.Peek(1); strings.ContainsAny(string(begin), "{[") {
			const example = `{"timestamp": 0, "input_length": 100, "output_length": 10}`
			_, err = readObjects(in, example, func(v map[string]json.RawMessage) error {
				r, err := newRow(func(name string) string { return strings.Trim(strings.TrimPrefix(string(v[name]), "null"), `"`) })
				if ids := v["hash_ids"]; err == nil && ids != nil {
					err = json.Unmarshal(ids, &r.blocks)
				}
				return take(r, err)
			})
		} else {
			err = readTable(in, take)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			yield(row{}, err)
		}
	}
}

func readTable(in io.Reader, take func(row, error) error) error {
	table := csv.NewReader(in)
	table.ReuseRecord = true
	head, err := table.Read()
	if errors.Is(err, io.EOF) {
		return nil // it is empty
	}
	head = slices.Clone(head)
	for _, column := range []string{"timestamp", "input", "output"} {
		names := traceColumns[column]
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(head, name) }) {
			return fmt.Errorf("no column of its first line, %.80q, has a name of %q", strings.Join(head, ","), names)
		}
	}
	for n := 1; ; n++ {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(newRow(func(name string) string {
				if i := slices.Index(head, name); i >= 0 {
					return cells[i]
				}
				return ""
			}))
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
	}
}

// traceSource gives out the requests of a trace, once.
type traceSource struct {
	cfg   Config
	maker maker
	next  func() (row, error, bool)
	stop  func()
	read  int // records
	given int // prompts

	first, last float64 // timestamps
	counter
}

func (s *traceSource) Close() { s.stop() }

// Next leaves out, and counts, requests that failed and those whose answers have no length.
func (s *traceSource) Next(ctx context.Context) (Prompt, error) {
	for ctx.Err() == nil {
		r, err, more := s.next()
		if !more && s.given > 0 {
			return Prompt{}, io.EOF
		}
		if s.read++; s.read == 1 {
			s.first, s.last = r.at, r.at
		}
		seconds := (r.at - s.first) * s.cfg.Trace.Second
		switch {
		case err != nil:
		case !more:
			err = fmt.Errorf("of its %d records none is of a request that succeeded, from %s on: give --output-len where answers have no recorded length", s.read-1, s.cfg.Trace.From)
		case r.at < s.last:
			err = fmt.Errorf("record %d: its timestamp %v is before that of the record before", s.read, r.at)
		case !(seconds <= longestTrace.Seconds()): // as of a timestamp of NaN too
			err = fmt.Errorf("record %d: its timestamp %v is not within a year of the first: set --timed-trace-sec-multiplier", s.read, r.at)
		}
		if err != nil {
			return Prompt{}, fmt.Errorf("reading data set %s as %s: %w", s.cfg.Path, s.cfg.Kind, err)
		}
		s.last = r.at
		at := time.Duration(seconds*float64(time.Second)) - s.cfg.Trace.From
		switch {
		case at < 0:
		case r.failed || cmp.Or(s.cfg.OutputLen, r.output) == 0:
			s.count.Skipped++
		default:
			p := s.prompt(r)
			p.At = time.Duration(float64(at) / cmp.Or(s.cfg.Trace.Speed, 1)).Round(time.Microsecond)
			s.count.Prompts++
			if s.given++; s.given == s.cfg.Requests {
				count := s.count
				_, err := s.Next(ctx) // which nobody takes
				count.Cut = err == nil
				s.count = count
			}
			return p, nil
		}
	}
	return Prompt{}, ctx.Err()
}

// prompt makes the prompt of a record. Equal hash ids stand for equal blocks; what they do not cover is its own. A
// cache has a block only behind the same ones, so a start is known by all ids up to its end.
func (s *traceSource) prompt(r row) Prompt {
	all, block := s.maker.units(r.input), s.maker.units(s.cfg.Trace.Block)
	units := make([]int32, 0, all)
	var shared []Shared
	chain := fnv.New64a()
	for _, id := range r.blocks {
		units = s.maker.draw(units, min(block, all-len(units)), s.maker.random("block", uint64(id)))
		_, _ = fmt.Fprintln(chain, id) // it cannot fail
		shared = append(shared, s.maker.shared("start", chain.Sum64(), min(r.input, (len(shared)+1)*s.cfg.Trace.Block))...)
	}
	units = s.maker.draw(units, all-len(units), s.maker.random("trace", uint64(s.read)))
	p := s.maker.prompt(units, r.input)
	p.MaxTokens, p.Shared, p.ID, p.After = cmp.Or(s.cfg.OutputLen, r.output), shared, r.id, r.after
	return p
}
