package dataset

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func words(text string) int { return len(strings.Fields(text)) }

// Made conversations have the lengths asked for, behind one system prompt, and are others
// in each step.
func TestMadeConversations(t *testing.T) {
	cfg := Config{
		Kind: MultiTurn, InputLen: 30, PrefixLen: 60, OutputLen: 9, TokensPerWord: 1.5,
		Turns: Range{2, 8}, Delay: Delay{Mean: 5 * time.Second, Constant: true},
	}
	all := take(t, open(t, cfg), 700)
	turns, texts := map[int]int{}, map[string]bool{}
	for _, p := range all {
		if diff := cmp.Diff(all[0].Messages, p.Messages); diff != "" || !cmp.Equal(all[0].Shared, p.Shared) {
			t.Fatalf("system prompts differ: %s", diff)
		}
		turns[len(p.Turns)]++
		for i, turn := range p.Turns {
			want := Turn{Content: turn.Content, MaxTokens: 9, Tokens: 30, Delay: 5 * time.Second}
			if i == 0 {
				want.Delay = 0
			}
			if diff := cmp.Diff(want, turn); diff != "" || words(turn.Content) != 20 || texts[turn.Content] {
				t.Fatalf("%d words, seen before or not %s", words(turn.Content), diff)
			}
			texts[turn.Content] = true
		}
	}
	for n := 2; n <= 8; n++ { // each comes 100 times on the mean
		if turns[n] < 70 || turns[n] > 130 {
			t.Errorf("%d turns came %d times of 700", n, turns[n])
		}
	}
	system := all[0].Messages[0]
	if len(turns) != 7 || system.Role != "system" || words(system.Content) != 40 || all[0].Shared[0].Tokens != 60 {
		t.Errorf("turns %v, system prompt of %d words, shared %v", turns, words(system.Content), all[0].Shared)
	}
	cfg.Step = 1
	if other := take(t, open(t, cfg), 1)[0]; other.Messages[0] == system || other.Shared[0].ID == all[0].Shared[0].ID || texts[other.Turns[0].Content] {
		t.Error("the next step has the same prompts")
	}
	cfg.Turns, cfg.Delay = Range{4, 4}, Delay{Mean: 5 * time.Second}
	cfg.InputRangeRatio = 0.5
	sum, n, lengths := time.Duration(0), 0, map[int]bool{}
	for _, p := range take(t, open(t, cfg), 1000) {
		if len(p.Turns) != 4 {
			t.Fatalf("%d turns, want 4", len(p.Turns))
		}
		for _, turn := range p.Turns[1:] {
			sum += turn.Delay
			n++
			lengths[turn.Tokens] = true
		}
	}
	if mean := sum.Seconds() / float64(n); math.Abs(mean/5-1) > 0.06 || len(lengths) != 31 {
		t.Errorf("thinking times of %.2f s on the mean, want 5; %d lengths, want 31", mean, len(lengths))
	}
}

// session is a record of one turn.
func session(id, prompt, more string) string {
	return `{"session_id":` + id + `,"prompt":"` + prompt + `"` + more + "}\n"
}

