package openai

import (
	"io"
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
		end := io.ErrUnexpectedEOF
		if clean {
			end = io.EOF
		}
		var one, many []piece // each byte by itself, and several at once
		for i := range body {
			one = append(one, piece{string(body[i : i+1]), instant{at: time.Duration(i)}})
		}
		var ends []time.Duration // the instant of each byte: that of its piece's last
		for rest := body; len(rest) > 0; {
			seed = seed*6364136223846793005 + 1442695040888963407
			n := min(int(seed>>33)%100+1, len(rest))
			last := time.Duration(len(body) - len(rest) + n - 1)
			for range n {
				ends = append(ends, last)
			}
			many = append(many, piece{string(rest[:n]), instant{at: last}})
			rest = rest[n:]
		}
		slow, fast := read(t, end, one...), read(t, end, many...)

		if diff := cmp.Diff(outcomeOf(slow), outcomeOf(fast)); diff != "" {
			t.Fatalf("outcome (-byte by byte +in pieces):\n%s", diff)
		}
		for i, c := range slow.Chunks {
			if want := ends[c.At]; fast.Chunks[i].At != want {
				t.Fatalf("chunk %d completed by byte %d is at %d, want %d", i, c.At, fast.Chunks[i].At, want)
			}
		}
		checkDerivations(t, fast)
	})
}
