package fakevllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Schedule turns the server into one to check a load generator against: it writes
// one chunk a gap to every stream, on a schedule fixed when the request comes. The
// text of a chunk is the instant at which it was written, and GET /truth tells of
// the streams that are over, as JSON Lines in the order in which they ended.
//
// Any prompt and model is accepted, max_tokens is obeyed, an answer is always
// streamed and usage always sent.
type Schedule struct {
	// Gap is the time between two chunks of a stream, up to an hour; 0 is no schedule.
	Gap time.Duration
	// Tokens is how many chunks an answer has whose request does not bound them,
	// 1 to 1,048,576; default 256.
	Tokens int
}

const (
	maxGap    = time.Hour
	maxChunks = 1 << 20 // of one answer
	maxTruths = 1 << 14 // answers kept
)

// Truth is what the server did for one request. Instants are Unix nanoseconds
// on the server's clock.
type Truth struct {
	ID string `json:"id"` // X-Request-Id
	// Chunks is when each chunk was written, which stands in the chunk too:
	// taken right before the write. A client that went away has fewer.
	Chunks []int64 `json:"chunks_unix_nano"`
}

// onSchedule answers a request on the schedule.
func (a *answer) onSchedule() {
	gap, chunks := a.s.cfg.Schedule.Gap, a.s.cfg.Schedule.Tokens
	if a.req.MaxTokens != 0 {
		chunks = a.req.MaxTokens
	}
	if chunks < 1 || chunks > maxChunks {
		badRequest(a.w, "max_tokens is outside 1 to %d", maxChunks)
		return
	}
	a.req.StreamOptions.IncludeUsage = true
	due := a.record.Arrived.Add(gap + phase(a.s.streams.Add(1), gap))
	t := &Truth{ID: a.record.RequestID, Chunks: make([]int64, 0, chunks)}
	a.open()
	whole := a.writeOnTime(t, due, chunks)
	a.s.keep(t) // before the end mark goes out, so that a client that saw it can ask
	if whole {
		a.finish(finishLength)
	}
}

// phase spreads streams that start together evenly over a gap, in whatever
// number they come: multiples of the golden ratio leave no large hole.
func phase(number uint64, gap time.Duration) time.Duration {
	_, part := math.Modf(float64(number) * math.Phi)
	return time.Duration(part * float64(gap))
}

// stampWidth is the digits of an instant in a chunk.
const stampWidth = 19

// writeOnTime sends the chunks, the first at due, and reports whether it came to the
// last one. The event is made once and its stamp written over, so that the time
// between taking it and writing it is short.
func (a *answer) writeOnTime(t *Truth, due time.Time, chunks int) (whole bool) {
	blank := strings.Repeat("0", stampWidth) + " "
	event := fmt.Appendf(nil, "data: %s\n\n", encode(a.chunk(a.text(blank, ""))))
	stamp := event[bytes.LastIndex(event, []byte(blank)):][:stampWidth]
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for i := range chunks {
		timer.Reset(time.Until(due.Add(time.Duration(i) * a.s.cfg.Schedule.Gap)))
		select {
		case <-a.r.Context().Done():
			return false
		case <-timer.C:
		}
		now := time.Now().UnixNano()
		t.Chunks = append(t.Chunks, now)
		a.sent++
		copy(stamp, fmt.Appendf(nil, "%0*d", stampWidth, now))
		if a.write(event); a.failed != nil {
			return false
		}
	}
	return true
}

// keep adds t, which must not be changed any more, to what GET /truth tells.
func (s *Server) keep(t *Truth) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truths = append(s.truths, t)
	if len(s.truths) > maxTruths {
		s.truths = s.truths[1:]
	}
}

// truth tells what was written when.
func (s *Server) truth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	all := slices.Clone(s.truths)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for _, t := range all {
		if lines.Encode(t) != nil { // the client has gone
			return
		}
	}
}
