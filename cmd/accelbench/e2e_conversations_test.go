//go:build e2e

package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// BenchmarkConversations says what CPU a request costs accelbench, its report among it, of
// 1,000 conversations: with thinking time, beside prompts as long that come at the same
// rate, and without, beside 1,000 users. Answers that come together cost less to read than
// answers that do not, so only loads alike can be compared.
func BenchmarkConversations(b *testing.B) {
	const requests = 4000
	programs := newBench(b)
	url := programs.server(b, "--speed=20", "--max-num-seqs=1000", "--prefill-rate=1000000")
	common := "run --quiet --backend=openai-chat --max-concurrency=1000 --random-output-len=16 --base-url=" + url
	cost := func(line string) (cpu float64, took time.Duration) {
		cmd := exec.Command(programs.path("accelbench"), strings.Fields(common+" "+line)...)
		cmd.Dir = b.TempDir()
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", line, err, out)
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return float64(used.Microseconds()) / requests, time.Since(begin)
	}
	// Prompts of 64, 144, 224 and 304 tokens.
	const chats = "--dataset-name=multi_turn --multi-turn-input-len=64 --num-prompts=1000 "
	const single = "--dataset-name=random --random-input-len=184 --num-prompts=4000 "
	for b.Loop() {
		thinking, took := cost(chats + "--multi-turn-delay=2s")
		b.ReportMetric(thinking, "µs/thinking")
		for name, line := range map[string]string{
			"at-that-rate": single + fmt.Sprintf("--request-rate=%.0f", requests/took.Seconds()), "talking": chats, "user": single,
		} {
			each, _ := cost(line)
			b.ReportMetric(each, "µs/"+name)
		}
	}
}
