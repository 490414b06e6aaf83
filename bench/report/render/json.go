package render

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// jsonSchema is the version of what [JSON] writes. Keys may be added to one
// version; none is renamed or taken away.
const jsonSchema = 1

type jsonReport struct {
	Schema     int             `json:"schema"`
	Program    string          `json:"program"`
	Complete   bool            `json:"complete"`
	Damaged    int             `json:"damaged_lines"`
	Objectives *jsonObjectives `json:"objectives_seconds,omitempty"`
	Runs       []runlog.Run    `json:"runs"`
	Steps      []jsonStep      `json:"steps"`
	NotRun     []string        `json:"not_run"`
}

type jsonObjectives struct {
	TTFT float64 `json:"ttft,omitempty"`
	TPOT float64 `json:"tpot,omitempty"`
	ITL  float64 `json:"itl,omitempty"`
	E2E  float64 `json:"e2el,omitempty"`
}

// jsonStep is a [Step] as it is written, without what there is for each request:
// that is in the log.
type jsonStep struct {
	Name           string                   `json:"name"`
	Load           runlog.Step              `json:"load"`
	Machines       int                      `json:"machines"`
	Stop           runlog.Stop              `json:"stop"`
	Account        report.Account           `json:"account"`
	FailureRatio   float64                  `json:"failure_ratio"`
	FailedAs       map[openai.Reason]string `json:"failed_as,omitempty"`
	Whole          report.Figures           `json:"whole"`
	Steady         *report.Figures          `json:"steady"`
	NotSteady      string                   `json:"not_steady,omitempty"`
	Checks         report.Checks            `json:"checks"`
	Dataset        *runlog.DatasetCount     `json:"dataset"`
	Cards          []report.Card            `json:"cards"`
	AssumedTarget  string                   `json:"assumed_target,omitempty"`
	Joules         *float64                 `json:"joules"`
	JoulesPerToken *float64                 `json:"joules_per_output_token"`
	Server         *report.ServerSample     `json:"server"`
	Warnings       []string                 `json:"warnings"`
}

func newJSONStep(s *report.Step) jsonStep {
	j := jsonStep{
		Name:          s.Name,
		Load:          s.Step,
		Machines:      s.Machines,
		Stop:          s.Stop,
		Account:       s.Account,
		FailureRatio:  s.Account.FailureRatio(),
		FailedAs:      s.FailedAs,
		Whole:         s.Whole,
		Steady:        s.Steady,
		NotSteady:     s.NotSteady,
		Checks:        s.Checks,
		Cards:         s.Cards,
		AssumedTarget: s.AssumedTarget,
		Joules:        s.Joules,
		Server:        s.Server,
		Warnings:      s.Warnings,
	}
	if v, ok := s.JoulesPerToken(); ok {
		j.JoulesPerToken = &v
	}
	if s.DatasetKnown {
		j.Dataset = &s.Dataset
	}
	return finiteCopy(j)
}

// JSON writes the whole report, indented. Keys are snake case; durations are
// seconds, except under "load", which is the log's own record and has its units
// in its keys (_ns). What is not known is null.
func JSON(w io.Writer, r *report.Report) error {
	j := jsonReport{
		Schema:   jsonSchema,
		Program:  "accelbench",
		Complete: r.Complete,
		Damaged:  r.Damaged,
		Runs:     r.Runs,
		Steps:    []jsonStep{},
		NotRun:   append([]string{}, r.NotRun...),
	}
	if o := r.Objectives; o.Any() {
		j.Objectives = &jsonObjectives{o.TTFT.Seconds(), o.TPOT.Seconds(), o.ITL.Seconds(), o.E2E.Seconds()}
	}
	for i := range r.Steps {
		j.Steps = append(j.Steps, newJSONStep(&r.Steps[i]))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}

// finiteCopy copies v with every number in it finite, as JSON needs it: a
// pointer to another becomes nil, a plain one 0.
func finiteCopy[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	copyFinite(out, reflect.ValueOf(v))
	return out.Interface().(T)
}

func copyFinite(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.Float64:
		dst.SetFloat(finite(src.Float()))
	case reflect.Pointer:
		if src.IsNil() || isInfinite(src.Elem()) {
			return
		}
		dst.Set(reflect.New(src.Type().Elem()))
		copyFinite(dst.Elem(), src.Elem())
	case reflect.Slice:
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			copyFinite(dst.Index(i), src.Index(i))
		}
	case reflect.Struct:
		if src.Type() == reflect.TypeFor[time.Time]() {
			dst.Set(src)
			return
		}
		for i := range src.NumField() {
			if dst.Field(i).CanSet() {
				copyFinite(dst.Field(i), src.Field(i))
			}
		}
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		for key, value := range src.Seq2() {
			copied := reflect.New(src.Type().Elem()).Elem()
			copyFinite(copied, value)
			dst.SetMapIndex(key, copied)
		}
	default:
		dst.Set(src)
	}
}

func isInfinite(v reflect.Value) bool {
	return v.Kind() == reflect.Float64 && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0))
}

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
