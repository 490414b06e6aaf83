package openai

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzStream: any bytes, cut anywhere, say the same, at instants that follow
// from when each event's last byte came.
func FuzzStream(f *testing.F) {
	for _, d := range dialects() {
		f.Add([]byte(d.body), uint64(0x123456789), true)
	}
	f.Add([]byte(events(word)+strings.Repeat("x", 300)), uint64(3), false)
	f.Add([]byte(strings.Repeat(events(word), 40)), uint64(99), true)
	f.Fuzz(func(t *testing.T, body []byte, seed uint64, clean bool) {
		slow := newStream(new(Trace))
		for i := range body {
			slow.feed(body[i:i+1], instant{user: time.Duration(i)})
		}
		slow.close(clean)

		fast := newStream(new(Trace))
		var ends []time.Duration // the instant of each byte: that of its piece's last
		for rest := body; len(rest) > 0; {
			seed = seed*6364136223846793005 + 1442695040888963407
			n := min(int(seed>>33)%100+1, len(rest))
			last := time.Duration(len(body) - len(rest) + n - 1)
			for range n {
				ends = append(ends, last)
			}
			fast.feed(bytes.Clone(rest[:n]), instant{user: last})
			rest = rest[n:]
		}
		fast.close(clean)

		if diff := cmp.Diff(outcomeOf(slow), outcomeOf(fast)); diff != "" {
			t.Fatalf("outcome (-byte by byte +in pieces):\n%s", diff)
		}
		if !cmp.Equal(slow.failure, fast.failure) {
			t.Fatalf("failures differ: %v and %v", slow.failure, fast.failure)
		}
		for i, c := range slow.trace.Chunks {
			if want := ends[c.At]; fast.trace.Chunks[i].At != want {
				t.Fatalf("chunk %d completed by byte %d is at %d, want %d", i, c.At, fast.trace.Chunks[i].At, want)
			}
		}
		fast.finish()
		fast.trace.Failure = fast.failure
		checkDerivations(t, fast.trace)
	})
}
