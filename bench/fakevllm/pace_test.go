package fakevllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// truths asks as a client would.
func truths(t *testing.T, p *Paced) []Truth {
	t.Helper()
	var all []Truth
	for lines := json.NewDecoder(answerTo(t.Context(), p.Handler(), "GET", "/truth", "", "").Body); ; {
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
func TestPaced(t *testing.T) {
	for path, text := range map[string]string{"/v1/chat/completions": `"delta":{"content":"(\d{19}) "}`, "/v1/completions": `"text":"(\d{19}) "`} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const gap = 20 * time.Millisecond
				p := NewPaced("pace", gap)
				start := time.Now()
				w := answerTo(t.Context(), p.Handler(), "POST", path, `{"model":"any \"model\"","max_tokens":3}`, "the-id")
				var stamps []int64
				for _, m := range regexp.MustCompile(text).FindAllStringSubmatch(w.Body.String(), -1) {
					stamp, _ := strconv.ParseInt(m[1], 10, 64)
					stamps = append(stamps, stamp)
				}
				due := start.Add(gap + phase(1, gap)).UnixNano()
				want := Truth{ID: "the-id", Chunks: []int64{due, due + int64(gap), due + int64(2*gap)}}
				if diff := cmp.Diff([]Truth{want}, truths(t, p)); diff != "" {
					t.Errorf("truth (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.Chunks, stamps); diff != "" || !strings.Contains(w.Body.String(), `"completion_tokens":3`) || strings.Contains(w.Body.String(), "role") {
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
		p := NewPaced("pace", time.Second)
		ask := func(ctx context.Context, id string, tokens int) string {
			body := fmt.Sprintf(`{"max_tokens":%d}`, tokens)
			return answerTo(ctx, p.Handler(), "POST", "/v1/completions", body, id).Body.String()
		}
		var wg sync.WaitGroup
		wg.Go(func() { ask(t.Context(), "long", 9) })
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second+time.Second/2)
			defer cancel()
			if strings.Contains(ask(ctx, "left", 9), "[DONE]") {
				t.Error("an end mark after the client left")
			}
		})
		wg.Go(func() { ask(t.Context(), "short", 1) })
		wg.Wait()
		var got []string
		for _, truth := range truths(t, p) {
			got = append(got, fmt.Sprint(truth.ID, " ", len(truth.Chunks)))
		}
		// The phase decides whether 3 or 4 chunks fit into 4.5 s.
		if len(got) != 3 || got[0] != "short 1" || got[1] != "left 3" && got[1] != "left 4" || got[2] != "long 9" {
			t.Errorf("truth of %q", got)
		}
	})
}
