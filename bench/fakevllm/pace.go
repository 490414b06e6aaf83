package fakevllm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const pacedTokens = 256 // of an answer whose request does not bound them

// Paced is a server to check a load generator against: it writes one chunk a gap to every stream, on a schedule fixed
// when the request comes. A chunk's text is the instant at which it was written; GET /truth lists the streams as JSON
// Lines.
type Paced struct {
	model   string
	gap     time.Duration
	streams atomic.Uint64 // until now

	mu     sync.Mutex
	truths []Truth // the oldest first
}

// Truth is what the server did for one request.
type Truth struct {
	ID string `json:"id"` // X-Request-Id
	// Chunks is when each chunk was written, in Unix nanoseconds taken right before: what
	// stands in it. A client that went away has fewer.
	Chunks []int64 `json:"chunks_unix_nano"`
}

// NewPaced returns a server of that model with a gap above 0 between two chunks of a stream.
func NewPaced(model string, gap time.Duration) *Paced { return &Paced{model: model, gap: gap} }

// Handler returns the HTTP side.
func (p *Paced) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.complete)
	mux.HandleFunc("POST /v1/completions", p.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { writeModels(w, p.model) })
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /truth", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		all := p.truths // what is in it does not change
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-ndjson")
		lines := json.NewEncoder(w)
		for _, t := range all {
			_ = lines.Encode(t) // the client may be gone
		}
	})
	return mux
}

func (p *Paced) complete(w http.ResponseWriter, r *http.Request) {
	due := time.Now().Add(p.gap + phase(p.streams.Add(1), p.gap))
	req, ok := readRequest(w, r)
	if !ok {
		return
	}
	chunks := cmp.Or(req.MaxTokens, pacedTokens)
	req.StreamOptions.IncludeUsage = true
	a := newAnswer(w, r, req, p.model)
	written := a.writeOnTime(due, p.gap, chunks)
	// Kept before the end mark goes out, so that a client that saw it can ask.
	p.mu.Lock()
	p.truths = append(p.truths, Truth{ID: r.Header.Get("X-Request-Id"), Chunks: written})
	p.mu.Unlock()
	if len(written) == chunks {
		a.finish(finishLength)
	}
}

// phase spreads streams that start together evenly over a gap, by the golden ratio.
func phase(number uint64, gap time.Duration) time.Duration {
	_, part := math.Modf(float64(number) * math.Phi)
	return time.Duration(part * float64(gap))
}

const stampWidth = 19 // digits of an instant in a chunk

// writeOnTime sends the chunks, the first at due, and returns when each was written. The event
// is made once, so that a stamp is written soon after it is taken.
func (a *answer) writeOnTime(due time.Time, gap time.Duration, chunks int) (written []int64) {
	blank := strings.Repeat("0", stampWidth) + " "
	event := encodeEvent(a.textChunk(blank))
	stamp := event[bytes.LastIndex(event, []byte(blank)):][:stampWidth]
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range chunks {
		timer.Reset(time.Until(due.Add(time.Duration(i) * gap)))
		select {
		case <-a.ctx.Done():
			return written
		case <-timer.C:
		}
		now := time.Now().UnixNano()
		copy(stamp, fmt.Appendf(nil, "%0*d", stampWidth, now))
		if a.write(event); a.failed != nil {
			return written
		}
		written = append(written, now)
		a.sent++
	}
	return written
}
