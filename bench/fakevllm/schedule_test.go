package fakevllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func scheduled(t *testing.T, schedule Schedule) *Server {
	t.Helper()
	s, err := New(Config{Model: "pace", Schedule: schedule})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// truths asks as a client would.
func truths(t *testing.T, s *Server) []Truth {
	t.Helper()
	var all []Truth
	for lines := json.NewDecoder(answerTo(t.Context(), s, "GET", "/truth", "", "").Body); ; {
		var truth Truth
		if err := lines.Decode(&truth); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, truth)
	}
}

// On an exact clock the chunks are written when they are due, and what is told
// afterwards is what stands in them.
func TestSchedule(t *testing.T) {
	for path, text := range map[string]string{"/v1/chat/completions": `"delta":{"content":"(\d{19}) "}`, "/v1/completions": `"text":"(\d{19}) "`} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const gap = 20 * time.Millisecond
				s := scheduled(t, Schedule{Gap: gap, Tokens: 3})
				start := time.Now()
				w := answerTo(t.Context(), s, "POST", path, `{"model":"any \"model\""}`, "the-id")
				var stamps []int64
				for _, m := range regexp.MustCompile(text).FindAllStringSubmatch(w.Body.String(), -1) {
					stamp, _ := strconv.ParseInt(m[1], 10, 64)
					stamps = append(stamps, stamp)
				}
				due := start.Add(gap + phase(1, gap)).UnixNano()
				want := Truth{ID: "the-id", Chunks: []int64{due, due + int64(gap), due + int64(2*gap)}}
				if diff := cmp.Diff([]Truth{want}, truths(t, s)); diff != "" {
					t.Errorf("truth (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.Chunks, stamps); diff != "" {
					t.Errorf("stamps in the chunks (-want +got):\n%s\n%s", diff, w.Body)
				}
			})
		})
	}
}

// All that is kept comes as JSON Lines, the first to end first; a client that
// went away has what it was sent.
func TestTruthOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheduled(t, Schedule{Gap: time.Second})
		var wg sync.WaitGroup
		wg.Go(func() { answerTo(t.Context(), s, "POST", "/v1/completions", `{"max_tokens":9}`, "long") })
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second+time.Second/2)
			defer cancel()
			if w := answerTo(ctx, s, "POST", "/v1/completions", `{"max_tokens":9}`, "left"); strings.Contains(w.Body.String(), "[DONE]") {
				t.Error("an end mark after the client left")
			}
		})
		wg.Go(func() { answerTo(t.Context(), s, "POST", "/v1/completions", `{"max_tokens":1}`, "short") })
		wg.Wait()
		var got []string
		for _, truth := range truths(t, s) {
			got = append(got, fmt.Sprint(truth.ID, " ", len(truth.Chunks)))
		}
		// The phase decides whether 3 or 4 chunks fit into 4.5 s.
		if len(got) != 3 || got[0] != "short 1" || got[1] != "left 3" && got[1] != "left 4" || got[2] != "long 9" {
			t.Errorf("truth of %q", got)
		}
	})
}

// However many streams start together, they leave no hole in the gap, and no two
// of them write at once.
func TestPhases(t *testing.T) {
	const gap = 20 * time.Millisecond
	for _, streams := range []int{2, 64, 512, 5000} {
		all := []time.Duration{0, gap}
		for i := range streams {
			all = append(all, phase(uint64(1000+i), gap))
		}
		slices.Sort(all)
		for i := range len(all) - 1 {
			hole := all[i+1] - all[i]
			if hole <= 0 || hole > 3*gap/time.Duration(streams) || all[i+1] > gap {
				t.Errorf("%d streams: phases %v and %v", streams, all[i], all[i+1])
			}
		}
	}
}
