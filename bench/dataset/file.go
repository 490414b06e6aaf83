package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// maxBadShown bounds how many bad records are told one by one.
const maxBadShown = 5

// reading is how the records of a file become prompts.
type reading struct {
	parse    parse
	limit    func(context.Context, *Prompt) error // of the answer; nil where the file tells, or nobody
	addNonce func(*Prompt)                        // makes a prompt new; nil for a nonce before its text
	why      func() string                        // why lengths are estimated; nil where none ever are
}

// file gives out the prompts of a file, again and again unless they are timed.
type file struct {
	reading
	cfg    Config
	form   form
	f      *os.File
	rec    *records
	nonces nonces

	seq    uint64 // prompts so far
	pass   int    // from 0
	usable bool   // a record of this pass was
	// seen are the records of the first pass; later ones tell nothing new.
	seen     int
	bad      int
	firstBad []string // as an error tells them
	problem  string   // why the first that gave no prompt did not
	count    runlog.DatasetCount
	err      error // for good
}

func openFile(cfg Config, form form) (Source, error) {
	s := &file{cfg: cfg, form: form, reading: form.read(cfg), rec: newRecords(maxRecord), nonces: newNonces(cfg.RunID, cfg.Step)}
	var err error
	if s.f, err = openRegular(cfg.Path); err != nil {
		return nil, readingError(cfg.Path, err)
	}
	if err := s.rewind(); err != nil {
		s.f.Close()
		return nil, readingError(cfg.Path, err)
	}
	return s, nil
}

func (s *file) rewind() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in, err := unpacked(s.f)
	if err != nil {
		return err
	}
	s.rec.reset(in, s.form.text)
	s.usable = false
	return nil
}

func (s *file) Next(ctx context.Context) (Prompt, error) {
	if s.err != nil {
		return Prompt{}, s.err
	}
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	p, err := s.find(ctx)
	if err == nil {
		return p, nil
	}
	s.err = err
	if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		s.err = readingError(s.cfg.Path, err)
	}
	return Prompt{}, s.err
}

// find reads up to the next record that gives a prompt.
func (s *file) find(ctx context.Context) (Prompt, error) {
	for {
		record, err := s.rec.next(ctx)
		if errors.Is(err, io.EOF) {
			if err := s.endOfPass(); err != nil {
				return Prompt{}, err
			}
			continue
		}
		var p Prompt
		if err == nil {
			p, err = s.prompt(ctx, record)
		}
		if s.pass == 0 {
			s.seen++
		}
		if left, ok := errors.AsType[*leftOut](err); ok {
			if err := s.leaveOut(left); err != nil {
				return Prompt{}, err
			}
			continue
		}
		if err != nil {
			return Prompt{}, err
		}
		s.usable = true
		s.count.Prompts++
		if p.Estimated {
			s.count.Estimated++
		}
		switch {
		case s.cfg.ReusePrompts:
		case s.addNonce != nil:
			s.addNonce(&p)
		default:
			addNonce(&p, s.nonces.at(s.seq))
		}
		s.seq++
		return p, nil
	}
}

// prompt makes a prompt of a record, or says why it is left out.
func (s *file) prompt(ctx context.Context, record []byte) (Prompt, error) {
	p, err := s.parse(record)
	if err != nil {
		return Prompt{}, err
	}
	length := p.length()
	if most := s.cfg.MaxPromptLength; most > 0 && length > most {
		return Prompt{}, &leftOut{tooLong, fmt.Sprintf("%d characters, the most to take is %d", length, most)}
	}
	if least := s.cfg.MinPromptLength; p.Tokens == nil && length < least {
		return Prompt{}, &leftOut{skipped, fmt.Sprintf("%d characters, the least to take is %d", length, least)}
	}
	switch {
	case s.cfg.OutputLen > 0:
		p.MaxTokens = s.cfg.OutputLen
	case s.limit != nil:
		if err := s.limit(ctx, &p); err != nil {
			return Prompt{}, err
		}
	}
	return p, nil
}

// leaveOut counts a record that gives no prompt, once, and fails when too many are
// bad.
func (s *file) leaveOut(left *leftOut) error {
	if s.pass > 0 {
		return nil
	}
	told := s.rec.where() + ": " + left.reason
	if s.problem == "" {
		s.problem = told
	}
	switch left.fault {
	case tooLong:
		s.count.TooLong++
		return nil
	case skipped:
		s.count.Skipped++
		return nil
	}
	s.bad++
	s.count.BadLine++
	if len(s.firstBad) < maxBadShown {
		s.firstBad = append(s.firstBad, told)
		s.count.FirstBad = append(s.count.FirstBad, told)
	}
	if most := max(0, s.cfg.MaxBadRecords); s.bad > most {
		return fmt.Errorf("more than %d bad records: %s%s", most, strings.Join(s.firstBad, "; "), s.otherKind())
	}
	return nil
}

// endOfPass begins the file again, unless it was a trace or there is nothing in
// it.
func (s *file) endOfPass() error {
	switch {
	case s.usable && s.form.timed:
		return io.EOF
	case s.usable:
		s.pass++
		s.count.Passes++
		return s.rewind()
	case s.pass > 0:
		return errors.New("it has changed since it was opened: no usable record is left")
	case s.seen == 0:
		return errors.New("there is no record in it")
	}
	units := s.rec.unit()
	if s.seen != 1 {
		units += "s"
	}
	return fmt.Errorf("no usable record among %d %s: first problem: %s%s", s.seen, units, s.problem, s.otherKind())
}

// otherKind is advice where the file seems to be of a kind that was not asked
// for.
func (s *file) otherKind() string {
	kind, err := detect(s.cfg.Path)
	if err != nil || kind == s.cfg.Kind {
		return ""
	}
	return fmt.Sprintf("; it looks like kind %s, not %s", kind, s.cfg.Kind)
}

func (s *file) Count() runlog.DatasetCount {
	c := s.count
	if c.Estimated > 0 {
		c.EstimatedWhy = s.why()
	}
	s.count = runlog.DatasetCount{}
	return c
}

func (s *file) Close() error {
	if s.err == nil {
		s.err = os.ErrClosed
	}
	return s.f.Close()
}
