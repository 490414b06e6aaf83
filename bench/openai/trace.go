// Package openai sends one streaming request to an OpenAI-compatible endpoint and keeps what the
// wire showed as a [Trace]. Every latency figure is derived from a Trace by a pure function, so
// all reports use one definition: [TTFT], [ITLs], [TPOT], [E2E].
package openai

import "time"

// Clock says which clock a Trace's instants come from.
type Clock string

// The clocks. An instant without a stamp of the kernel makes the clock the user's.
const (
	ClockUser   Clock = "user"   // when this program's read returned
	ClockKernel Clock = "kernel" // when the kernel received the bytes
)

// TokenSource says where a number of output tokens comes from.
type TokenSource string

// The token sources.
const (
	TokensUsage  TokenSource = "usage"  // the server's last usage
	TokensChunks TokenSource = "chunks" // no usage: one token is assumed for each text of a chunk, and for a chunk without
)

// Trace is what the wire showed of one request. Instants are durations since Started on one
// monotonic clock. Written as JSON and read back it is the same.
type Trace struct {
	RequestID string `json:"request_id,omitempty"` // as sent in X-Request-Id
	Traced    bool   `json:"traced,omitempty"`     // RequestID is the trace id of the server's spans, too
	Model     string `json:"model,omitempty"`      // as asked for
	// Planned is when the request was due, Started when it was handed to the transport, with its body ready.
	Planned time.Time `json:"planned,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Clock   Clock     `json:"clock,omitempty"`

	Events     int           `json:"events,omitempty"`         // that carried data, the end mark among them
	FirstEvent time.Duration `json:"first_event_ns,omitempty"` // the instant of the first of them, text or not

	Usage       *Usage      `json:"usage,omitempty"`        // the last that the server sent, nil for none
	TokenSource TokenSource `json:"token_source,omitempty"` // where [OutputTokens] gets its number
	Merged      int         `json:"merged,omitempty"`       // further texts in chunks, each of which is a token
	// Finish is the last finish_reason, or the first of an answer that the engine gave up; empty when there was none.
	Finish string `json:"finish,omitempty"`
	Done   bool   `json:"done,omitempty"` // [DONE] was seen

	Phases Phases `json:"phases,omitzero"`
	Lag    Lag    `json:"lag,omitzero"`
	Reused bool   `json:"reused,omitempty"` // the connection had served a request before
	// Resent is true when the request was sent once more: the server closed an idle
	// connection within 1 s, before any byte of an answer. Started is that of the first sending.
	Resent  bool          `json:"resent,omitempty"`
	Status  int           `json:"status,omitempty"`  // HTTP status, 0 without a response
	End     time.Duration `json:"end_ns,omitempty"`  // when the request ended, well or not
	Failure *Failure      `json:"failure,omitempty"` // nil for a request that ended properly

	// Broken is what [Degenerate] says of the text, where [Request.CheckAnswer] asked for it. It is no failure.
	Broken string `json:"broken,omitempty"`

	// Answer is the text of the answer, Reasoning that of its reasoning, where [Request.KeepAnswer]
	// or CheckAnswer asked for them. They are in no log.
	Answer    string `json:"-"`
	Reasoning string `json:"-"`
	// Chunks are the events that carried a token, from the first text on, in order.
	Chunks []Chunk `json:"-"`
}

// Lag is how late this program read what the kernel had received, over the reads of a
// response that have a kernel stamp.
type Lag struct {
	Reads int           `json:"reads"`
	Sum   time.Duration `json:"sum_ns"`
	Max   time.Duration `json:"max_ns"`
	Last  time.Duration `json:"last_ns"`
}

func (l *Lag) add(lag time.Duration) {
	l.Reads++
	l.Sum += lag
	l.Max, l.Last = max(l.Max, lag), lag
}

// Chunk is one event that carried a token: text of an answer, of reasoning or of a tool call, or none.
type Chunk struct {
	At time.Duration // when the bytes that complete the event arrived
	// Tokens is how many came since the chunk before, where a running usage tells, else 0.
	// Those before the first text are the first chunk's.
	Tokens    int32
	Reasoning bool // it carried reasoning and nothing else; of one without text, as the chunk before
	Textless  bool // a token without text, such as half a character or a special token; never the first chunk
}

// Usage is the server's own count. A number that it did not give is 0.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"` // of the completion
	// CachedTokens are of the prompt, from the prefix cache; nil where the server did not say.
	CachedTokens *int `json:"cached_tokens,omitempty"`
}

// Phases are the parts of a request before its first response byte, 0 for one that did not
// happen: on a reused connection only Send and Wait do.
type Phases struct {
	Resolve time.Duration `json:"resolve_ns,omitempty"` // host name to addresses
	Connect time.Duration `json:"connect_ns,omitempty"` // TCP
	TLS     time.Duration `json:"tls_ns,omitempty"`     // handshake
	Send    time.Duration `json:"send_ns,omitempty"`    // connection in hand to request written
	Wait    time.Duration `json:"wait_ns,omitempty"`    // request written to first response byte
}
