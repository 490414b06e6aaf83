package kubelet

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

func TestStatus(t *testing.T) {
	const at = "Grpc-Status"
	header := func(values ...string) http.Header {
		if len(values) == 0 {
			return http.Header{}
		}
		return http.Header{at: values, "Grpc-Message": {"so%20it%0Ais \x1b[31m" + strings.Repeat("x", 300)}}
	}
	for name, c := range map[string]struct {
		header, trailer http.Header
		isEmpty         bool
		want            string // of the error
	}{
		"good":                                  {header(), header("0"), false, ""},
		"an error behind a message":             {header(), header("8"), false, "status 8: so it is  [31mx"},
		"an error without a message":            {header("12"), header(), true, "status 12: so it"},
		"no status":                             {header(), header(), false, "an answer with 0 gRPC statuses"},
		"nothing at all":                        {header(), header(), true, "an answer with 0 gRPC statuses"},
		"a status before a message":             {header("0"), header(), false, "an answer with 0 gRPC statuses"},
		"two statuses":                          {header(), header("0", "8"), false, "an answer with 2 gRPC statuses"},
		"a word":                                {header(), header("OK"), false, `an answer with the gRPC status "OK"`},
		"a negative number":                     {header(), header("-1"), false, `an answer with the gRPC status "-1"`},
		"the trailer holds, not the header":     {header("0"), header("8"), true, "status 8"},
		"a message that is badly percent-coded": {header(), http.Header{at: {"13"}, "Grpc-Message": {"100% \xff"}}, false, "status 13: 100%"},
	} {
		err := status(c.header, c.trailer, c.isEmpty)
		if (c.want == "") != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > 200 || strings.ContainsAny(err.Error(), "\n\x1b") || !utf8.ValidString(err.Error())) {
			t.Errorf("%s: got %q, want %q", name, err, c.want)
		}
	}
}

func TestReasonOfStatus(t *testing.T) {
	for code, want := range map[int]failure.Reason{
		4: failure.Timeout, 7: failure.Permission, 16: failure.Permission, 8: failure.Busy, 12: failure.Unsupported, 14: failure.Driver,
		2: failure.Exit, 13: failure.Exit, 99: failure.Exit,
	} {
		if got := (&statusError{code: code}).reason(); got != want {
			t.Errorf("status %d is of the class %s, want %s", code, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for prefix, want := range map[string]struct {
		n      int
		reason failure.Reason
	}{
		"\x00\x00\x00\x00\x00": {0, ""},
		"\x00\x01\x00\x00\x00": {maxAnswer, ""},
		"\x00\x01\x00\x00\x01": {0, failure.OutputTooLarge},
		"\x00\xff\xff\xff\xff": {0, failure.OutputTooLarge},
		"\x01\x00\x00\x00\x05": {0, failure.Parse},
		"HTTP/":                {0, failure.Parse},
	} {
		n, err := size([]byte(prefix))
		var e *failure.Error
		if n != want.n || failure.ReasonOf(err) != want.reason || err != nil && !errors.As(err, &e) {
			t.Errorf("%q: got %d and %v, want %d and the class %q", prefix, n, err, want.n, want.reason)
		}
	}
}
