package side

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
)

const (
	tailBytes  = 64 << 10 // of a log's end that are looked at
	tailLines  = 8
	lineLength = 200 // bytes of a line that are shown
)

// EndedError says how a side's command ended, and what it printed last.
type EndedError struct {
	Side string
	How  string // such as exit status 1
	said string // behind that, as it may be shown to who started it
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("side %s: its command ended with %s%s", e.Side, e.How, e.said)
}

// failure says how the command ended.
func (p *Process) failure(how string) error {
	e := &EndedError{Side: p.side.Name, How: how}
	text, err := p.printed(tailLines)
	switch {
	case err != nil:
		e.said = fmt.Sprintf(", and reading its log: %v", err)
	case text == "":
		e.said = " and printed nothing"
	default:
		e.said = fmt.Sprintf("; the end of %s:\n%s", p.log, text)
	}
	return e
}

// Said says where the command's log is, and its last line, on a line of its own.
func (p *Process) Said() string {
	text, err := p.printed(1)
	switch {
	case err != nil:
		return fmt.Sprintf("reading its log: %v", err)
	case text == "":
		return "it printed nothing to " + p.log
	}
	return fmt.Sprintf("the end of %s:\n%s", p.log, text)
}

// printed is the end of what the command printed, as it may be shown.
func (p *Process) printed(lines int) (string, error) {
	text, err := readTail(p.log, p.begin)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return "", err
	}
	return lastLines(string(text), lines, append(secretsOf(p.side.Argv), secretsOf(os.Environ())...)), nil
}

// readTail reads the last whole lines of a file, from begin on.
func readTail(path string, begin int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(begin, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if from > begin {
		// Of a line that was cut nobody knows whether it began with a secret.
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, err
}

// lastLines is the end of text as it may be shown on a terminal, without the lines that
// repeat a secret.
func lastLines(text string, most int, secrets []string) string {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		line = plaintext.Line(strings.TrimRight(line, "\r"))
		if len(line) > lineLength {
			cut := lineLength
			for !utf8.RuneStart(line[cut]) {
				cut--
			}
			line = line[:cut] + "…"
		}
		if credential.In(line, secrets) {
			line = credential.Hidden
		}
		lines[i] = "  " + line
	}
	return strings.Join(lines, "\n")
}
