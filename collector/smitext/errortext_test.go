package smitext_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// The reasons are label values that alert rules name: a change here breaks them.
func TestReasonsAreFrozen(t *testing.T) {
	want := []failure.Reason{
		"not_found", "permission", "no_device", "driver", "busy", "unsupported", "timeout", "stuck", "exit", "output_too_large", "parse",
	}
	if diff := cmp.Diff(want, failure.Reasons()); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

func TestReasonOf(t *testing.T) {
	busy := failure.Errorf(failure.Busy, "opening the card: %w", fs.ErrPermission)
	for _, c := range []struct {
		err  error
		want failure.Reason
	}{
		{nil, ""},
		{busy, failure.Busy},
		{fmt.Errorf("reading the table: %w", busy), failure.Busy},
		{errors.New("what is this"), failure.Parse},
	} {
		if got := failure.ReasonOf(c.err); got != c.want {
			t.Errorf("the reason of %v is %q, want %q", c.err, got, c.want)
		}
	}
	if !errors.Is(busy, fs.ErrPermission) || busy.Error() != "opening the card: permission denied" {
		t.Errorf("an error hides its cause: %v", busy)
	}
}

func TestMatchFindsTheTellingLine(t *testing.T) {
	patterns := []smitext.Pattern{
		{Text: "Device Is Used", Reason: failure.Busy},
		{Text: "-8005", Reason: failure.Driver},
		{Text: "denied", Reason: failure.Permission},
	}
	for _, c := range []struct {
		name, text string
		reason     failure.Reason
		line       string
	}{
		{"nothing", "", "", ""},
		{"no pattern", "all is well\n", "", ""},
		{"one line", "ret is -8005", failure.Driver, "ret is -8005"},
		{"among others", "hello\r\n  ret is -8005 \r\nbye\n", failure.Driver, "ret is -8005"},
		{"any case", "the DEVICE is USED\n", failure.Busy, "the DEVICE is USED"},
		{"the first pattern, not the first line", "denied\nret is -8005\n", failure.Driver, "ret is -8005"},
		{"control characters", "\x1b[31mret is\t-8005\x1b[0m\n", failure.Driver, " [31mret is -8005 [0m"},
	} {
		reason, line, ok := smitext.Match([]byte(c.text), patterns)
		if reason != c.reason || line != c.line || ok != (c.reason != "") {
			t.Errorf("%s: got %q, %q, %v, want %q, %q", c.name, reason, line, ok, c.reason, c.line)
		}
	}
}

func TestExcerptIsShortAndPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"  a\tb\n":                "a b",
		"a\x00b\x7fc\xffd":        "a b c d",
		strings.Repeat("x", 1000): strings.Repeat("x", 160),
	} {
		if got := smitext.Excerpt([]byte(in)); got != want {
			t.Errorf("the excerpt of %.20q is %q, want %q", in, got, want)
		}
	}
}
