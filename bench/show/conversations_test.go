package show_test

import (
	"io"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// TestConversationsAreShown: turns, cache hits and speculation are in every form.
func TestConversationsAreShown(t *testing.T) {
	r, err := result.Read(result.Options{}, "../result/testdata/conversations-half.jsonl")
	noError(t, err)
	r.Steps[0].Server.Speculation = &result.Speculation{Acceptance: 0.75, AcceptedLength: 3.25}
	printed := func(format string) string {
		return rendered(t, func(w io.Writer) error { return show.Print(w, format, r, nil) })
	}
	expositiontest.Golden(t, "testdata/conversations.txt", printed("summary")+printed("checks"), *update)
	got := printed("json") + rendered(t, func(w io.Writer) error { return show.Page(w, r) })
	for _, want := range []string{`"turns": [`, `"block_size": 16`, "4 conversations", "Turns, steady part", "cache: possible 74 %, usage 68 %, server 68 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in JSON and page", want)
		}
	}
}