func TestConversationFiles(t *testing.T) {
	const second = time.Second
	system := []openai.Message{{Role: "system", Content: "Be brief."}}
	for name, tt := range map[string]struct {
		text  string
		cfg   Config
		want  []Prompt
		count runlog.DatasetCount
	}{
		"sharegpt with all its turns": {
			text: `[{"conversations":[{"from":"human","value":"One"},{"from":"gpt","value":"An answer."},{"from":"human","value":"Two"},{"from":"gpt","value":"Yes"}]},
{"conversations":[{"from":"gpt","value":"I begin"}]},{"conversations":[]}]`,
			want:  []Prompt{{Turns: []Turn{{Content: "One", MaxTokens: 3}, {Content: "Two", MaxTokens: 1, Delay: 2 * second}}, Estimated: true}},
			count: runlog.DatasetCount{Prompts: 2, Passes: 1, Skipped: 2, Estimated: 2},
		},
		"messages, whose answers are never sent": {
			text: `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"One"},{"role":"assistant","content":"A"},{"role":"user","content":"Two"}]}
{"messages":[{"role":"user","content":"Three"}],"max_tokens":7}`,
			cfg: Config{OutputLen: 5},
			want: []Prompt{
				{Messages: system, Turns: []Turn{{Content: "One", MaxTokens: 5}, {Content: "Two", MaxTokens: 5, Delay: 2 * second}}, MaxTokens: 5},
				{Turns: []Turn{{Content: "Three", MaxTokens: 5}}, MaxTokens: 5},
			},
			count: runlog.DatasetCount{Prompts: 3, Passes: 1},
		},
		"answers that are empty": {
			text:  `{"messages":[{"role":"user","content":"One"},{"role":"assistant","content":""},{"role":"user","content":"Two"},{"role":"assistant","content":null}]}`,
			want:  []Prompt{{Turns: []Turn{{Content: "One"}, {Content: "Two", Delay: 2 * second}}}},
			count: runlog.DatasetCount{Prompts: 2, Passes: 1},
		},
		"turns of sessions": {
			text: session(`"a"`, "One", `,"max_tokens":3`) + session("7", "Other", "") + session(`"a"`, "Two", `,"delay":1500`) + session("7", "More", ""),
			want: []Prompt{
				{Turns: []Turn{{Content: "One", MaxTokens: 3}, {Content: "Two", Delay: 1500 * time.Millisecond}}},
				{Turns: []Turn{{Content: "Other"}, {Content: "More", Delay: 2 * second}}},
			},
			count: runlog.DatasetCount{Prompts: 3, Passes: 1},
		},
		"turns without a session": {
			text:  session("null", "One", "") + session("null", "Two", ""),
			want:  []Prompt{{Turns: []Turn{{Content: "One"}}}, {Turns: []Turn{{Content: "Two"}}}},
			count: runlog.DatasetCount{Prompts: 3, Passes: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Kind, cfg.Path, cfg.DisableShuffle = MultiTurn, write(t, "a.json", tt.text), true
			cfg.Delay = Delay{Mean: 2 * second, Constant: true}
			s := open(t, cfg)
			if diff := cmp.Diff(tt.want, take(t, s, len(tt.want)+1)[:len(tt.want)]); diff != "" { // the file is begun again
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			tt.count.SharedUnknown = tt.count.Prompts // nobody counts
			equal(t, "count", tt.count, s.Count())
		})
	}
}

// TestUnreadableConversations: each is one line that names the record, and what to do.
func TestUnreadableConversations(t *testing.T) {
	const one = `{"messages":[{"role":"user","content":"One"}]}` + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {one + `{"messages":[]}`, "record 2: it has no message of the user"},
		"another kind":    {`{"question":"?"}`, "record 1: it has no message of the user"},
		"an empty turn":   {`{"messages":[{"role":"user","content":" "}]}`, "record 1: message 1 is empty"},
		"two of a user":   {`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, "record 1: messages 1 and 2 are both of the user"},
		"a tool":          {`{"messages":[{"role":"tool","content":"a"}]}`, `record 1: message 1 is of "tool": want an optional system message`},
		"a delay below 0": {one + `{"messages":[{"role":"user","content":"a"}],"delay":-5}`, "record 2: a delay of -5 ms is not within 0 and a year"},
		"a late system message": {
			session("1", "One", "") + `{"session_id":1,"messages":[{"role":"system","content":"s"},{"role":"user","content":"b"}]}`, "record 2: a system message is in it, and session 1 has begun",
		},
		"no JSON": {one + "One\n", `record 2 is no JSON object such as {"messages":`},
		"nothing": {"", "it is empty"},
	} {
		path := write(t, "a.jsonl", tt.text)
		_, err := readAndOpen(Config{Kind: MultiTurn, Path: path})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A file in which each record repeats the conversation so far would be sent twice, in whatever
// order its records are; conversations that only begin alike are no such file.
func TestWholeHistories(t *testing.T) {
	said := func(session string, contents ...string) string {
		line := `{"messages":[`
		for i, content := range contents {
			line += `{"role":"` + []string{"user", "assistant"}[i%2] + `","content":"` + content + `"},`
		}
		return strings.TrimSuffix(line, ",") + `]` + session + "}\n"
	}
	const a, b = `,"session_id":"a"`, `,"session_id":"b"`
	other := said("", "Other", "Yes", "More")
	for name, tt := range map[string]struct{ text, want string }{
		"one after the other":          {said("", "Hi", "Hello") + said("", "Hi", "Hello", "Two", "B"), "record 2: it is the conversation of record 1 at another length: keep only the longest"},
		"with others between":          {said("", "Hi", "Hello", "Two") + other + said("", "Hi", "Hello", "Two", "B", "Three"), "record 3: it is the conversation of record 1 at another length"},
		"the longest first":            {said("", "Hi", "Hello", "Two", "B", "Three") + other + said("", "Hi", "Hello", "Two"), "record 3: it is the conversation of record 1 at another length"},
		"two lines longer":             {said("", "Hi", "Hello") + said("", "Hi", "Hello", "Two", "B", "Three", "C"), "record 2: it is the conversation of record 1 at another length"},
		"of sessions in turns":         {said(a, "Hi") + said(b, "Hi") + said(a, "Hi", "Hello", "Two"), "record 3: it is the conversation of record 1 at another length"},
		"of a session, longest 1st":    {said(a, "Hi", "Hello", "Two") + said(b, "Hi") + said(a, "Hi"), "record 3: it is the conversation of record 1 at another length"},
		"under two sessions":           {said(a, "Hi", "Hello") + said(b, "Hi", "Hello", "Two"), "record 2: it is the conversation of record 1 at another length"},
		"an opening line":              {said("", "Hi") + said("", "Hi", "Hello", "Two"), ""},
		"an opening line, last":        {said("", "Hi", "Hello", "Two") + other + said("", "Hi"), ""},
		"an opening line, sessions":    {said(a, "Hi") + said(b, "Hi", "Hello", "Two"), ""},
		"twice the same":               {said("", "Hi", "Hello", "Two") + said("", "Hi", "Hello", "Two"), ""},
		"twice the same, in a session": {said(a, "Hi") + said(a, "Hi"), ""},
		"another end":                  {said("", "Hi", "Hello", "Two") + said("", "Hi", "Hello", "Three", "C"), ""},
		"published conversations":      {`{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello"}]}{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello"},{"from":"human","value":"Two"}]}`, ""},
		"the texts' border elsewhere":  {said("", "Hi", "Hello there") + said("", "Hi", "Hello", "there", "B"), ""},
	} {
		_, err := readAndOpen(Config{Kind: MultiTurn, Path: write(t, "a.jsonl", tt.text)})
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
