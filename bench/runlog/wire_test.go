package runlog

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// fill puts random values into v, so that a field added to a Trace and forgotten
// here is found. About a third of all values are zero.
func fill(t *testing.T, r *rand.Rand, v reflect.Value) {
	t.Helper()
	if r.IntN(3) == 0 {
		return
	}
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(time.FixedZone("", r.IntN(20)*3600-36000))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, r, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(9), 9))
		for i := range v.Len() {
			fill(t, r, v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64) << r.IntN(2)) // any size, either sign
	case reflect.String:
		const letters = `ab"\<` + "\n\x00\u2028模,:[]{}"
		all := []rune(letters)
		for range r.IntN(6) {
			v.SetString(v.String() + string(all[r.IntN(len(all))]))
		}
	default:
		t.Fatalf("a field of kind %v: what does the log do with it?", v.Kind())
	}
}

// TestRequestsAreKeptWhole: what is read is what was written, also by a program
// that writes the JSON in its own way.
func TestRequestsAreKeptWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var want Request
		fill(t, r, reflect.ValueOf(&want).Elem())
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, line, "", " "); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{line, indented.Bytes()} {
			var got Request
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-written +read):\n%s\n%s", diff, text)
			}
		}
	}
}

// example is a request like the users': 283 chunks, one a token.
func example() Request {
	const chunks = 283
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2026, 3, 4, 5, 6, 7, 890123456, time.UTC)
	t := openai.Trace{
		RequestID: "4f1c0a2b9d8e7f60514233241506f7e8", Model: "qwen2.5", Planned: at, Started: at.Add(52 * time.Microsecond),
		Clock: openai.ClockKernel, Events: chunks + 2, Usage: &openai.Usage{PromptTokens: 31, CompletionTokens: chunks},
		TokenSource: openai.TokensUsage, Finish: "stop", Done: true, Reused: true, Status: 200,
		Phases: openai.Phases{Send: 40 * time.Microsecond, Wait: 180 * time.Millisecond},
	}
	now := 181 * time.Millisecond
	t.FirstEvent, t.FirstAnswer = now, now
	for range chunks {
		t.Chunks = append(t.Chunks, openai.Chunk{At: now})
		t.Lags = append(t.Lags, 5*time.Microsecond+time.Duration(r.Int64N(60000)))
		now += 70*time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond)))
	}
	t.End = now
	return Request{Step: 2, Seq: 417, Trace: t}
}

func TestUnfitLists(t *testing.T) {
	for _, trace := range []string{
		`{"chunks_ns":[1,2],"tokens":[1]}`,
		`{"chunks_ns":[1,2],"tokens":[1,2147483648]}`,
		`{"tokens":[1]}`,
		`{"reasoning":[[0,1]]}`,
		`{"reasoning":[[0,3]],"chunks_ns":[1,2]}`,
		`{"reasoning":[[-1,1]],"chunks_ns":[1,2]}`,
		`{"reasoning":[[0,1],[0,2]],"chunks_ns":[1,2]}`,
		`{"reasoning":[[1,1]],"chunks_ns":[1,2]}`,
		`{"chunks_ns":[1,2.5]}`,
		`{"chunks_ns":[1,]}`,
		`{"chunks_ns":[01]}`,
		`{"chunks_ns":[-]}`,
		`{"a":"b,"chunks_ns":[1]}`,
		`{"end_ns":1,"chunks_ns":[9223372036854775808]}`,
	} {
		var q Request
		if err := q.UnmarshalJSON([]byte(`{"trace":` + trace + `}`)); err == nil {
			t.Errorf("%s: read as %+v", trace, q.Trace)
		}
	}
}

// TestListsElsewhere: lists of the same name that are not the trace's are not
// taken for them.
func TestListsElsewhere(t *testing.T) {
	for _, text := range []string{
		`{"step":1,"trace":{},"later":{"a":1,"chunks_ns":[1]}}`,
		`{"step":1,"trace":{"model":",\"chunks_ns\":[1]}}"}}`,
		`{"step":1,"trace":{"later":{"a":1,"chunks_ns":[1]}}}`,
	} {
		var q Request
		if err := json.Unmarshal([]byte(text), &q); err != nil || len(q.Trace.Chunks) != 0 || q.Step != 1 {
			t.Errorf("%s: %v, read as %+v", text, err, q)
		}
	}
}

// TestAnyValueOfASeries: a metric may be no number, which must not end a run.
func TestAnyValueOfASeries(t *testing.T) {
	want := Sample{Step: 1, Source: SourceServer}
	for _, v := range []float64{0, 1, -2.5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		want.Series = append(want.Series, Series{Name: "a", Labels: map[string]string{"le": "+Inf"}, Value: v})
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Sample
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-written +read):\n%s\n%s", diff, text)
	}
	for _, bad := range []string{`"much"`, `{}`, `"`} {
		if err := json.Unmarshal([]byte(`{"name":"a","value":`+bad+`}`), &Series{}); err == nil {
			t.Errorf("a value of %s was read", bad)
		}
	}
}

func BenchmarkEncodeRequest(b *testing.B) {
	rec := Record{Request: new(example())}
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		line, err := encode(rec)
		if err != nil {
			b.Fatal(err)
		}
		size = len(line)
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(size), "bytes/request")
}

func BenchmarkDecodeRequest(b *testing.B) {
	line, err := encode(Record{Request: new(example())})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(line)))
	line = bytes.TrimSpace(line)
	b.ReportAllocs()
	for b.Loop() {
		if rec, err := decode(line); err != nil || len(rec.Request.Trace.Chunks) == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkReader is a whole log of 1,000 requests, as a report reads it.
func BenchmarkReader(b *testing.B) {
	var text strings.Builder
	for _, rec := range []Record{{Run: &Run{Schema: Schema}}, {Request: new(example())}} {
		line, err := json.Marshal(rec)
		if err != nil {
			b.Fatal(err)
		}
		again := 1
		if rec.Request != nil {
			again = 1000
		}
		text.WriteString(strings.Repeat(string(line)+"\n", again))
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := newReader("log", strings.NewReader(text.String()), maxLine)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			if _, err := r.Next(); err != nil {
				break
			}
			n++
		}
		if n != 1000 || r.Damaged() != 0 {
			b.Fatalf("%d records, %d damaged", n, r.Damaged())
		}
	}
}

// TestCachedTokens: what a server did not tell stays untold, in logs of older
// versions too, which left out 0.
func TestCachedTokens(t *testing.T) {
	for usage, want := range map[string]*int{
		`{"prompt_tokens":31,"completion_tokens":4}`:                      nil,
		`{"prompt_tokens":31,"completion_tokens":4,"cached_tokens":16}`:   new(16),
		`{"prompt_tokens":31,"completion_tokens":4,"cached_tokens":0}`:    new(0),
		`{"prompt_tokens":31,"completion_tokens":4,"cached_tokens":null}`: nil,
	} {
		var q, again Request
		if err := json.Unmarshal([]byte(`{"trace":{"usage":`+usage+`}}`), &q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, q.Trace.Usage.CachedTokens); diff != "" {
			t.Errorf("%s (-want +read):\n%s", usage, diff)
		}
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &again); err != nil || !cmp.Equal(q, again) {
			t.Errorf("%s: written again as %s: %v", usage, line, err)
		}
	}
}
