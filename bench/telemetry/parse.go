package telemetry

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	maxLine   = 64 << 10 // bytes
	maxSeries = 2048     // of a sample
	maxLabel  = 256      // bytes of a label's value
	maxValue  = 1e18     // bytes, tokens and seconds are all far below it
)

// parse reads metrics in the text format and returns the chosen series, ordered
// by name, and whether anything was there that only this kind of source has.
// Values that no report can use are left out, and so are labels that none reads:
// what a server exports must not fill the log.
func parse(r io.Reader, want choice) (series []runlog.Series, known bool, err error) {
	text, known, err := chosenLines(r, want)
	if err != nil {
		return nil, false, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		// The parser's error repeats the text, which is anybody's.
		var at expfmt.ParseError
		if errors.As(err, &at) {
			return nil, false, fmt.Errorf("reading metrics: line %d is not in the text format", at.Line)
		}
		return nil, false, errors.New("reading metrics: not in the text format")
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !want.keeps([]byte(name)) {
			continue // a name in quotes, behind one that is wanted
		}
		for _, m := range families[name].GetMetric() {
			value := m.GetUntyped().GetValue()
			labels, ok := want.labelsOf(m)
			if !ok || math.IsNaN(value) || math.Abs(value) > maxValue {
				continue
			}
			series = append(series, runlog.Series{Name: name, Labels: labels, Value: value})
		}
	}
	return series, known, nil
}

// chosenLines keeps the lines of the chosen series and makes all others empty.
// Without the lines of their types all series are plain values under their own
// names, histograms' too, and what is not wanted cannot spoil what is.
func chosenLines(r io.Reader, want choice) (text *bytes.Buffer, known bool, err error) {
	text = new(bytes.Buffer)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	kept := 0
	for lines.Scan() {
		line := lines.Bytes()
		name := nameOf(line)
		known = known || want.known(name)
		if want.keeps(name) {
			if kept++; kept > want.most {
				return nil, false, fmt.Errorf("reading metrics: more than %d series", want.most)
			}
			text.Write(line)
		}
		text.WriteByte('\n')
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, false, fmt.Errorf("reading metrics: a line of more than %d KiB", maxLine>>10)
	case err != nil:
		return nil, false, fmt.Errorf("reading metrics: %w", err)
	}
	return text, known, nil
}

// nameOf is the name of the series on a line, nothing for a comment.
func nameOf(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexFunc(line, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != ':'
	})
	if end < 0 {
		return line
	}
	return line[:end]
}

// labelsOf returns the labels that are kept, nil without any, and false where one of
// them is too long.
func (c choice) labelsOf(m *dto.Metric) (map[string]string, bool) {
	var labels map[string]string
	for _, p := range m.GetLabel() {
		if !c.labels(p.GetName()) {
			continue
		}
		if len(p.GetValue()) > c.longest {
			return nil, false
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[p.GetName()] = p.GetValue()
	}
	return labels, true
}
