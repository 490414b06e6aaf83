package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// callTime bounds a call, if its context allows that much.
const callTime = 30 * time.Second

// call is a short request whose answer is one JSON text.
type call struct {
	what  string   // is asked for, as in "the list of models"
	path  []string // below the base URL
	body  []byte   // nil for a GET
	limit int      // bytes of the answer
	// read takes the answer. Its failure's detail may hold anything.
	read func(text []byte) *Failure
}

// do makes a call and returns why it failed, nil if it did not.
func (c *Client) do(ctx context.Context, q call) *Failure {
	x := c.begin(ctx, callTime, 0)
	defer x.finish(nil)
	req := c.jsonRequest(x.ctx, q.body, q.path...)
	req.Header.Set(requestIDHeader, newRequestID())

	resp, failure := x.roundTrip(req)
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	text, err := answerText(resp, q.limit)
	switch {
	case err != nil:
		return x.cutAnswer(q.what, err)
	case len(text) > q.limit:
		return x.failure(ReasonProtocol, q.what+" is too long")
	}
	if f := q.read(text); f != nil {
		return x.failure(f.Reason, f.Detail)
	}
	return nil
}

// answerText is a response's body, one byte more than limit at most.
func answerText(resp *http.Response, limit int) ([]byte, error) {
	body, _, err := decodedBody(resp)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(body, int64(limit)+1))
}

// cutAnswer is the failure of an answer that could not be read to its end.
func (x *exchange) cutAnswer(what string, err error) *Failure {
	switch f := x.expired(); {
	case f != nil:
		return f
	case errors.Is(err, io.EOF): // nothing where gzip was announced
		return x.failure(ReasonEmpty, what+" is empty")
	case isTLSError(err):
		return x.failure(ReasonTLS, err.Error())
	case isCut(err):
		return x.failure(ReasonTruncated, err.Error())
	}
	return x.failure(ReasonProtocol, err.Error())
}
