package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCommand(t *testing.T) {
	tests := []struct {
		text string
		want Command
		err  string
	}{
		{text: "none=vllm serve Qwen/Qwen2.5-72B", want: Command{Name: "none", Argv: []string{"vllm", "serve", "Qwen/Qwen2.5-72B"}}},
		{
			text: `node0=numactl -N0 -m0 vllm serve m --served-model-name "my model" --opt='{"a": 1}'`,
			want: Command{Name: "node0", Argv: []string{"numactl", "-N0", "-m0", "vllm", "serve", "m", "--served-model-name", "my model", `--opt={"a": 1}`}},
		},
		{text: "0-2=env OMP_NUM_THREADS=8 ./start.sh", want: Command{Name: "0-2", Argv: []string{"env", "OMP_NUM_THREADS=8", "./start.sh"}}},
		{text: `home=echo $HOME '~'`, want: Command{Name: "home", Argv: []string{"echo", "$HOME", "~"}}},

		{text: "vllm serve", err: "must be name=command line"},
		{text: "=vllm", err: "its name must be"},
		{text: "../x=vllm", err: "its name must be"},
		{text: "a b=vllm", err: "its name must be"},
		{text: strings.Repeat("x", 65) + "=vllm", err: "its name must be"},
		{text: "a=", err: "it has no command"},
		{text: "a=vllm 'serve", err: "nterminated single-quoted string"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseCommand(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cret") {
					t.Fatalf("ParseCommand: %v, want … %s …", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v, side (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A side is kept in the run's log and printed; the keys on its command line are not.
func TestStringHidesSecrets(t *testing.T) {
	tests := []struct{ line, want string }{
		{"vllm serve m --port 8000", "a=vllm serve m --port 8000"},
		{"vllm serve m --api-key s3cret --port 8000", "a=vllm serve m --api-key <redacted> --port 8000"},
		{"vllm serve m --api-key=s3cret", "a=vllm serve m --api-key=<redacted>"},
		{"env HF_TOKEN=s3cret vllm serve", "a=env HF_TOKEN=<redacted> vllm serve"},
		{"env PGPASSWORD=s3cret HOTKEYS=on vllm serve", "a=env PGPASSWORD=<redacted> HOTKEYS=on vllm serve"},
		{"vllm serve --max-num-batched-tokens 8192", "a=vllm serve --max-num-batched-tokens 8192"},
	}
	for _, tt := range tests {
		s, err := ParseCommand("a=" + tt.line)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.String(); got != tt.want {
			t.Errorf("String of %s\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
}

func TestTurnsInterleave(t *testing.T) {
	got := newTurns(3, 3)
	want := []turn{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {1, 1}, {0, 1}, {0, 2}, {1, 2}, {2, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// The prefix goes where the mark stands, and nowhere else.
func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"{} vllm serve m":                     "P Q vllm serve m",
		"env A=1 {} vllm serve m --opt='{}x'": "env A=1 P Q vllm serve m --opt={}x",
	} {
		command, err := ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(command("P", "Q"), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if got := strings.Join(command(), " "); got != strings.Replace(want, "P Q ", "", 1) {
			t.Errorf("%s without a prefix: %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"vllm serve m": "must have {} where the binding goes",
		"env {}":       "must have {} where the binding goes",
		"{} 'vllm":     "nterminated",
		"":             "no command",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
