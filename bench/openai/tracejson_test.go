package openai

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fill puts random values into v, so that a field of a Trace that JSON
// loses is found. About a third of all values are zero.
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

// TestTracesAreKeptWhole: what is read is what was written, also by a program
// that writes the JSON in its own way.
func TestTracesAreKeptWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var want Trace
		fill(t, r, reflect.ValueOf(&want).Elem())
		want.Answer, want.Reasoning = "", "" // are in no log
		line, err := json.Marshal(want)
		noError(t, err)
		var indented bytes.Buffer
		noError(t, json.Indent(&indented, line, "", " "))
		for _, text := range [][]byte{line, indented.Bytes()} {
			var got Trace
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-written +read):\n%s\n%s", diff, text)
			}
		}
	}
}

func TestUnfitLists(t *testing.T) {
	for _, trace := range []string{
		`{"events":1,"chunks_ns":[1,2.5]}`,
		`{"events":1,"chunks_ns":[1,]}`,
		`{"end_ns":1,"chunks_ns":[9223372036854775808]}`,
	} {
		var got Trace
		if err := json.Unmarshal([]byte(trace), &got); err == nil {
			t.Errorf("%s: read as %+v", trace, got)
		}
	}
}
