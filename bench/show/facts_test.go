package show_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// What must not be said, or not with too much certainty; the golden files show
// the rest.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*result.Step)
		want  map[string]string // an empty text: no such fact
	}{
		{"the server answered others too", func(s *result.Step) { s.Server.TTFT.Count, s.Server.TTFTOurs = 1200, false }, map[string]string{
			"server TTFT": "mean 470.0 ms of 1200 requests by its own metrics, 500.0 ms of 938 measured here; " +
				"not to be compared, as others sent requests too or some were not seen",
		}},
		{"what the server said", func(s *result.Step) {
			s.Account.Failed = map[openai.Reason]int{openai.ReasonHTTP4xx: 62}
			s.FailedAs = map[openai.Reason]string{openai.ReasonHTTP4xx: "status 404: \x1b[31mpage not found"}
		}, map[string]string{"first http_4xx": "status 404:  [31mpage not found"}},
		{"no target names its cards", func(s *result.Step) {
			for i := range s.Cards {
				s.Cards[i].Serves = false
			}
		}, map[string]string{
			"cards":  "all 3 cards (which serve the endpoint is not known)",
			"energy": "0.82 J for an output token, 153.9 kJ in all, of all 3 cards (which serve the endpoint is not known)",
		}},
		{"the only target taken for the endpoint", func(s *result.Step) { s.AssumedTarget = "chat" }, map[string]string{
			"cards":  "3 sampled, 2 assumed to serve the endpoint: those of the exporter's only target, chat",
			"energy": "0.82 J for an output token, 153.9 kJ in all, of 2 cards assumed to serve the endpoint",
		}},
		{"one card", func(s *result.Step) { s.Cards, s.Cards[0].Serves = s.Cards[:1], false }, map[string]string{
			"cards": "1 card (whether it serves the endpoint is not known)",
		}},
		{"energy not known", func(s *result.Step) { s.Joules = nil }, map[string]string{
			"cards": "3 sampled, 2 known to serve the endpoint", "energy": "",
		}},
		{"a cache that had nothing", func(s *result.Step) { s.Checks.CachedTokens, s.Checks.CacheTold, s.Checks.Answered = 0, 938, 938 }, map[string]string{
			"prefix cache": "0 % of 22512 prompt tokens were cached",
		}},
		{"a cache told of now and then", func(s *result.Step) { s.Checks.CacheTold, s.Checks.Answered = 12, 938 }, map[string]string{
			"prefix cache": "0.50 % of 22512 prompt tokens were cached, at least: it was told for 12 of 938 answers",
		}},
		{"no word of a cache", func(s *result.Step) { s.Checks.CachedTokens, s.Checks.CacheKnown = 0, false }, map[string]string{
			"prefix cache": "not told by the server",
		}},
		{"usage and chunks", func(s *result.Step) {
			s.Checks.TokensBy = map[openai.TokenSource]int{openai.TokensUsage: 4, openai.TokensIDs: 1}
			s.Checks.Tokens = result.Tokens{Counted: 1000, Chunks: 260, Answers: 5}
		}, map[string]string{
			"output tokens":  "4 by the server's usage, 1 by counting token ids",
			"tokens a chunk": "3.85: 1000 tokens were counted, and 260 chunks with text came",
			"without text":   "", "unreadable": "",
		}},
		{"tokens without text", func(s *result.Step) {
			s.Checks.Tokens = result.Tokens{Textless: 1, Unreadable: 1, UnreadableTokens: 2}
		}, map[string]string{
			"tokens a chunk": "", "without text": "1 event brought tokens and no text (halves of characters, special tokens)",
			"unreadable": "1 answer has no text, of 2 tokens: successes without TTFT and E2E",
		}},
		{"killed", func(s *result.Step) { s.DatasetKnown = false }, map[string]string{
			"data set": "not known: the count of a load generator is missing", "bad record": "",
		}},
		{"one user", func(s *result.Step) {
			s.Step = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1}
		}, map[string]string{"load": "closed loop of 1 user, 1 request, from 2 machines"}},
		{"never steady", func(s *result.Step) { s.Steady = nil }, map[string]string{
			"concurrency":  "at most 100, on the mean 115.8 over the whole step (mean, by Little's law)",
			"steady state": "none: never reached",
		}},
		{"server sampled before and after", func(s *result.Step) { s.Server = &result.ServerSample{TooFew: true} }, map[string]string{
			"server": "sampled fewer than 3 times, too few for its running and waiting requests: run a longer step",
		}},
		{"a model by another name", func(s *result.Step) { s.Server = &result.ServerSample{Model: "Qwen/Qwen2.5-72B"} }, map[string]string{
			"server's model": "Qwen/Qwen2.5-72B, the only one that its metrics tell of: taken for the one that was asked for",
		}},
		{"other models", func(s *result.Step) { s.Server = &result.ServerSample{Models: []string{"a", "b"}} }, map[string]string{
			"server's model": "none of those that its metrics tell of: a, b",
		}},
		{"some of the server's means", func(s *result.Step) {
			s.Server = &result.ServerSample{ITL: &result.Mean{Count: 20, Mean: 0.02}, Queue: &result.Mean{Count: 20, Mean: 0.03}}
		}, map[string]string{"server means": "ITL 20.0 ms, queue 30.0 ms", "server's model": ""}},
		{"server without metrics", func(s *result.Step) { s.Server = &result.ServerSample{} }, map[string]string{
			"server": "its metrics show nothing of what is looked for", "server TTFT": "",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open()
			c.spoil(&s)
			got := map[string]string{}
			for _, f := range show.Facts(&s) {
				if _, ok := c.want[f.Name]; ok {
					got[f.Name] = f.Text
				}
			}
			for name, text := range c.want {
				if text == "" {
					got[name] += ""
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestPromptLengths: a report says whether prompts had the length that was asked for.
func TestPromptLengths(t *testing.T) {
	how := &runlog.Lengths{Why: "the server does not tokenize: http_4xx: status 404", TokensPerWord: 1.5, Template: 21}
	for want, prompts := range map[string]result.Prompts{
		"": {},
		"20 exact, and the server counts as many": {Exact: 20, ExactTold: 20},
		"20 exact": {Exact: 20},
		"20 exact, and the server counts 18 more each, of its template or a start token": {Exact: 20, ExactTold: 20, LeastMore: 18, MostMore: 18},
		"20 exact, and the server's count differs by -1 to +2":                           {Exact: 20, ExactTold: 20, LeastMore: -1, MostMore: 2, Fewer: 5},
		"19 exact, and the server counts as many; 1 inexact, as no text of that length was found; of those 500.0 tokens were asked for on the mean and 530.0 counted": {
			Exact: 19, ExactTold: 19, Inexact: 1, Told: 1, AimedTokens: 500, CountedTokens: 530,
		},
		"20 estimated, 1.50 tokens a word and 21 of the template by 2 short answers, as the server does not tokenize: http_4xx: status 404; " +
			"of those 510.0 tokens were asked for on the mean and 530.0 counted, 21 of them the template's": {
			Estimated: 20, Told: 20, AimedTokens: 20 * 510, CountedTokens: 20 * 530, How: how,
		},
		"20 estimated, a token a word, as no usage came": {Estimated: 20, How: &runlog.Lengths{Why: "no usage came"}},
		"20 estimated, a token a word":                   {Estimated: 20},
	} {
		s := closed()
		s.Checks.Prompts = prompts
		got := ""
		for _, f := range show.Facts(&s) {
			if f.Name == "prompt lengths" {
				got = f.Text
			}
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A label as long as the longest reason must not run into its text.
func TestLongLabels(t *testing.T) {
	s := open()
	s.Account.Failed = map[openai.Reason]int{openai.ReasonTimeoutFirstToken: 50}
	s.FailedAs = map[openai.Reason]string{openai.ReasonTimeoutFirstToken: "no text after 2s"}
	r := sweep()
	r.Steps = []result.Step{s}
	var text strings.Builder
	if err := show.Markdown(&text, r); err != nil {
		t.Fatal(err)
	}
	if want := "  first timeout_first_token no text after 2s\n"; !strings.Contains(text.String(), want) {
		t.Errorf("no line %q in\n%s", want, text.String())
	}
}

func TestHeading(t *testing.T) {
	for _, c := range []struct {
		step runlog.Step
		name string
		want string
	}{
		{runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Repeat: 1}, "8 #2", "8 users #2"},
		{runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, MaxConcurrency: 1}, "1 max 1", "1 user, at most 1 in flight"},
		{runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 4, MaxConcurrency: 4}, "4 req/s max 4", "4 req/s, at most 4 in flight"},
		{runlog.Step{Arrival: runlog.ArrivalBurst}, "inf #3", "all at once #3"},
		{runlog.Step{Arrival: runlog.ArrivalReplay}, "replay", "replay"},
	} {
		if s := (result.Step{Step: c.step, Name: c.name}); s.Heading() != c.want {
			t.Errorf("%q, want %q", s.Heading(), c.want)
		}
	}
}
