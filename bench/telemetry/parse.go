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
	maxSeries = 8192     // of a sample
	maxLabels = 16       // of a series that is kept
	maxLabel  = 256      // bytes of a label's value
)

// parse reads metrics in the text format and returns the chosen series, ordered
// by name, and whether anything was there that only this kind of source has.
// Values that are no finite number are left out, and so are series with more or
// longer labels than a line of the log should hold.
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
		for _, m := range families[name].GetMetric() {
			value := m.GetUntyped().GetValue()
			labels, ok := labelsOf(m)
			if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
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
			if kept++; kept > maxSeries {
				return nil, false, fmt.Errorf("reading metrics: more than %d series", maxSeries)
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

// labelsOf returns nil without labels, and false where there is too much of them.
func labelsOf(m *dto.Metric) (map[string]string, bool) {
	pairs := m.GetLabel()
	if len(pairs) == 0 {
		return nil, true
	}
	if len(pairs) > maxLabels {
		return nil, false
	}
	labels := make(map[string]string, len(pairs))
	for _, p := range pairs {
		if len(p.GetName()) > maxLabel || len(p.GetValue()) > maxLabel {
			return nil, false
		}
		labels[p.GetName()] = p.GetValue()
	}
	return labels, true
}
