package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	modelsTime = 30 * time.Second // for the list of models, if ctx allows it
	maxModels  = 4 << 20          // bytes of that list
	maxModelID = 256              // bytes of a model's name
)

// Models asks which models the endpoint serves, in the server's order. It
// takes at most 30 s. A name is 1 to 256 bytes of printable UTF-8; a list with
// any other is refused as a whole (ReasonProtocol), and an empty list is
// ReasonEmpty.
func (c *Client) Models(ctx context.Context) ([]string, *Failure) {
	x := c.begin(ctx, modelsTime, 0)
	defer x.finish(nil)
	req := (&http.Request{
		Method: http.MethodGet,
		URL:    rooted(c.base).JoinPath("v1", "models"),
		Header: make(http.Header),
	}).WithContext(x.ctx)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set(requestIDHeader, newRequestID())

	resp, failure := x.roundTrip(req)
	if failure != nil {
		return nil, failure
	}
	defer resp.Body.Close()
	if failure := x.badStatus(resp); failure != nil {
		return nil, failure
	}
	body, _, err := decodedBody(resp)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(body, maxModels+1))
	}
	if err != nil {
		return nil, x.cutModels(err)
	}
	return x.modelNames(text)
}

// cutModels is the failure of a list that could not be read to its end.
func (x *exchange) cutModels(err error) *Failure {
	switch f := x.expired(); {
	case f != nil:
		return f
	case errors.Is(err, io.EOF): // nothing where gzip was announced
		return x.failure(ReasonEmpty, "the list of models is empty")
	case isTLSError(err):
		return x.failure(ReasonTLS, err.Error())
	case isCut(err):
		return x.failure(ReasonTruncated, err.Error())
	}
	return x.failure(ReasonProtocol, err.Error())
}

func (x *exchange) modelNames(text []byte) ([]string, *Failure) {
	if len(text) > maxModels {
		return nil, x.failure(ReasonProtocol, "the list of models is too long")
	}
	var list struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err != nil || list.Data == nil {
		return nil, x.failure(ReasonProtocol, "not a list of models: "+string(text))
	}
	if len(*list.Data) == 0 {
		return nil, x.failure(ReasonEmpty, "the list of models is empty")
	}
	names := make([]string, 0, len(*list.Data))
	for _, m := range *list.Data {
		if isModelName(m.ID) {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, x.failure(ReasonProtocol, "no model's name is 1 to 256 bytes of printable text")
	}
	return names, nil
}

// isModelName: a name ends in labels, logs and pages, so it is checked.
func isModelName(s string) bool {
	if s == "" || len(s) > maxModelID {
		return false
	}
	for _, r := range s {
		// The JSON decoder puts RuneError in place of what is not UTF-8.
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
