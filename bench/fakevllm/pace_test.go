package fakevllm

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
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
