package fakevllm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Schedule turns the server into one to check a load generator against: it writes
// one chunk a gap to every stream, on a schedule fixed when the request comes. The
// text of a chunk is the instant at which it was written, and GET /truth tells of
// the streams that are over: as JSON of one with ?id=X-REQUEST-ID, as JSON Lines of
// all that are kept without, in the order in which they ended.
//
// Any prompt and model is accepted, max_tokens is obeyed, an answer is always
// streamed and usage always told.
type Schedule struct {
	// Gap is the time between two chunks of a stream, up to an hour; 0 is no schedule.
	Gap time.Duration
	// Tokens is how many chunks an answer has whose request does not bound them,
	// 1 to 1,048,576; default 256.
	Tokens int
	// Keep is of how many requests, the latest, the truth is kept; default 16384.
	// Very long answers lower it: all of them keep at most 8,388,608 instants, 64 MiB.
	Keep int
}

const (
	maxGap      = time.Hour
	maxChunks   = 1 << 20 // of one answer
	maxInstants = 8 << 20 // kept of all answers together
	maxID       = 256     // bytes of a request's ID
)

// Truth is what the server did for one request. Instants are Unix nanoseconds
// on the server's clock.
type Truth struct {
	ID       string `json:"id"`                 // X-Request-Id, or made up
	Received int64  `json:"received_unix_nano"` // when its head had been read
	// Due is when the first chunk was due; each further one was due Gap later.
	Due int64 `json:"due_unix_nano"`
	Gap int64 `json:"gap_ns"`
	// Chunks is when each chunk was written, which stands in the chunk too:
	// taken right before the write. A client that went away has fewer.
	Chunks []int64 `json:"chunks_unix_nano"`
}

// onSchedule answers a request on the schedule.
func (s *Server) onSchedule(w http.ResponseWriter, r *http.Request, req *request, chat bool, received time.Time) *apiError {
	gap, chunks := s.cfg.Schedule.Gap, s.cfg.Schedule.Tokens
	if req.MaxTokens != nil {
		chunks = *req.MaxTokens
	}
	number := s.streams.Add(1)
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		id = "pace-" + strconv.FormatUint(number, 10)
	}
	switch {
	case chunks < 1 || chunks > maxChunks:
		return badRequest("max_tokens is outside 1 to %d", maxChunks)
	case len(id) > maxID:
		return badRequest("X-Request-Id is longer than %d bytes", maxID)
	}
	j := &job{style: styleOf(r), chat: chat, model: req.Model, created: received.Unix(), usage: true, q: newSequence(0, nil, chunks, finishLength)}
	j.traits.cachedTokens = false // there is no cache
	j.name(id, 0)
	a := &answer{s: s, framer: newFramer(j), o: &wire{out: w, rc: http.NewResponseController(w)}}
	due := received.Add(gap + phase(number, gap))
	t := &Truth{ID: id, Received: received.UnixNano(), Due: due.UnixNano(), Gap: int64(gap), Chunks: make([]int64, 0, chunks)}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	whole := t.write(r.Context(), a.o, newStampedEvent(a.framer), due, chunks)
	s.truths.add(t) // before the end mark goes out, so that a client that saw it can ask
	if whole {
		a.last(chunks)
	}
	return nil
}

// phase spreads streams that start together evenly over a gap, in whatever
// number they come: multiples of the golden ratio leave no large hole.
func phase(number uint64, gap time.Duration) time.Duration {
	_, part := math.Modf(float64(number) * math.Phi)
	return time.Duration(part * float64(gap))
}

// stampedEvent is a chunk's event, made once: all that changes from chunk to chunk
// is a number of fixed width, and the time between taking it and writing it must be
// short.
type stampedEvent struct {
	text []byte
	at   int // of the stamp in text
}

// stampWidth is the digits of an instant, with zeros before a shorter one.
const stampWidth = 19

func newStampedEvent(f *framer) stampedEvent {
	stamp := []byte(strings.Repeat("0", stampWidth) + " ")
	text := fmt.Appendf(nil, "data: %s\n\n", f.text(nil, stamp, false, "", 0))
	return stampedEvent{text: text, at: bytes.LastIndex(text, stamp)} // the id may look like it
}

// stamped is the event of one chunk, valid until the next call.
func (e stampedEvent) stamped(now int64) []byte {
	for i := e.at + stampWidth - 1; i >= e.at; i-- {
		e.text[i] = '0' + byte(now%10)
		now /= 10
	}
	return e.text
}

// write sends the chunks, the first at due, and reports whether it came to the last one.
func (t *Truth) write(ctx context.Context, o *wire, event stampedEvent, due time.Time, chunks int) (whole bool) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for i := range chunks {
		if i > 0 {
			timer.Reset(time.Until(due.Add(time.Duration(i) * time.Duration(t.Gap))))
		}
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		now := time.Now().UnixNano()
		t.Chunks = append(t.Chunks, now)
		if o.write(event.stamped(now)); o.err != nil {
			return false
		}
	}
	return true
}

// truth tells what was written when.
func (s *Server) truth(w http.ResponseWriter, r *http.Request) {
	if ids, one := r.URL.Query()["id"]; one {
		if t := s.truths.find(ids[0]); t != nil {
			writeJSON(w, http.StatusOK, t)
			return
		}
		writeError(w, &apiError{http.StatusNotFound, "NotFoundError", "no request of this id is over, or it is too long ago"}, styleOf(r))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for _, t := range s.truths.list() {
		if err := lines.Encode(t); err != nil {
			return
		}
	}
}

// journal keeps the truth of the latest requests.
type journal struct {
	keep        int
	maxInstants int

	mu       sync.Mutex
	all      []*Truth // the oldest first
	instants int
}

func newJournal(keep, maxInstants int) *journal {
	return &journal{keep: keep, maxInstants: maxInstants}
}

// add takes t, which must not be changed any more.
func (j *journal) add(t *Truth) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, t)
	j.instants += len(t.Chunks)
	for len(j.all) > j.keep || j.instants > j.maxInstants {
		j.instants -= len(j.all[0].Chunks)
		j.all[0] = nil // lets go of it
		j.all = j.all[1:]
	}
}

func (j *journal) list() []*Truth {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// find returns the latest request of that ID, nil if none is kept.
func (j *journal) find(id string) *Truth {
	for _, t := range slices.Backward(j.list()) {
		if t.ID == id {
			return t
		}
	}
	return nil
}
