package runlog

import (
	"bytes"
	"slices"
	"strconv"
	"time"
)

// appendTail puts the long lists at the end of a request that has none.
func appendTail(head []byte, tail wireTail) []byte {
	const braces, digits = "}}", 11
	out := bytes.TrimSuffix(head, []byte(braces))
	out = slices.Grow(out, digits*(len(tail.Chunks)+len(tail.Lags)))
	out = appendList(out, "chunks_ns", tail.Chunks)
	out = appendList(out, "tokens", tail.Tokens)
	out = appendList(out, "lags_ns", tail.Lags)
	return append(out, braces...)
}

func appendList[T ~int32 | ~int64](dst []byte, name string, list []T) []byte {
	if len(list) == 0 {
		return dst
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"`+name+`":[`...)
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(v), 10)
	}
	return append(dst, ']')
}

// cutTail takes the long lists off the end of a request. It is not ok unless they
// stand there as they are written, without a blank, and nothing follows but the
// braces of trace and request. In their place head has a list of one chunk at 0:
// whoever decodes it sees whether it is JSON, and whether the lists were the
// trace's. The same bytes in a string are not taken for them: a quote in there
// has a backslash before it.
func cutTail(data []byte) (head []byte, tail wireTail, ok bool) {
	const braces, instead = "}}", `,"chunks_ns":[0]}}`
	at := bytes.Index(data, []byte(`,"chunks_ns":[`))
	if at < 0 {
		return nil, tail, false
	}
	rest := data[at:]
	tail.Chunks, rest = cutList[time.Duration](rest, `,"chunks_ns":[`)
	tail.Tokens, rest = cutList[int32](rest, `,"tokens":[`)
	tail.Lags, rest = cutList[time.Duration](rest, `,"lags_ns":[`)
	if string(rest) != braces {
		return nil, tail, false
	}
	head = make([]byte, 0, at+len(instead))
	head = append(head, data[:at]...)
	return append(head, instead...), tail, true
}

// cutList reads a list of integers that begins with prefix, and returns what
// follows it; all of data where there is none.
func cutList[T ~int32 | ~int64](data []byte, prefix string) (list []T, rest []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(prefix))
	end := bytes.IndexByte(rest, ']')
	if !ok || end < 0 {
		return nil, data
	}
	text := rest[:end]
	list = make([]T, 0, bytes.Count(text, []byte{','})+1)
	for {
		v, n := leadingInteger(text)
		if n == 0 || int64(T(v)) != v {
			return nil, data
		}
		list = append(list, T(v))
		if n == len(text) {
			return list, rest[end+1:]
		}
		if text[n] != ',' {
			return nil, data
		}
		text = text[n+1:]
	}
}

// leadingInteger reads the integer that data begins with and says how long it
// is: 0 where there is none in the form of JSON, or one of more than 18 digits.
func leadingInteger(data []byte) (value int64, n int) {
	const safe = 18 // digits that always fit
	first := 0
	if len(data) > 0 && data[0] == '-' {
		first = 1
	}
	n = first
	for n < len(data) && data[n]-'0' <= 9 {
		value = value*10 + int64(data[n]-'0')
		n++
	}
	digits := n - first
	if digits == 0 || digits > safe || digits > 1 && data[first] == '0' {
		return 0, 0
	}
	if first == 1 {
		value = -value
	}
	return value, n
}
