package pace

import "sync"

// maxInstants bounds the instants kept of all requests together.
const maxInstants = 8 << 20

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

// journal keeps the truth of the latest requests.
type journal struct {
	keep        int
	maxInstants int

	mu       sync.Mutex
	all      []*Truth // the oldest first
	byID     map[string]*Truth
	instants int
}

// add takes t, which must not be changed any more. Of requests with the same
// ID the latest is found by it.
func (j *journal) add(t *Truth) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, t)
	j.byID[t.ID] = t
	j.instants += len(t.Chunks)
	for len(j.all) > j.keep || j.instants > j.maxInstants {
		oldest := j.all[0]
		j.all[0] = nil
		j.all = j.all[1:]
		j.instants -= len(oldest.Chunks)
		if j.byID[oldest.ID] == oldest {
			delete(j.byID, oldest.ID)
		}
	}
}

func (j *journal) find(id string) (*Truth, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t, ok := j.byID[id]
	return t, ok
}

func (j *journal) list() []*Truth {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]*Truth(nil), j.all...)
}
