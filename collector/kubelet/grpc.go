package kubelet

import (
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// maxAnswer is the most bytes of an answer. A usual one has less than 100 KiB.
const maxAnswer = 16 << 20

// prefixSize is the size of what stands before a message: whether it is compressed, and its length.
const prefixSize = 5

// The codes of gRPC that are told apart.
const (
	codeOK                = 0
	codeDeadlineExceeded  = 4
	codePermissionDenied  = 7
	codeResourceExhausted = 8
	codeUnimplemented     = 12
	codeUnavailable       = 14
	codeUnauthenticated   = 16
)

// statusError is an answer that says why there is none.
type statusError struct {
	code    int
	message string // one short line
}

func (e *statusError) Error() string {
	if e.message == "" {
		return "status " + strconv.Itoa(e.code)
	}
	return "status " + strconv.Itoa(e.code) + ": " + e.message
}

// reason is the class of a status.
func (e *statusError) reason() failure.Reason {
	switch e.code {
	case codeDeadlineExceeded:
		return failure.Timeout
	case codePermissionDenied, codeUnauthenticated:
		return failure.Permission
	case codeResourceExhausted:
		return failure.Busy
	case codeUnimplemented:
		return failure.Unsupported
	case codeUnavailable:
		return failure.Driver
	}
	return failure.Exit
}

// status returns what an answer says of itself: behind the message, or in its header where there is no message. The
// error is a *statusError or a *failure.Error.
func status(header, trailer http.Header, isEmpty bool) error {
	at := trailer
	if isEmpty && len(trailer.Values("grpc-status")) == 0 {
		at = header
	}
	values := at.Values("grpc-status")
	if len(values) != 1 {
		return failure.New(failure.Parse, "an answer with %d gRPC statuses", len(values))
	}
	code, err := strconv.ParseUint(values[0], 10, 16)
	if err != nil {
		return failure.New(failure.Parse, "an answer with the gRPC status %q", failure.Excerpt([]byte(values[0])))
	}
	if code == codeOK {
		return nil
	}
	return &statusError{int(code), plain(at.Get("grpc-message"))}
}

// plain is a message of a server as one short line. Such a message is percent-encoded.
func plain(message string) string {
	if text, err := url.PathUnescape(message); err == nil {
		message = text
	}
	return failure.Excerpt([]byte(strings.ToValidUTF8(message, " ")))
}

// size reads what stands before a message and returns how many bytes follow.
func size(prefix []byte) (int, error) {
	switch n := binary.BigEndian.Uint32(prefix[1:prefixSize]); {
	case prefix[0] == 1:
		return 0, failure.New(failure.Parse, "the answer is compressed, which nobody asked for")
	case prefix[0] != 0:
		return 0, failure.New(failure.Parse, "the answer does not begin with a message of gRPC")
	case n > maxAnswer:
		return 0, failure.New(failure.OutputTooLarge, "the answer has %d bytes, more than %d", n, maxAnswer)
	default:
		return int(n), nil
	}
}
