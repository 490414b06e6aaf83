package pace

import (
	"encoding/json"
	"fmt"
	"time"
)

// stampWidth is the digits of an instant, with zeros before a shorter one.
const stampWidth = 19

// format is what the two APIs write differently.
type format struct {
	prefix, object string
	open, end      string // around the text
}

// frame is one answer's events, made once: all that changes from chunk to chunk
// is a number of fixed width, and the time between taking it and writing it
// must be short.
type frame struct {
	format
	head  string
	event []byte
	at    int // of the stamp in event
}

func (f format) frame(id, model string, now time.Time) frame {
	quoted := func(s string) string {
		text, _ := json.Marshal(s) // a string: it cannot fail
		return string(text)
	}
	head := fmt.Sprintf(`data: {"id":%s,"object":%q,"created":%d,"model":%s,"choices":[`, quoted(f.prefix+id), f.object, now.Unix(), quoted(model))
	before := head + `{"index":0,` + f.open
	event := fmt.Appendf(nil, `%s%0*d %s,"logprobs":null,"finish_reason":null}]}`+"\n\n", before, stampWidth, 0, f.end)
	return frame{format: f, head: head, event: event, at: len(before)}
}

// stamped is the event of one chunk, valid until the next call.
func (f frame) stamped(now int64) []byte {
	for i := f.at + stampWidth - 1; i >= f.at; i-- {
		f.event[i] = '0' + byte(now%10)
		now /= 10
	}
	return f.event
}

// tail is what follows the last chunk.
func (f frame) tail(tokens int) []byte {
	return fmt.Appendf(nil, "%s"+`{"index":0,%s%s,"logprobs":null,"finish_reason":"length"}]}`+"\n\n"+
		`%s],"usage":{"prompt_tokens":0,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n"+"data: [DONE]\n\n",
		f.head, f.open, f.end, f.head, tokens, tokens)
}
