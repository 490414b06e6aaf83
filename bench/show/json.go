package show

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// jsonSchema is the version of what [JSON] writes. Keys may be added to one
// version; none is renamed or taken away.
const jsonSchema = 1

// stepObject is a step as it is written.
func stepObject(of *result.Step) object {
	s := finiteCopy(*of)
	var perToken, dataset any
	if v, ok := of.JoulesPerToken(); ok && words.Known(v) {
		perToken = v
	}
	if s.DatasetKnown {
		dataset = s.Dataset
	}
	return object{
		{"name", s.Name},
		{"load", s.Step},
		{"machines", s.Machines},
		{"stop", s.Stop},
		{"account", s.Account},
		{"failure_ratio", s.Account.FailureRatio()},
		{"failed_as", where(len(s.FailedAs) > 0, s.FailedAs)},
		{"whole", s.Whole},
		{"steady", s.Steady},
		{"not_steady", where(s.NotSteady != "", s.NotSteady)},
		{"checks", s.Checks},
		{"dataset", dataset},
		{"cards", s.Cards},
		{"assumed_target", where(s.AssumedTarget != "", s.AssumedTarget)},
		{"joules", s.Joules},
		{"joules_per_output_token", perToken},
		{"server", s.Server},
		{"warnings", s.Warnings},
	}
}

// JSON writes the whole report, indented. Keys are snake case; durations are
// seconds, except under "load", which is the log's own record and has its units
// in its keys (_ns). What is not known is null.
func JSON(w io.Writer, r *result.Report) error {
	steps := make([]object, len(r.Steps))
	for i := range r.Steps {
		steps[i] = stepObject(&r.Steps[i])
	}
	var objectives object
	for _, m := range result.Main() {
		d := r.Objectives.Of(m.Key)
		objectives = append(objectives, member{string(m.Key), where(d != 0, d.Seconds())})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{
		{"schema", jsonSchema},
		{"program", "accelbench"},
		{"complete", r.Complete},
		{"damaged_lines", r.Damaged},
		{"objectives_seconds", where(r.Objectives.Any(), objectives)},
		{"capacity", capacityObject(r)},
		{"runs", r.Runs},
		{"steps", steps},
		{"not_run", append([]string{}, r.NotRun...)},
	})
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

// absent is the value of a member that is left out.
type absent struct{}

// where is a value where it applies.
func where(applies bool, value any) any {
	if !applies {
		return absent{}
	}
	return value
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	mark := byte('{')
	for _, m := range o {
		if m.value == (absent{}) {
			continue
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.WriteByte(mark)
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
		mark = ','
	}
	if b.Len() == 0 {
		b.WriteByte(mark)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
