package openai

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
)

// ms is an instant by this program's clock.
func ms(n int) instant { return instant{at: time.Duration(n) * time.Millisecond} }

// instant is when a read brought bytes, by the kernel where it stamped them.
type instant struct {
	at      time.Duration
	stamped bool
}

// outcome is what matters of a stream's Trace, in a form that reads well.
type outcome struct {
	Text    string // one letter a chunk: a for an answer, r for reasoning, capital for one without text
	Tokens  []int32
	Events  int
	Usage   *Usage
	Source  TokenSource
	Finish  string
	Done    bool
	Failure Reason
}

// piece is what one read of a connection brings.
type piece struct {
	text string
	at   instant
}

// pieces is a body that comes in pieces and ends with err.
type pieces struct {
	x    *exchange
	left []piece
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, p.err
	}
	first := &p.left[0]
	p.x.last, p.x.unstamped = first.at.at, p.x.unstamped || !first.at.stamped
	n := copy(b, first.text)
	if first.text = first.text[n:]; first.text == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// transport answers a request in place of the network.
type transport func(x *exchange) *http.Response

func (answer transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return answer(req.Context().Value(exchangeKey{}).(*exchange)), nil
}

// read is the trace of a stream that comes in pieces and ends with err.
func read(t *testing.T, err error, all ...piece) *Trace {
	t.Helper()
	c := newTestClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	c.transport = transport(func(x *exchange) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&pieces{x: x, left: all, err: err})}
	})
	return c.Stream(t.Context(), Request{})
}

func outcomeOf(t *Trace) outcome {
	o := outcome{Events: t.Events, Usage: t.Usage, Source: t.TokenSource, Finish: t.Finish, Done: t.Done, Failure: reasonOf(t.Failure)}
	known := false
	for _, c := range t.Chunks {
		letter := map[bool]string{false: "a", true: "r"}[c.Reasoning]
		if c.Textless {
			letter = strings.ToUpper(letter)
		}
		o.Text += letter
		o.Tokens = append(o.Tokens, c.Tokens)
		known = known || c.Tokens != 0
	}
	if !known {
		o.Tokens = nil
	}
	return o
}

// events joins data lines to a stream.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const (
	role = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	word = `{"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}`
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = `[DONE]`
)

// quiet is a chunk whose text is empty: half a character, or a special token.
const quiet = `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`

// finished is the event that ends an answer for a reason.
func finished(reason string) string { return strings.Replace(stop, "stop", reason, 1) }

// running is an event with the usage up to it beside its choice.
func running(event string, completion int) string {
	return strings.TrimSuffix(event, "}") + "," + usage("9", strconv.Itoa(completion)) + "}"
}

func usage(prompt, completion string) string {
	return `"usage":{"prompt_tokens":` + prompt + `,"completion_tokens":` + completion + `}`
}

// A connection that dies leaves nothing that counts but an end mark or an error that is in already. Lines and bodies
// have caps.
func TestEndsOfStreams(t *testing.T) {
	died := io.ErrUnexpectedEOF
	long := func(n int) string { return ": " + strings.Repeat("x", n-2) }
	comments := strings.Repeat(long(999)+"\n", maxBody/1000)
	for name, tt := range map[string]struct {
		end  error
		body string
		want Reason
	}{
		"nothing":                       {died, "", ReasonTruncated},
		"text":                          {died, events(word), ReasonTruncated},
		"finished but for the end mark": {died, events(word, stop), ReasonTruncated},
		"end mark":                      {died, events(word, done), ""},
		"end mark without a blank line": {died, events(word) + "data: [DONE]\n", ""},
		"error without a blank line":    {died, events(word) + "data: {\"error\":{}}\n", ReasonStreamError},
		"half an event":                 {died, events(word) + "data: {", ReasonTruncated},
		"after the engine gave up":      {died, events(word, finished("abort")), ReasonStreamError},
		"half a line of something":      {died, events(word) + "<", ReasonTruncated},
		"a long line":                   {io.EOF, long(maxLine-2) + "\n" + events(word, done), ""},
		"a longer line, unfinished":     {io.EOF, long(maxLine + 1), ReasonProtocol},
		"nothing after the end":         {io.EOF, events(word, done) + comments + comments, ""},
		"a longer body":                 {io.EOF, comments + events(word) + comments, ReasonProtocol},
	} {
		if f := read(t, tt.end, piece{tt.body, ms(1)}).Failure; reasonOf(f) != tt.want {
			t.Errorf("%s: failure %v, want %q", name, f, tt.want)
		}
	}
}

// An event's instant is that of its last byte, the blank line's.
func TestInstants(t *testing.T) {
	got := read(
		t, io.EOF, piece{events(role), ms(10)}, piece{"data: " + word[:9], ms(20)}, piece{word[9:] + "\n", ms(30)},
		piece{"\n" + events(`{"choices":[{"delta":{"reasoning":"x"}}]}`) + "data", ms(40)}, piece{": " + word + "\r\n\r\n", ms(50)},
		piece{events(word, word, done), ms(60)},
	)
	want := Trace{
		Clock: ClockUser, Events: 7, FirstEvent: 10e6,
		Chunks: []Chunk{{At: 40e6}, {At: 40e6, Reasoning: true}, {At: 50e6}, {At: 60e6}, {At: 60e6}},
		Done:   true, TokenSource: TokensChunks,
	}
	equal(t, "trace", &want, got, cmpopts.IgnoreFields(Trace{}, "RequestID", "Planned", "Started", "Status", "End"))
}

// One missing kernel stamp makes the clock the user's, and no instant goes back.
func TestInstantsOfTheKernel(t *testing.T) {
	kernel := func(at int) instant { return instant{at: time.Duration(at), stamped: true} }
	for name, tt := range map[string]struct {
		at   []instant
		want Trace
	}{
		"all stamped":            {[]instant{kernel(4), kernel(15)}, Trace{Clock: ClockKernel, FirstEvent: 4, Chunks: []Chunk{{At: 4}, {At: 15}}}},
		"the clock was set back": {[]instant{kernel(9), kernel(3), kernel(-5), kernel(31)}, Trace{Clock: ClockKernel, FirstEvent: 9, Chunks: []Chunk{{At: 9}, {At: 9}, {At: 9}, {At: 31}}}},
		"before the start":       {[]instant{kernel(-1)}, Trace{Clock: ClockKernel, Chunks: []Chunk{{At: 0}}}},
		"one without a stamp":    {[]instant{kernel(4), {at: 20}, kernel(25)}, Trace{Clock: ClockUser, FirstEvent: 4, Chunks: []Chunk{{At: 4}, {At: 20}, {At: 25}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []piece
			for _, at := range tt.at {
				all = append(all, piece{events(word), at})
			}
			tr := read(t, io.EOF, all...)
			got := Trace{Clock: tr.Clock, FirstEvent: tr.FirstEvent, Chunks: tr.Chunks}
			equal(t, "trace", tt.want, got)
		})
	}
}
